// Handlers of all families, and the registry of the ops that they handle.
//
// Lock rule: the device's mutex. Called by: Device.
#pragma once
#include <memory>

#include "device/backend_options.h"
#include "device/common/control_handlers.h"
#include "device/common/image/module_handlers.h"
#include "device/software/blas/operator_handlers.h"
#include "device/software/collective/collective_handlers.h"
#include "device/software/graph/graph_handlers.h"
#include "device/software/handlers/copy_handlers.h"
#include "device/software/handlers/event_handlers.h"
#include "device/software/handlers/memory_handlers.h"
#include "device/software/handlers/stream_handlers.h"
#include "device/software/module/modules.h"

namespace jitc::software {

/// Parts that the families share.
struct Shared {
  const BackendOptions& options;
  Issuer& issuer;
  Failures& failures;
  Memory& memory;
  Residency& residency;
  Modules& modules;
  WaitHub& hub;
  Crew& crew;
  Streams& streams;
  TaskRunner& runner;
  CommunicatorSegments& segments;
  std::shared_ptr<const Operators> operators;
};

struct Families {
  explicit Families(const Shared& shared);

  device::ControlHandlers<Issuer> control;
  MemoryHandlers memory;
  CopyHandlers copies;
  StreamHandlers streams;
  EventHandlers events;
  device::ModuleHandlers<Issuer, Modules> modules;
  OperatorHandlers operators;
  CollectiveHandlers collectives;
  GraphHandlers graphs;
  const Handlers handlers;
};

}  // namespace jitc::software
