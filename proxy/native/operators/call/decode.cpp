#include "decode.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/List.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/full.h>

#include <cstring>

#include "operators/random.h"
#include "tensors.h"

namespace jitc::operators {
namespace {

using wire::Tag;

class Decoder {
 public:
  Decoder(const jitc_operator_host& host, std::span<const uint8_t> bytes, bool query, int64_t integers)
      : host_(host), reader_(bytes), maker_(host), query_(query), integers_(integers) {}
  Call run();

 private:
  c10::IValue value();
  at::Tensor tensor(Tag tag);
  at::Tensor device_tensor();
  at::Tensor cpu_tensor();
  at::Tensor same_tensor();
  Shape shape(uint8_t dimensions, bool strides);
  c10::IValue tensor_list();
  c10::IValue optional_tensor_list();
  c10::IValue scalar_list();
  at::Scalar scalar(Tag tag);
  uint32_t count();
  Output output();
  void read_random_state();
  uint64_t word_at(uint64_t address) const;

  const jitc_operator_host& host_;
  Reader reader_;
  TensorMaker maker_;
  bool query_, written_ = false;
  const int64_t integers_;
  Call call_;
};

Shape Decoder::shape(uint8_t dimensions, bool strides) {
  if (dimensions > wire::kMostDimensions) throw Malformed("tensor with too many dimensions");
  Shape made{reader_.list<int64_t>(dimensions), {}};
  if (strides) made.strides = reader_.list<int64_t>(dimensions);
  return made;
}

/// Returns a copy with the same strides, also if elements overlap.
at::Tensor copy_of(const at::Tensor& tensor) {
  auto copy = at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options());
  const uint64_t bytes = extent_bytes(tensor.sizes(), tensor.strides(), tensor.itemsize());
  if (bytes) std::memcpy(copy.mutable_data_ptr(), tensor.const_data_ptr(), bytes);
  copy._set_conj(tensor.is_conj());
  copy._set_neg(tensor.is_neg());
  return copy;
}

/// Returns a stand-in for a tensor without content: ones, and integers of that value.
at::Tensor stand_in_for(const at::Tensor& tensor, int64_t integers) {
  const bool numbers = tensor.is_floating_point() || tensor.is_complex();
  const uint64_t bytes = extent_bytes(tensor.sizes(), tensor.strides(), tensor.itemsize());
  auto made =
      at::full({static_cast<int64_t>(bytes / tensor.itemsize())}, numbers ? 1 : integers, tensor.options());
  made = made.as_strided(tensor.sizes(), tensor.strides());
  made._set_conj(tensor.is_conj());
  made._set_neg(tensor.is_neg());
  return made;
}

at::Tensor Decoder::device_tensor() {
  const auto head = reader_.take<wire::TensorHead>();
  const auto address = reader_.take<uint64_t>();
  const auto form = shape(head.dimensions, true);
  Extent extent;
  void* memory = nullptr;
  auto made = maker_.make(head, address, form, &extent, &memory);
  if (query_ && call_.header.flags & wire::kFormAlone) {
    call_.before.push_back(written_ ? made : at::Tensor());
    return stand_in_for(made, integers_);
  }
  if (!query_ || !written_) {
    call_.before.emplace_back();
    return made;
  }
  call_.before.push_back(made);
  return copy_of(made);
}

at::Tensor Decoder::cpu_tensor() {
  const auto head = reader_.take<wire::TensorHead>();
  const auto bytes = reader_.take<uint64_t>();
  auto form = shape(head.dimensions, false);
  const auto dtype = checked_dtype(head.dtype);
  form.strides.assign(form.sizes.size(), 1);
  for (size_t i = form.sizes.size(); i-- > 1;)
    if (__builtin_mul_overflow(form.strides[i], std::max<int64_t>(form.sizes[i], 1), &form.strides[i - 1]))
      throw Malformed("tensor whose extent overflows");
  if (extent_bytes(form.sizes, form.strides, c10::elementSize(dtype)) != bytes)
    throw Malformed("inline tensor whose size is not that of its data");
  const auto data = reader_.bytes(bytes);
  auto made = at::empty(form.sizes, at::TensorOptions().dtype(dtype));
  if (bytes) std::memcpy(made.mutable_data_ptr(), data.data(), bytes);
  if (head.flags & wire::kWrappedNumber) made.unsafeGetTensorImpl()->set_wrapped_number(form.sizes.empty());
  call_.before.emplace_back();
  return made;
}

at::Tensor Decoder::same_tensor() {
  const auto number = reader_.take<uint16_t>();
  if (number >= call_.tensors.size())
    throw Malformed("operator call that refers to a tensor that it does not have");
  const at::Tensor same = call_.tensors[number], before = call_.before[number];
  if (query_ && written_ &&
      !before.defined()) {  // read as one argument, written as another: x.logical_not_()
    call_.before.push_back(same);
    return copy_of(same);
  }
  call_.before.push_back(before);
  return same;
}

at::Tensor Decoder::tensor(Tag tag) {
  at::Tensor made;
  switch (tag) {
    case Tag::tensor:
      made = device_tensor();
      break;
    case Tag::cpu_tensor:
      made = cpu_tensor();
      break;
    case Tag::same_tensor:
      made = same_tensor();
      break;
    case Tag::undefined:
      return {};
    default:
      throw Malformed("operator call with another value where a tensor belongs");
  }
  call_.tensors.push_back(made);
  return made;
}

uint32_t Decoder::count() {
  const auto items = reader_.take<uint32_t>();
  if (items > wire::kMostItems) throw Malformed("operator call with too long a list");
  return items;
}

c10::IValue Decoder::tensor_list() {
  c10::List<at::Tensor> list;
  for (auto left = count(); left; --left) list.push_back(tensor(reader_.take<Tag>()));
  return list;
}

c10::IValue Decoder::optional_tensor_list() {
  c10::List<std::optional<at::Tensor>> list;
  for (auto left = count(); left; --left) {
    const auto tag = reader_.take<Tag>();
    list.push_back(tag == Tag::none ? std::nullopt : std::optional<at::Tensor>(tensor(tag)));
  }
  return list;
}

at::Scalar Decoder::scalar(Tag tag) {
  switch (tag) {
    case Tag::boolean:
      return reader_.take<uint8_t>() != 0;
    case Tag::integer:
      return reader_.take<int64_t>();
    case Tag::real:
      return reader_.take<double>();
    case Tag::complex: {
      const auto real = reader_.take<double>();
      return c10::complex<double>(real, reader_.take<double>());
    }
    default:
      throw Malformed("operator call with another value where a number belongs");
  }
}

c10::IValue Decoder::scalar_list() {
  c10::impl::GenericList list(c10::NumberType::get());
  for (auto left = count(); left; --left) list.push_back(scalar(reader_.take<Tag>()));
  return list;
}

c10::IValue Decoder::value() {
  const auto tag = reader_.take<Tag>();
  switch (tag) {
    case Tag::none:
      return {};
    case Tag::tensor:
    case Tag::cpu_tensor:
    case Tag::same_tensor:
    case Tag::undefined:
      return tensor(tag);
    case Tag::boolean:
    case Tag::integer:
    case Tag::real:
    case Tag::complex:
      return scalar(tag);
    case Tag::text:
      return std::string(reader_.text(count()));
    case Tag::integers:
      return reader_.list<int64_t>(count());
    case Tag::reals:
      return reader_.list<double>(count());
    case Tag::booleans: {
      c10::List<bool> list;
      for (auto left = count(); left; --left) list.push_back(reader_.take<uint8_t>() != 0);
      return list;
    }
    case Tag::tensors:
      return tensor_list();
    case Tag::optional_tensors:
      return optional_tensor_list();
    case Tag::scalars:
      return scalar_list();
    case Tag::device:
      return c10::Device(c10::DeviceType::CPU);
    case Tag::generator:
      return make_generator(call_.header.seed, call_.header.offset);
    default:
      throw Malformed("operator call with a value of unknown kind " + std::to_string(static_cast<int>(tag)));
  }
}

Output Decoder::output() {
  const auto tag = reader_.take<Tag>();
  if (tag == Tag::none) return {};
  if (tag != Tag::tensor) throw Malformed("operator call with an output that is not a tensor");
  const auto head = reader_.take<wire::TensorHead>();
  const auto address = reader_.take<uint64_t>();
  const auto form = shape(head.dimensions, true);
  Output made;
  Extent extent;
  made.tensor = maker_.make(head, address, form, &extent, &made.memory);
  made.bytes = extent.bytes;
  return made;
}

uint64_t Decoder::word_at(uint64_t address) const {
  uint64_t word = 0;
  const void* const from = host_.translate(host_.context, address, sizeof word);
  if (!from) throw Malformed("the state of a graph's random numbers is not in allocated memory");
  std::memcpy(&word, from, sizeof word);
  return word;
}

void Decoder::read_random_state() {
  const auto added = reader_.take<wire::GraphOffset>();
  call_.header.seed = word_at(call_.header.seed);
  call_.header.offset = word_at(call_.header.offset) + added.value;
}

Call Decoder::run() {
  call_.header = reader_.take<wire::CallHeader>();
  if (call_.header.version == wire::kVersionInGraph)
    read_random_state();
  else if (call_.header.version != wire::kVersion)
    throw Malformed("operator call of format " + std::to_string(call_.header.version) +
                    "; this worker reads " + std::to_string(wire::kVersion) + " and " +
                    std::to_string(wire::kVersionInGraph));
  if (!c10::isFloatingType(checked_dtype(call_.header.default_dtype)))
    throw Malformed("operator call with a default type that is no floating-point type");
  call_.op = &find_operator(reader_.text(call_.header.name_size));
  if (call_.header.arguments != call_.op->written.size())
    throw Malformed("operator call with a wrong number of arguments");
  for (const bool written : call_.op->written) {
    written_ = written;
    call_.stack.push_back(value());
  }
  if (!query_)
    for (auto left = reader_.take<uint16_t>(); left; --left) call_.outputs.push_back(output());
  // The record that carried the call is padded to 8 bytes.
  if (reader_.left() >= 8) throw Malformed("operator call with bytes after its end");
  return std::move(call_);
}

}  // namespace

Call decode(const jitc_operator_host& host, std::span<const uint8_t> bytes, bool query, int64_t integers) {
  try {
    return Decoder(host, bytes, query, integers).run();
  } catch (const c10::Error& error) {
    throw Malformed(error.what_without_backtrace());
  }
}

}  // namespace jitc::operators
