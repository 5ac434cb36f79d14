// Cost of libraries' calls in the calling thread: of cuDNN a plan with its variant pack and a batch
// normalization with its descriptors, of cuBLAS a product, of cuBLASLt one with its objects and heuristic.
//
// Compiled and run by dnn_cost.py with the interposer linked in and JITC_SOCKET set. Argument: rounds. Prints
// one line per kind: name, then nanoseconds of each round's mean. Kinds alternate, so that a slow moment hits
// all.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

extern "C" {
int cudaMalloc(void** address, size_t bytes);
int cudaMemsetAsync(void* address, int value, size_t bytes, void* stream);
int cudaDeviceSynchronize();
int cublasCreate_v2(void** handle);
int cublasSgemm_v2(void* handle, int transpose_a, int transpose_b, int m, int n, int k, const float* alpha,
                   const void* a, int lda, const void* b, int ldb, const float* beta, void* c, int ldc);
int cublasLtMatmulDescCreate(void** made, int compute, int scale_type);
int cublasLtMatmulDescDestroy(void* gone);
int cublasLtMatmulDescSetAttribute(void* changed, int attribute, const void* value, size_t bytes);
int cublasLtMatrixLayoutCreate(void** made, int type, uint64_t rows, uint64_t columns, int64_t ld);
int cublasLtMatrixLayoutDestroy(void* gone);
int cublasLtMatmulPreferenceCreate(void** made);
int cublasLtMatmulPreferenceDestroy(void* gone);
int cublasLtMatmulPreferenceSetAttribute(void* changed, int attribute, const void* value, size_t bytes);
int cublasLtMatmulAlgoGetHeuristic(void* handle, void* product, void* a, void* b, void* c, void* d,
                                   void* preference, int wanted, void* results, int* count);
int cublasLtMatmul(void* handle, void* product, const void* alpha, const void* a, void* a_layout,
                   const void* b, void* b_layout, const void* beta, const void* c, void* c_layout, void* d,
                   void* d_layout, const void* algorithm, void* workspace, size_t bytes, void* stream);
int cudnnCreate(void** handle);
int cudnnBackendCreateDescriptor(int type, void** descriptor);
int cudnnBackendDestroyDescriptor(void* descriptor);
int cudnnBackendSetAttribute(void* descriptor, int name, int type, int64_t count, const void* elements);
int cudnnBackendGetAttribute(void* descriptor, int name, int type, int64_t wanted, int64_t* count,
                             void* elements);
int cudnnBackendFinalize(void* descriptor);
int cudnnBackendExecute(void* handle, void* plan, void* pack);
int cudnnCreateTensorDescriptor(void** tensor);
int cudnnDestroyTensorDescriptor(void* tensor);
int cudnnSetTensorNdDescriptor(void* tensor, int type, int count, const int* sizes, const int* strides);
int cudnnBatchNormalizationForwardInference(void* handle, int mode, const void* alpha, const void* beta,
                                            void* x, const void* x_data, void* y, void* y_data, void* scale,
                                            const void* scale_data, const void* bias, const void* mean,
                                            const void* variance, double epsilon);
}

