// Handlers of all families, and the registry of the ops that they handle.
//
// Lock rule: the device's mutex. Called by: Device.
#pragma once
#include "device/common/control_handlers.h"
#include "device/common/image/module_handlers.h"
#include "device/cuda/blas/blas_handlers.h"
#include "device/cuda/collective/collective_handlers.h"
#include "device/cuda/dnn/dnn_handlers.h"
#include "device/cuda/graph/graph_handlers.h"
#include "device/cuda/handlers/copy_handlers.h"
#include "device/cuda/handlers/event_handlers.h"
#include "device/cuda/handlers/function_handlers.h"
#include "device/cuda/handlers/kernel_handlers.h"
#include "device/cuda/handlers/memory_handlers.h"
#include "device/cuda/handlers/stream_handlers.h"

namespace jitc::cuda {

/// Parts that the families share.
struct Shared {
  const BackendOptions& options;
  Issuer& issuer;
  RunState& state;
  Memory& memory;
  Residency& residency;
  CompletionPoller& poller;
  Streams& streams;
  Events& events;
  CommunicatorSegments& segments;
  ImageSource& images;
};

struct Families {
  explicit Families(const Shared& shared);

  device::ControlHandlers<Issuer> control;
  MemoryHandlers memory;
  CopyHandlers copies;
  StreamHandlers streams;
  EventHandlers events;
  Modules modules;
  device::ModuleHandlers<Issuer, Modules> loading;
  FunctionHandlers functions;
  KernelHandlers kernels;
  BlasHandlers blas;
  DnnHandlers dnn;
  GraphHandlers graphs;
  CollectiveHandlers collectives;
  const Handlers handlers;
};

}  // namespace jitc::cuda
