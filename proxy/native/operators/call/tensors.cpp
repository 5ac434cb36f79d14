#include "tensors.h"

#include <c10/core/Storage.h>

#include <algorithm>

namespace jitc::operators {
namespace {

constexpr size_t kSearched =
    32;  // tensors checked for overlap; lists of parameters are longer and do not overlap

void keep(void*) {}

c10::Storage storage_on(void* memory, uint64_t bytes) {
  c10::DataPtr data(memory, memory, &keep, c10::Device(c10::DeviceType::CPU));
  return {c10::Storage::use_byte_size_t(), static_cast<size_t>(bytes), std::move(data), nullptr, false};
}

}  // namespace

uint64_t extent_bytes(std::span<const int64_t> sizes, std::span<const int64_t> strides, uint64_t item) {
  uint64_t last = 0, count = 1;
  bool empty = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || strides[i] < 0) throw Malformed("tensor with a negative size or stride");
    if (sizes[i] == 0) empty = true;
    uint64_t step = 0;
    if (sizes[i] > 1 && (__builtin_mul_overflow(static_cast<uint64_t>(sizes[i] - 1),
                                                static_cast<uint64_t>(strides[i]), &step) ||
                         __builtin_add_overflow(last, step, &last)))
      throw Malformed("tensor whose extent overflows");
    if (sizes[i] > 0 && __builtin_mul_overflow(count, static_cast<uint64_t>(sizes[i]), &count))
      throw Malformed("tensor whose number of elements overflows");
  }
  if (count > INT64_MAX / 16) throw Malformed("tensor with too many elements");
  uint64_t bytes = 0;
  if (__builtin_add_overflow(last, 1, &last) || __builtin_mul_overflow(last, item, &bytes) ||
      bytes > INT64_MAX)
    throw Malformed("tensor whose extent overflows");
  return empty ? 0 : bytes;
}

c10::ScalarType checked_dtype(int8_t dtype) {
  const auto type = static_cast<c10::ScalarType>(dtype);
  // Quantized and packed types need more than sizes and strides.
  if (dtype < 0 || dtype >= static_cast<int8_t>(c10::ScalarType::NumOptions) || c10::isQIntType(type) ||
      type == c10::ScalarType::Undefined || c10::isBitsType(type) || c10::elementSize(type) == 0)
    throw Malformed("tensor of data type " + std::to_string(dtype) +
                    ", which the software device does not know");
  return type;
}

at::Tensor make_tensor(const c10::Storage& storage, int64_t offset, const Shape& shape,
                       c10::ScalarType dtype) {
  auto tensor = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), c10::scalarTypeToTypeMeta(dtype));
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(shape.sizes, shape.strides, offset);
  return tensor;
}

void* TensorMaker::translate(const Extent& extent) {
  void* memory = host_.translate(host_.context, extent.address, extent.bytes);
  if (!memory) throw Malformed("operator call with memory that is not allocated");
  return memory;
}

c10::Storage TensorMaker::storage_for(const Extent& extent, uint64_t item, int64_t* offset) {
  *offset = 0;
  if (extent.bytes == 0) return storage_on(nullptr, 0);
  const size_t searched = std::min(known_.size(), kSearched);
  for (size_t i = 0; i < searched; ++i) {
    Known& one = known_[i];
    if (extent.address + extent.bytes <= one.extent.address ||
        one.extent.address + one.extent.bytes <= extent.address)
      continue;
    if (extent.address < one.extent.address || (extent.address - one.extent.address) % item) continue;
    if (extent.address + extent.bytes > one.extent.address + one.extent.bytes) {
      const Extent wider{one.extent.address, extent.address + extent.bytes - one.extent.address};
      (void)translate(wider);
      one.extent = wider;
      one.storage.set_nbytes(wider.bytes);
    }
    *offset = static_cast<int64_t>((extent.address - one.extent.address) / item);
    return one.storage;
  }
  known_.push_back({extent, storage_on(translate(extent), extent.bytes)});
  return known_.back().storage;
}

at::Tensor TensorMaker::make(const wire::TensorHead& head, uint64_t address, const Shape& shape,
                             Extent* extent, void** memory) {
  const auto dtype = checked_dtype(head.dtype);
  const uint64_t item = c10::elementSize(dtype);
  *extent = {address, extent_bytes(shape.sizes, shape.strides, item)};
  if (extent->bytes && (address % item || address + extent->bytes < address))
    throw Malformed("tensor at an address that is not aligned to its elements");
  int64_t offset = 0;
  const auto storage = storage_for(*extent, item, &offset);
  auto tensor = make_tensor(storage, offset, shape, dtype);
  *memory = tensor.numel() ? tensor.mutable_data_ptr() : nullptr;
  if (head.flags & wire::kConjugate) {
    if (!c10::isComplexType(dtype)) throw Malformed("conjugate tensor that is not complex");
    tensor._set_conj(true);
  }
  if (head.flags & wire::kNegative) tensor._set_neg(true);
  if (head.flags & wire::kWrappedNumber)
    tensor.unsafeGetTensorImpl()->set_wrapped_number(head.dimensions == 0);
  return tensor;
}

}  // namespace jitc::operators