namespace {
using Clock = std::chrono::steady_clock;
constexpr int kBurst = 32;  // of one kind between two synchronizations
// cudnnBackendAttributeType_t, cudnnBackendDescriptorType_t
enum Type {
  kHandle = 0,
  kDataType = 1,
  kInt64 = 3,
  kPointer = 6,
  kHeurMode = 8,
  kPointwiseMode = 14,
  kDescriptor = 15
};
enum Kind {
  kPointwise = 0,
  kConfig = 3,
  kHeuristics = 4,
  kPlan = 5,
  kOperation = 13,
  kGraph = 15,
  kPack = 16,
  kTensor = 17
};

void require(int status, const char* what) {
  if (!status) return;
  std::fprintf(stderr, "dnn_cost: %s failed with %d\n", what, status);
  std::exit(1);
}

void* made(Kind kind) {
  void* out = nullptr;
  require(cudnnBackendCreateDescriptor(kind, &out), "cudnnBackendCreateDescriptor");
  return out;
}
template <class T>
void set(void* descriptor, int name, Type type, const std::vector<T>& values) {
  require(
      cudnnBackendSetAttribute(descriptor, name, type, static_cast<int64_t>(values.size()), values.data()),
      "cudnnBackendSetAttribute");
}
void* finalized(void* descriptor) {
  require(cudnnBackendFinalize(descriptor), "cudnnBackendFinalize");
  return descriptor;
}

void* tensor(int64_t uid) {
  void* const out = made(kTensor);
  set<int>(out, 901, kDataType, {0});
  set<int64_t>(out, 902, kInt64, {1, 4, 1, 1});
  set<int64_t>(out, 903, kInt64, {4, 1, 1, 1});
  set<int64_t>(out, 906, kInt64, {uid});
  set<int64_t>(out, 900, kInt64, {16});
  return finalized(out);
}

/// The last plan that heuristics give for z = x + y.
void* addition(void* handle) {
  void* const add = made(kPointwise);
  set<int>(add, 0, kPointwiseMode, {0});
  set<int>(add, 1, kDataType, {0});
  void* const operation = made(kOperation);
  const int names[] = {751, 752, 753};
  set<void*>(operation, 750, kDescriptor, {finalized(add)});
  for (int64_t i = 0; i < 3; ++i) set<void*>(operation, names[i], kDescriptor, {tensor(i + 1)});
  void* const graph = made(kGraph);
  set<void*>(graph, 801, kDescriptor, {finalized(operation)});
  set<void*>(graph, 800, kHandle, {handle});
  void* const heuristics = made(kHeuristics);
  set<void*>(heuristics, 201, kDescriptor, {finalized(graph)});
  set<int>(heuristics, 200, kHeurMode, {0});
  std::vector<void*> configs{made(kConfig), made(kConfig), made(kConfig), made(kConfig)};
  int64_t count = 0;
  require(cudnnBackendGetAttribute(finalized(heuristics), 202, kDescriptor, 4, &count, configs.data()),
          "heuristics");
  void* const plan = made(kPlan);
  set<void*>(plan, 401, kDescriptor, {configs.at(static_cast<size_t>(count) - 1)});
  return finalized(plan);
}

class Calls {
 public:
  Calls() {
    require(cudaMalloc(&memory_, 1 << 20), "cudaMalloc");
    require(cudnnCreate(&handle_), "cudnnCreate");
    require(cublasCreate_v2(&blas_), "cublasCreate_v2");
    plan_ = addition(handle_);
  }
  void fill() const { require(cudaMemsetAsync(memory_, 0, 4096, nullptr), "cudaMemsetAsync"); }
  void execute() const {
    void* const pack = made(kPack);
    auto* const at = static_cast<char*>(memory_);
    set<void*>(pack, 1001, kPointer, {at, at + 4096, at + 8192});
    set<int64_t>(pack, 1000, kInt64, {1, 2, 3});
    set<void*>(pack, 1003, kPointer, {nullptr});
    require(cudnnBackendExecute(handle_, plan_, finalized(pack)), "cudnnBackendExecute");
    cudnnBackendDestroyDescriptor(pack);
  }
  void normalize() const {
    const int sizes[] = {1, 2, 1, 2}, strides[] = {4, 2, 2, 1}, channels[] = {1, 2, 1, 1},
              steps[] = {2, 1, 1, 1};
    const float one = 1, zero = 0;
    void *x = nullptr, *scale = nullptr, *const at = memory_;
    cudnnCreateTensorDescriptor(&x);
    cudnnCreateTensorDescriptor(&scale);
    cudnnSetTensorNdDescriptor(x, 0, 4, sizes, strides);
    cudnnSetTensorNdDescriptor(scale, 0, 4, channels, steps);
    require(cudnnBatchNormalizationForwardInference(handle_, 1, &one, &zero, x, at, x, at, scale, at, at, at,
                                                    at, 1e-5),
            "cudnnBatchNormalizationForwardInference");
    cudnnDestroyTensorDescriptor(x);
    cudnnDestroyTensorDescriptor(scale);
  }
  void multiply() const {
    const float one = 1, zero = 0;
    require(cublasSgemm_v2(blas_, 0, 0, 4, 4, 4, &one, memory_, 4, memory_, 4, &zero, memory_, 4),
            "cublasSgemm_v2");
  }
  /// As PyTorch does for a linear layer with a bias.
  void multiply_with_bias() const {
    const float one = 1, zero = 0;
    const int transposed = 1, epilogue = 4;
    const uint64_t most = 1 << 16;
    void *product = nullptr, *preference = nullptr, *layouts[3];
    cublasLtMatmulDescCreate(&product, 68, 0);
    cublasLtMatmulDescSetAttribute(product, 3, &transposed, sizeof transposed);
    cublasLtMatmulDescSetAttribute(product, 7, &epilogue, sizeof epilogue);
    cublasLtMatmulDescSetAttribute(product, 8, &memory_, sizeof memory_);
    for (void*& one_layout : layouts) cublasLtMatrixLayoutCreate(&one_layout, 0, 4, 4, 4);
    cublasLtMatmulPreferenceCreate(&preference);
    cublasLtMatmulPreferenceSetAttribute(preference, 1, &most, sizeof most);
    unsigned char algorithm[96];
    int found = 0;
    require(cublasLtMatmulAlgoGetHeuristic(blas_, product, layouts[0], layouts[1], layouts[2], layouts[2],
                                           preference, 1, algorithm, &found),
            "cublasLtMatmulAlgoGetHeuristic");
    auto* const at = static_cast<char*>(memory_);
    require(cublasLtMatmul(blas_, product, &one, at, layouts[0], at, layouts[1], &zero, at, layouts[2], at,
                           layouts[2], algorithm, at + 65536, most, nullptr),
            "cublasLtMatmul");
    cublasLtMatmulPreferenceDestroy(preference);
    for (void* const one_layout : layouts) cublasLtMatrixLayoutDestroy(one_layout);
    cublasLtMatmulDescDestroy(product);
  }

 private:
  void *memory_ = nullptr, *handle_ = nullptr, *blas_ = nullptr, *plan_ = nullptr;
};

struct Samples {
  const char* name;
  void (Calls::*call)() const;
  std::vector<long long> values{};

  void measure(const Calls& calls) {
    const auto start = Clock::now();
    for (int i = 0; i < kBurst; ++i) (calls.*call)();
    values.push_back(std::chrono::nanoseconds(Clock::now() - start).count() / kBurst);
    require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
};
}  // namespace

int main(int, char** arguments) {
  const Calls calls;
  Samples all[] = {{"memset", &Calls::fill},
                   {"execute", &Calls::execute},
                   {"normalize", &Calls::normalize},
                   {"multiply", &Calls::multiply},
                   {"bias", &Calls::multiply_with_bias}};
  for (int round = std::atoi(arguments[1]); round > 0; --round)
    for (Samples& one : all) one.measure(calls);
  for (const Samples& one : all) {
    std::printf("%s", one.name);
    for (const long long value : one.values) std::printf(" %lld", value);
    std::printf("\n");
  }
  return 0;
}
