// Calls of NVIDIA's libraries that work on a stream. An error of a library may only mean that the GPU is
// lost: the driver is asked. Called by: the handlers of cuBLAS and cuDNN.
#pragma once
#include "device/cuda/driver/error.h"
#include "stream.h"

namespace jitc::cuda {

template <class Call>
void library_call(const Driver& driver, const Stream& stream, Call&& call) {
  try {
    call();
  } catch (const OpError& error) {
    if (stream.diverted()) throw;
    const auto status = driver.cuStreamQuery(stream.real());
    if (!sticky_cause(status)) throw;
    throw error_of(driver, error.message.c_str(), status);
  }
}

}  // namespace jitc::cuda
