// Dropout descriptors of cuDNN: set anew, which fills their states, or made without states.
//
// A recreated descriptor is restored, so that its states stay. cuDNN refuses that for one without states, for
// which setting it computes nothing. Called by: Dnn, DnnObjects.
#pragma once
#include "device/cuda/call/description.h"
#include "dnn_library.h"

namespace jitc::cuda {

/// Returns whether the call restores a descriptor that has no states.
bool without_dropout(const Invocation& call);
/// Calls cudnnSetDropoutDescriptor with the call's arguments. Throws OpError, LibraryFailure.
void set_dropout(const Cudnn& library, void* descriptor, void* handle, const Invocation& call);

}  // namespace jitc::cuda
