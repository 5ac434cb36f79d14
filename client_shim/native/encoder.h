// Turns the arguments of an operator into the bytes of a call (jitc/operator_call.h) and, in the same pass,
// into the key under which the description of its outputs is remembered.
//
// Called by redirect.cpp, one Encoder per call in progress. The key holds everything that the metadata of
// outputs can depend on: types, sizes and strides of tensors, integers, booleans, texts. It does not hold
// addresses, the data of CPU tensors, or floating point numbers, because those change from step to step.
#pragma once
#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jitc/operator_call.h"

namespace jitc::torch_device {

/// Rules by which the arguments of an operator are encoded; they differ between operators.
struct EncodeRules {
  bool numbers_matter = false;  // output shapes depend on floating point numbers (arange)
  bool cpu_tensors = false;     // takes CPU tensors of any size (indices, lengths)
  const char* name = "";        // for messages
};

class Encoder {
 public:
  void begin(std::string_view name, const EncodeRules& rules, size_t arguments);
  void argument(const c10::IValue& value);
  /// Encodes an argument of type Generator, which may be None.
  void random_argument(const c10::IValue& value);
  /// Ends the arguments. If the call takes random numbers, draws (seed, offset) from its generator, once also
  /// when it is encoded twice.
  void finish_arguments(bool random);
  void begin_outputs(uint16_t count) { put(count); }
  void dropped_output() { put(wire::Tag::none); }
  void output(const at::Tensor& tensor);

  const std::vector<uint8_t>& bytes() const { return call_; }
  std::string_view key() const { return key_; }
  /// Returns the tensors of the arguments, numbered as in operator_call.h.
  const std::vector<at::Tensor>& tensors() const { return tensors_; }
  c10::DeviceIndex device() const { return device_; }
  /// Returns whether an index is a tensor of booleans: then the size of the result depends on data.
  bool has_mask() const { return has_mask_; }
  /// Drops the references to the tensors, keeps its own memory.
  void clear();

 private:
  /// A draw: in a capture seed and offset are addresses, and added belongs to the offset (operator_call.h).
  struct Draw {
    uint64_t seed, offset, added;
    bool captured;
  };
  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto* begin = reinterpret_cast<const uint8_t*>(&value);
    call_.insert(call_.end(), begin, begin + sizeof(T));
  }
  template <class T>
  void put_both(const T& value) {
    put(value);
    key_.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  void put_bytes(const void* data, size_t size);
  void list_head(wire::Tag tag, size_t count);
  void tensor(const at::Tensor& tensor);
  void device_tensor(const at::Tensor& tensor);
  void cpu_tensor(const at::Tensor& tensor);
  bool same_as_earlier(const at::Tensor& tensor);
  void list(const c10::IValue& value);
  void real(double value);
  void generator(const c10::IValue& value);
  void use_device(const at::Tensor& tensor);
  Draw draw();
  wire::CallHeader& header() { return *reinterpret_cast<wire::CallHeader*>(call_.data()); }

  std::vector<uint8_t> call_;
  std::string key_;
  std::vector<at::Tensor> tensors_;
  EncodeRules rules_;
  c10::DeviceIndex device_ = -1;
  bool has_mask_ = false;
  std::optional<at::Generator> generator_;
  std::optional<Draw> draw_;  // until clear()
};

}  // namespace jitc::torch_device
