// See lt_call.h.
#include "lt_call.h"

#include <algorithm>

#include "api/call/call_arguments.h"
#include "api/call/questions.h"
#include "api/cublas/blas_handle.h"
#include "api/cublas/blas_types.h"
#include "blaslt_objects.h"
#include "jitc/packed_reader.h"

namespace jitc::api {
namespace {

constexpr int32_t kScaleType = 1, kPointerMode = 2;  // attributes of a descriptor
// cublasLtPointerMode_t
enum PointerMode { kModeHost = 0, kModeAlphaDeviceBetaZero = 3, kModeAlphaDeviceBetaHost = 4 };

/// Returns the session of a cuBLAS handle, or for a cuBLASLt handle, which has none, that of the thread.
Session* session_for(uint64_t lt, Status* status) {
  Blas blas;
  if (find_blas(lt, &blas) && blas.session) return blas.session;
  return current_session(status);
}

/// Indices of a product's objects, as written; false: a handle is invalid.
constexpr uint64_t kDesc = 0, kA = 1, kB = 2, kC = 3, kD = 4, kPreference = 5;
bool write_objects(const LtHandles& h, CallWriter& out) {
  out.reserve(1024);
  bool good = write_desc(h.desc, out);
  for (const uint64_t layout : {h.a, h.b, h.c, h.d}) good = good && write_layout(layout, out);
  return good && (!h.preference || write_preference(h.preference, out));
}

/// Returns the op of a call whose objects, the first bytes, are written, followed by the call.
template <class Op>
Op with(const StreamRef& stream, const CallWriter& call, uint32_t objects, size_t described) {
  auto op = on_stream<Op>(stream.id);
  op.objects = objects;
  op.described = static_cast<uint32_t>(described);
  op.bytes = call.bytes().size();
  return op;
}

/// Writes alpha or beta: the value of the scale type, or its address.
Status write_scalar(CallWriter& call, const void* at, bool by_address, uint32_t bytes) {
  if (by_address) return call.address(reinterpret_cast<uint64_t>(at)), kSuccess;
  if (!at || on_device(at)) return kBlasInvalidValue;
  return call.scalar(at, bytes), kSuccess;
}

/// Location of alpha and beta according to the descriptor.
struct Scalars {
  int32_t mode;
  uint32_t bytes;
  bool is_good() const { return bytes && mode >= kModeHost && mode <= kModeAlphaDeviceBetaHost; }
  bool alpha_on_device() const { return mode != kModeHost; }
  bool beta_on_device() const { return mode != kModeHost && mode != kModeAlphaDeviceBetaHost; }
};
Scalars scalars_of(const LtRecord& desc) {
  const int32_t type = desc.number(kScaleType, static_cast<int32_t>(desc.argument(1)));
  return {desc.number(kPointerMode, kModeHost), element_bytes(type)};
}

Status write_product(CallWriter& call, const Scalars& scalars, const LtProduct& product) {
  // Beta is not read if the mode makes it zero.
  const void* beta = scalars.mode == kModeAlphaDeviceBetaZero ? nullptr : product.beta;
  call.begin(ops::kLtMatmul);
  call.object(kDesc);
  if (const Status status = write_scalar(call, product.alpha, scalars.alpha_on_device(), scalars.bytes))
    return status;
  call.address(product.a), call.object(kA), call.address(product.b), call.object(kB);
  if (const Status status = write_scalar(call, beta, scalars.beta_on_device(), scalars.bytes)) return status;
  call.address(product.c), call.object(kC), call.address(product.d), call.object(kD);
  product.algorithm ? call.array(product.algorithm, sizeof *product.algorithm) : call.null();
  call.address(product.workspace), call.number(static_cast<int64_t>(product.workspace_bytes));
  return kSuccess;
}

}  // namespace

Status ask_heuristic(const LtHandles& handles, int32_t requested, Heuristic* results, int32_t* count) {
  constexpr int32_t kMostAlgorithms = 64;
  Status status = kSuccess;
  Session* session = session_for(handles.lt, &status);
  if (!session) return kBlasNotInitialized;
  CallWriter call;
  if (!write_objects(handles, call)) return kBlasInvalidValue;
  const size_t described = call.bytes().size();
  requested = std::min(requested, kMostAlgorithms);
  call.begin(ops::kLtMatmulAlgoGetHeuristic);
  for (const uint64_t place : {kDesc, kA, kB, kC, kD, kPreference}) call.object(place);
  call.number(requested);
  call.result(static_cast<uint64_t>(requested) * sizeof *results);
  call.result(sizeof *count);
  const auto op = with<ops::LibraryAsk>({session, 0, 0}, call, kPreference + 1, described);
  const Answer answer =
      ask(*session, op, call.bytes(), "cublasLtMatmulAlgoGetHeuristic", kBlasInternalError, INT32_MAX);
  if (answer.status) return answer.status;
  PackedReader reader(answer.bytes);
  std::vector<Heuristic> found;
  if (!reader.list(static_cast<uint64_t>(requested), &found) || !reader.take(count))
    return kBlasInternalError;
  *count = std::clamp(*count, 0, requested);
  std::copy_n(found.begin(), *count, results);
  return kSuccess;
}

Status submit_lt_matmul(const LtHandles& handles, const LtProduct& product) {
  StreamRef stream;
  Blas blas;
  if (resolve_stream(product.stream, &stream)) return kBlasInvalidValue;
  if (find_blas(handles.lt, &blas) && blas.session != stream.session) return kBlasInvalidValue;
  LtRecord desc;
  if (!copy_desc_record(handles.desc, &desc)) return kBlasInvalidValue;
  const Scalars scalars = scalars_of(desc);
  if (!scalars.is_good()) return kBlasNotSupported;
  if (!product.alpha) return kBlasInvalidValue;
  CallWriter call;
  if (!write_objects(handles, call)) return kBlasInvalidValue;
  const size_t described = call.bytes().size();
  if (const Status status = write_product(call, scalars, product)) return status;
  const auto op = with<ops::LibraryCall>(stream, call, kPreference, described);
  return stream.session->submit(op, call.bytes()) ? kSuccess : kBlasExecutionFailed;
}

}  // namespace jitc::api
