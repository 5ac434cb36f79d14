// See families.h.
#include "families.h"

namespace jitc::software {

Families::Families(const Shared& shared)
    : control(shared.issuer),
      memory(shared.issuer, shared.memory, shared.residency, shared.options.pinned),
      copies(shared.issuer, shared.memory, shared.options.pinned),
      streams(shared.issuer, shared.streams),
      events(shared.issuer, shared.streams, shared.runner),
      modules(shared.issuer, shared.modules),
      operators(shared.issuer, shared.memory, shared.modules, shared.operators),
      collectives(shared.issuer, shared.memory, shared.residency, shared.crew,
                  {shared.issuer.sink(), shared.failures, shared.segments, shared.hub,
                   shared.options.given.hang_seconds}),
      graphs(shared.issuer, shared.streams, shared.runner, events, handlers),
      handlers(control, memory, copies, streams, events, modules, operators, collectives, graphs) {}

}  // namespace jitc::software
