// Tensors on memory that PyTorch did not allocate: their extent, address translation, shared storages.
//
// Called by: decode.cpp, matmul.cpp.
#pragma once
#include <ATen/core/Tensor.h>

#include <span>
#include <vector>

#include "jitc/operator_call.h"
#include "jitc/operators_api.h"
#include "reader.h"

namespace jitc::operators {

/// Memory that a tensor covers.
struct Extent {
  uint64_t address = 0, bytes = 0;
};

struct Shape {
  std::vector<int64_t> sizes, strides;
};

/// Returns the bytes from first to last element; throws Malformed on overflow or a negative size.
uint64_t extent_bytes(std::span<const int64_t> sizes, std::span<const int64_t> strides, uint64_t item);
c10::ScalarType checked_dtype(int8_t dtype);
at::Tensor make_tensor(const c10::Storage& storage, int64_t offset, const Shape& shape,
                       c10::ScalarType dtype);

/// Maker of one call's tensors. Tensors that overlap in memory share a storage, as in the program, so that
/// kernels notice the overlap (overlap checks, in-place operations on views).
class TensorMaker {
 public:
  explicit TensorMaker(const jitc_operator_host& host) : host_(host) {}
  at::Tensor make(const wire::TensorHead& head, uint64_t address, const Shape& shape, Extent* extent,
                  void** memory);

 private:
  struct Known {
    Extent extent;
    c10::Storage storage;
  };
  c10::Storage storage_for(const Extent& extent, uint64_t item, int64_t* offset);
  void* translate(const Extent& extent);

  const jitc_operator_host& host_;
  std::vector<Known> known_;
};

}  // namespace jitc::operators
