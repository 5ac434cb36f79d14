// Copies and fills. Their work checks every device address again when it runs: a range that was unmapped
// meanwhile is an illegal address, as on a GPU.
#include <cstring>

#include "call.h"
#include "functions.h"

namespace jitc::fakes {
namespace {
Memory& memory() { return Memory::instance(); }

void check_device(CUdeviceptr address, size_t size) {
  if (size && !memory().on_device(address, size)) throw Failure{kInvalidValue};
}

bool visible(CUdeviceptr address, size_t size) {
  return memory().on_device(address, size) || memory().pinned(reinterpret_cast<void*>(address), size);
}

/// Queues the work; waits for it where the caller must not go on before it is done.
void submit(Call& call, CUstream handle, const char* what, Body body, Cost cost, bool wait) {
  auto lock = locked();
  Context& context = call.context();
  const MarkerPointer marker =
      context.submit(context.stream(handle), what, std::move(body), [cost] { return cost; });
  if (wait && marker) context.wait(lock, marker);
}

bool captures(Call& call, CUstream handle) {
  const auto lock = locked();
  return call.context().stream(handle).capture != nullptr;
}

Cost cost_between(CUdeviceptr to, CUdeviceptr from, size_t size) {
  if (!memory().on_device(from, size)) return {Cost::kToDevice, size};
  if (!memory().on_device(to, size)) return {Cost::kToHost, size};
  return {Cost::kCompute, 2 * size};
}

/// Pageable memory is read before the call returns; pinned memory, and all in a graph, when the work runs.
Body copy_in(CUdeviceptr to, const void* from, size_t size, bool late) {
  if (late)
    return [=] {
      const auto hold = memory().hold();
      if (size) std::memcpy(memory().at(to, size), from, size);
    };
  const auto* bytes = static_cast<const std::byte*>(from);
  return [to, content = std::vector<std::byte>(bytes, bytes + size)] {
    const auto hold = memory().hold();
    if (!content.empty()) std::memcpy(memory().at(to, content.size()), content.data(), content.size());
  };
}

Body copy_out(void* to, CUdeviceptr from, size_t size) {
  return [=] {
    const auto hold = memory().hold();
    if (size) std::memcpy(to, memory().at(from, size), size);
  };
}

Body copy_within(CUdeviceptr to, CUdeviceptr from, size_t size) {
  return [=] {
    const auto hold = memory().hold();
    if (size) std::memmove(memory().at(to, size), memory().at(from, size), size);
  };
}

template <class Unit>
Body fill(CUdeviceptr to, size_t pitch, Unit value, size_t width, size_t height) {
  return [=] {
    const auto hold = memory().hold();
    for (size_t row = 0; width && row < height; ++row) {
      std::byte* const line = memory().at(to + row * pitch, width * sizeof(Unit));
      for (size_t each = 0; each < width; ++each)
        std::memcpy(line + each * sizeof(Unit), &value, sizeof value);
    }
  };
}

template <class Unit>
int fill_call(const char* name, CUdeviceptr to, size_t pitch, Unit value, size_t width, size_t height,
              CUstream stream) {
  return call(
      name, Needs::context,
      {Field::address("to", to), Field::count("pitch", pitch), Field::count("value", value),
       Field::count("width", width), Field::count("height", height), Field::address("stream", stream)},
      [&](Call& call) {
        const size_t row = width * sizeof(Unit);
        if (to % sizeof(Unit) || (height > 1 && pitch < row)) throw Failure{kInvalidValue};
        if (width && height) check_device(to, (height - 1) * pitch + row);
        submit(call, stream, name, fill(to, pitch, value, width, height), {Cost::kCompute, row * height},
               false);
      });
}

int copy_within_call(const char* name, CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream) {
  return call(name, Needs::context,
              {Field::address("to", to), Field::address("from", from), Field::count("size", size),
               Field::address("stream", stream)},
              [&](Call& call) {
                check_device(to, size);
                check_device(from, size);
                submit(call, stream, name, copy_within(to, from, size), {Cost::kCompute, 2 * size}, false);
              });
}

int copy_in_call(const char* name, CUdeviceptr to, const void* from, size_t size, CUstream stream,
                 bool wait) {
  return call(name, wait ? Needs::unsafe : Needs::context,
              {Field::address("to", to), Field::address("from", from), Field::count("size", size),
               Field::address("stream", stream), Field::bytes("bytes", from, from ? size : 0)},
              [&](Call& call) {
                check_device(to, size);
                const bool late = memory().pinned(from, size) || captures(call, stream);
                submit(call, stream, name, copy_in(to, size ? needed(from) : from, size, late),
                       {Cost::kToDevice, size}, wait);
              });
}

int copy_out_call(const char* name, void* to, CUdeviceptr from, size_t size, CUstream stream, bool wait) {
  return call(name, wait ? Needs::unsafe : Needs::context,
              {Field::address("to", to), Field::address("from", from), Field::count("size", size),
               Field::address("stream", stream)},
              [&](Call& call) {
                check_device(from, size);
                if (size) needed(to);
                submit(call, stream, name, copy_out(to, from, size), {Cost::kToHost, size},
                       wait || !memory().pinned(to, size));
              });
}

/// One side of a two-dimensional copy.
struct Side {
  CUdeviceptr device = 0;
  std::byte* host = nullptr;
  size_t pitch = 0;
  std::byte* row(size_t index, size_t width) const {
    return host ? host + index * pitch : memory().at(device + index * pitch, width);
  }
};

Side side_of(int type, CUdeviceptr device, const void* host, size_t pitch, size_t x, size_t y,
             const CUDA_MEMCPY2D& copy) {
  const size_t offset = y * pitch + x;
  if (copy.Height > 1 && pitch < copy.WidthInBytes) throw Failure{kInvalidValue};
  if (type == 1) return {0, static_cast<std::byte*>(const_cast<void*>(needed(host))) + offset, pitch};
  if (type != 2 && type != 4) throw Failure{kNotSupported};  // arrays
  if (!visible(device + offset, (copy.Height - 1) * pitch + copy.WidthInBytes)) throw Failure{kInvalidValue};
  return {device + offset, nullptr, pitch};
}

Cost cost_between(const Side& to, const Side& from, const CUDA_MEMCPY2D& copy) {
  const size_t bytes = copy.WidthInBytes * copy.Height;
  if (from.host) return {Cost::kToDevice, bytes};
  return to.host ? Cost{Cost::kToHost, bytes} : Cost{Cost::kCompute, 2 * bytes};
}
}  // namespace

int cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t size, CUstream stream) {
  return copy_in_call("cuMemcpyHtoDAsync_v2", to, from, size, stream, false);
}
int cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t size, CUstream stream) {
  return copy_out_call("cuMemcpyDtoHAsync_v2", to, from, size, stream, false);
}
int cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t size) {
  return copy_in_call("cuMemcpyHtoD_v2", to, from, size, nullptr, true);
}
int cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t size) {
  return copy_out_call("cuMemcpyDtoH_v2", to, from, size, nullptr, true);
}
int cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream) {
  return copy_within_call("cuMemcpyDtoDAsync_v2", to, from, size, stream);
}
int cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t size) {
  return copy_within_call("cuMemcpyDtoD_v2", to, from, size, nullptr);
}
int cuMemcpyPeerAsync(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t size, CUstream stream) {
  return copy_within_call("cuMemcpyPeerAsync", to, from, size, stream);
}

