// A race that a device found, as a document for the control plane (executor_api.h). Called by: Executor.
#pragma once
#include <string>

#include "device/sink.h"

namespace jitc {

/// Returns the document; its keys are those of RaceReport in control.proto.
std::string race_document(uint64_t session, const Race& race);

}  // namespace jitc
