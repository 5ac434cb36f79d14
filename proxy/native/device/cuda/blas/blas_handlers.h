// cuBLAS and cuBLASLt: handles, and calls in their current and former encoding.
// Called by: Device::enqueue through its registry, with its mutex held and the context bound.
#pragma once
#include "blas.h"
#include "device/common/handlers.h"
#include "device/cuda/issue/issuer.h"
#include "lt.h"

namespace jitc::cuda {

class BlasHandlers {
 public:
  BlasHandlers(const Issuer& issuer, Streams& streams, const BackendOptions& options)
      : issuer_(issuer), streams_(streams), blas_(options), lt_(options) {}
  Blas& blas() { return blas_; }

 private:
  void create(const ops::BlasCreate& op);
  void destroy(const ops::BlasDestroy& op);
  void set(const ops::BlasSet& op);
  void call(const ops::LibraryCall& op);
  void ask(const ops::LibraryAsk& op);
  void old_call(const ops::BlasCall& op);
  void old_heuristic(const ops::LtHeuristic& op);
  void old_multiply(const ops::LtMatmul& op);
  void call_blas(const ops::OpHeader& op, uint64_t handle, const Lt::Request& request);
  void call_lt(const ops::OpHeader& op, const Lt::Request& request);
  CallOutcome answer_of(const Lt::Request& request);

  const Issuer& issuer_;
  Streams& streams_;
  Blas blas_;
  Lt lt_;

 public:
  using Handled = HandlerList<&BlasHandlers::create, &BlasHandlers::destroy, &BlasHandlers::set,
                              &BlasHandlers::call, &BlasHandlers::ask, &BlasHandlers::old_call,
                              &BlasHandlers::old_heuristic, &BlasHandlers::old_multiply>;
};

}  // namespace jitc::cuda
