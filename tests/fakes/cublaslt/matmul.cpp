// Products of the fake cuBLASLt: heuristics, and matmul with its epilogues. There are two algorithms, which
// add in opposite order, so that results show which one ran; the first wants a workspace of 1 MiB.
#include <cmath>

#include "../over_driver/stream_work.h"
#include "../products/product.h"
#include "functions.h"
#include "objects.h"

namespace jitc::fakes {
namespace {
constexpr uint64_t kAlgorithmMagic = 0x6a6974634c740000;
constexpr size_t kWorkspace[] = {1 << 20, 0};
constexpr int kAlgorithms = 2;
enum EpilogueBit { kDefault = 1, kRelu = 2, kBias = 4, kGelu = 32, kAux = 128 };

struct Algorithm {
  uint64_t data[8];
};
struct Heuristic {
  Algorithm algorithm;
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
};
static_assert(sizeof(Heuristic) == 96);

Matrix matrix(const void* handle, const void* address, int64_t transpose) {
  const auto layout = object(handle, LtKind::layout);
  const int64_t order = layout->number(kOrder);
  if (order != 0 && order != 1) throw LtFailure{kLtNotSupported};
  Matrix out{reinterpret_cast<uint64_t>(address),
             static_cast<int>(layout->number(kLayoutType)),
             layout->number(kRows),
             layout->number(kColumns),
             layout->number(kLeading),
             layout->number(kBatchOffset),
             order == 1,
             transpose != 0};
  if (!bytes_of(out.type)) throw LtFailure{kLtNotSupported};
  return out;
}

bool known_epilogue(int64_t epilogue) {
  switch (epilogue) {
    case kDefault:
    case kRelu:
    case kBias:
    case kRelu | kBias:
    case kGelu:
    case kGelu | kBias:
    case kGelu | kAux:
    case kGelu | kAux | kBias:
      return true;
    default:
      return false;
  }
}

/// tanh form, as cuBLASLt's.
double gelu(double x) { return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); }

/// What the epilogue does to an element: adds the row's bias, keeps the sum in the aux matrix, activates.
auto epilogue_of(const LtObject& description, const Matrix& d) {
  const int64_t epilogue = description.number(kEpilogue, kDefault);
  if (!known_epilogue(epilogue)) throw LtFailure{kLtNotSupported};
  const auto bias = static_cast<uint64_t>(description.number(kBiasPointer));
  const auto aux = static_cast<uint64_t>(description.number(kAuxPointer));
  if (((epilogue & kBias) && !bias) || ((epilogue & kAux) && !aux)) throw LtFailure{kLtInvalidValue};
  const int bias_type = static_cast<int>(description.number(kBiasType, d.type));
  const int64_t leading = description.number(kAuxLeading), type = d.type;
  const int64_t bias_stride = description.number(kBiasBatchStride),
                aux_stride = description.number(kAuxBatchStride);
  return [=](double value, int64_t row, int64_t column, int64_t item) {
    if (epilogue & kBias) {
      const auto offset = static_cast<uint64_t>(item * bias_stride + row) * bytes_of(bias_type);
      value += load(bias_type, touch(bias + offset, bytes_of(bias_type)));
    }
    if (epilogue & kAux) {
      const size_t width = bytes_of(static_cast<int>(type));
      const auto offset = static_cast<uint64_t>(item * aux_stride + column * leading + row) * width;
      store(static_cast<int>(type), touch(aux + offset, width), 0, value);
    }
    if (epilogue & kRelu) value = value > 0 ? value : 0;
    return epilogue & kGelu ? gelu(value) : value;
  };
}

/// Everything but alpha, beta and the algorithm. Throws what is wrong with it.
Product describe(const LtObject& description, const void* a_layout, const void* a, const void* b_layout,
                 const void* b, const void* c_layout, const void* c, const void* d_layout, const void* d) {
  Product product;
  product.a = matrix(a_layout, a, description.number(kTransA));
  product.b = matrix(b_layout, b, description.number(kTransB));
  product.c = matrix(c_layout, c, 0);
  product.d = matrix(d_layout, d, 0);
  product.batch = object(d_layout, LtKind::layout)->number(kBatchCount);
  product.in_double = description.number(kScaleType) == kReal64;
  product.finish = epilogue_of(description, product.d);
  if (!product.good()) throw LtFailure{kLtInvalidValue};
  return product;
}

Scalar scalar(CallLine& line, const char* name, int type, const void* pointer, bool on_device) {
  if (!pointer || !bytes_of(type)) throw LtFailure{kLtInvalidValue};
  line.add(on_device ? Field::address(name, pointer) : Field::real(name, load(type, pointer)));
  return on_device ? Scalar{type, 0, reinterpret_cast<uint64_t>(pointer)}
                   : Scalar{type, load(type, pointer), 0};
}

/// The number of the algorithm, which must be one that a heuristic gave. Without one the second, which needs
/// nothing.
size_t number_of(const void* algorithm, size_t workspace) {
  if (!algorithm) return 1;
  Algorithm one;
  std::memcpy(&one, algorithm, sizeof one);
  const size_t number = one.data[1];
  if (one.data[0] != kAlgorithmMagic || number >= kAlgorithms) throw LtFailure{kLtInvalidValue};
  if (workspace < kWorkspace[number]) throw LtFailure{kLtInvalidValue};
  return number;
}
}  // namespace

