// Dropout descriptors of cuDNN: set anew, which fills their states, or without any.
//
// A descriptor that is made again is restored, so that its states stay. cuDNN refuses that without states,
// where setting it computes nothing. Called by: Dnn, DnnObjects.
#pragma once
#include "device/cuda/call/description.h"
#include "dnn_library.h"

namespace jitc::cuda {

/// Whether the call restores a descriptor that has no states.
bool without_dropout(const Invocation& call);
/// cudnnSetDropoutDescriptor with the arguments of the call. Throws OpError, LibraryFailure.
void set_dropout(const Cudnn& library, void* descriptor, void* handle, const Invocation& call);

}  // namespace jitc::cuda
