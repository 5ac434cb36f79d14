// See families.h.
#include "families.h"

namespace jitc::cuda {

Families::Families(const Shared& shared)
    : control(shared.issuer),
      memory(shared.issuer, shared.memory, shared.residency, shared.options.pinned),
      copies(shared.issuer, shared.poller, shared.options.pinned),
      streams(shared.issuer, shared.streams, shared.poller),
      events(shared.issuer, shared.state, shared.events, shared.poller),
      modules(shared.issuer.context(), shared.images, shared.memory),
      loading(shared.issuer, modules),
      functions(shared.issuer, modules),
      kernels(shared.issuer, modules),
      blas(shared.issuer, shared.streams, shared.options),
      dnn(shared.issuer, shared.options, shared.images),
      graphs(shared.issuer, shared.state, shared.streams, shared.events, blas.blas(), handlers),
      collectives(shared.issuer, shared.state, shared.memory, shared.residency, graphs.captures(),
                  shared.segments, shared.options),
      handlers(control, memory, copies, streams, events, loading, functions, kernels, blas, dnn, graphs,
               collectives) {}

}  // namespace jitc::cuda