int cublasLtMatmulAlgoGetHeuristic(void* library, void* description, void* a, void* b, void* c, void* d,
                                   void* preference, int requested, void* out, int* count) {
  return lt_call(
      "cublasLtMatmulAlgoGetHeuristic",
      {Field::address("library", library), Field::real("requested", requested)}, [&](CallLine& line) {
        object(library, LtKind::library);
        if (requested < 1 || !out || !count) throw LtFailure{kLtInvalidValue};
        describe(*object(description, LtKind::description), a, nullptr, b, nullptr, c, nullptr, d, nullptr);
        const auto most = static_cast<size_t>(object(preference, LtKind::preference)->number(kMaxWorkspace));
        *count = 0;
        for (size_t each = 0; each < kAlgorithms && *count < requested; ++each) {
          if (kWorkspace[each] > most) continue;
          const Heuristic found{{{kAlgorithmMagic, each}}, kWorkspace[each], kLtSuccess, 1.0f, {}};
          std::memcpy(static_cast<std::byte*>(out) + static_cast<size_t>((*count)++) * sizeof found, &found,
                      sizeof found);
        }
        line.add(Field::count("found", static_cast<uint64_t>(*count)));
      });
}

int cublasLtMatmul(void* library, void* description_handle, const void* alpha, const void* a, void* a_layout,
                   const void* b, void* b_layout, const void* beta, const void* c, void* c_layout, void* d,
                   void* d_layout, const void* algorithm, void* workspace, size_t workspace_bytes,
                   void* stream) {
  return lt_call("cublasLtMatmul",
                 {Field::address("library", library), Field::address("a", a), Field::address("b", b),
                  Field::address("c", c), Field::address("d", d), Field::address("workspace", workspace),
                  Field::count("workspace_bytes", workspace_bytes), Field::address("stream", stream)},
                 [&](CallLine& line) {
                   object(library, LtKind::library);
                   const auto description = object(description_handle, LtKind::description);
                   Product product =
                       describe(*description, a_layout, a, b_layout, b, c_layout, c, d_layout, d);
                   const int64_t mode = description->number(kPointerMode);
                   if (mode != 0 && mode != 1) throw LtFailure{kLtNotSupported};
                   const int type = static_cast<int>(description->number(kScaleType));
                   product.alpha = scalar(line, "alpha", type, alpha, mode == 1);
                   product.beta = scalar(line, "beta", type, beta, mode == 1);
                   const size_t number = number_of(algorithm, workspace_bytes);
                   product.backwards = number == 0;
                   line.add(Field::count("algorithm", number));
                   line.add(Field::real("epilogue", static_cast<double>(description->number(kEpilogue))));
                   const auto scratch = reinterpret_cast<uint64_t>(workspace);
                   const auto body = [product, scratch, size = kWorkspace[number]] {
                     if (size)
                       std::memset(touch(scratch, size), 0xA5, size);  // it is the product's while it runs
                     product.compute();
                   };
                   if (!put_on_stream(stream, body)) throw LtFailure{kLtExecutionFailed};
                 });
}

}  // namespace jitc::fakes