/// Only between addresses that the device can reach.
int cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream) {
  return call("cuMemcpyAsync", Needs::context,
              {Field::address("to", to), Field::address("from", from), Field::count("size", size),
               Field::address("stream", stream)},
              [&](Call& call) {
                if (size && (!visible(to, size) || !visible(from, size))) throw Failure{kInvalidValue};
                submit(call, stream, "cuMemcpyAsync", copy_within(to, from, size),
                       cost_between(to, from, size), false);
              });
}

int cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* copy, CUstream stream) {
  return call("cuMemcpy2DAsync_v2", Needs::context,
              {Field::bytes("copy", copy, copy ? sizeof *copy : 0), Field::address("stream", stream)},
              [&](Call& call) {
                const CUDA_MEMCPY2D one = *needed(copy);
                if (!one.WidthInBytes || !one.Height) return;
                const Side from = side_of(one.srcMemoryType, one.srcDevice, one.srcHost, one.srcPitch,
                                          one.srcXInBytes, one.srcY, one);
                const Side to = side_of(one.dstMemoryType, one.dstDevice, one.dstHost, one.dstPitch,
                                        one.dstXInBytes, one.dstY, one);
                const auto body = [=, width = one.WidthInBytes, height = one.Height] {
                  const auto hold = memory().hold();
                  for (size_t row = 0; row < height; ++row)
                    std::memmove(to.row(row, width), from.row(row, width), width);
                };
                submit(call, stream, "cuMemcpy2DAsync_v2", body, cost_between(to, from, one),
                       from.host || to.host);
              });
}

int cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  return fill_call("cuMemsetD8Async", to, 0, value, count, 1, stream);
}
int cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream) {
  return fill_call("cuMemsetD16Async", to, 0, value, count, 1, stream);
}
int cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
  return fill_call("cuMemsetD32Async", to, 0, value, count, 1, stream);
}
int cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) {
  return fill_call("cuMemsetD8_v2", to, 0, value, count, 1, nullptr);
}
int cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t count) {
  return fill_call("cuMemsetD32_v2", to, 0, value, count, 1, nullptr);
}
int cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height,
                      CUstream stream) {
  return fill_call("cuMemsetD2D8Async", to, pitch, value, width, height, stream);
}
int cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height,
                       CUstream stream) {
  return fill_call("cuMemsetD2D16Async", to, pitch, value, width, height, stream);
}
int cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height,
                       CUstream stream) {
  return fill_call("cuMemsetD2D32Async", to, pitch, value, width, height, stream);
}

}  // namespace jitc::fakes
