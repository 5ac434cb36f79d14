// A call of one of NVIDIA's libraries. A library that reports an error may only pass on that the GPU is lost:
// the driver is asked. Included by place_blas.cpp and place_dnn.cpp only.
#pragma once
#include "device/cuda/device/device.h"

namespace jitc::cuda {

template <class Call>
void Device::library_call(Stream& stream, Call&& call) {
  try {
    call();
  } catch (const OpError& error) {
    if (stream.diverted()) throw;
    const auto status = driver().cuStreamQuery(stream.real());
    if (!sticky_cause(status)) throw;
    throw error_of(driver(), error.message.c_str(), status);
  }
}

}  // namespace jitc::cuda
