#include "accesses.h"

#include <vector>

#include "jitc/operator_call.h"
#include "operators/operator.h"
#include "reader.h"
#include "tensors.h"

namespace jitc::operators {
namespace {

using wire::Tag;

/// Pass over a call like the decoder's, which keeps its tensors.
class Walk {
 public:
  explicit Walk(std::span<const uint8_t> bytes) : reader_(bytes) {}
  void run(bool query);
  void give(bool written, const TakeAccess& take) const;

 private:
  struct Tensor {
    uint64_t address = 0, item = 0;  // item 0: in the call itself
    Shape shape;
    bool written = false;
  };
  void value(bool written);
  void tensor(Tag tag, bool written);
  void device_tensor(bool written);
  void cpu_tensor();
  void list(Tag tag, bool written);
  void skip(uint64_t count, uint64_t item) { reader_.bytes(count * item); }
  uint32_t count();
  wire::TensorHead head();

  Reader reader_;
  std::vector<Tensor> tensors_;  // numbered as in operator_call.h
};

uint32_t Walk::count() {
  const auto items = reader_.take<uint32_t>();
  if (items > wire::kMostItems) throw Malformed("operator call with too long a list");
  return items;
}

wire::TensorHead Walk::head() {
  const auto head = reader_.take<wire::TensorHead>();
  if (head.dimensions > wire::kMostDimensions) throw Malformed("tensor with too many dimensions");
  return head;
}

void Walk::device_tensor(bool written) {
  const auto form = head();
  Tensor made;
  made.address = reader_.take<uint64_t>();
  made.item = c10::elementSize(checked_dtype(form.dtype));
  made.shape.sizes = reader_.list<int64_t>(form.dimensions);
  made.shape.strides = reader_.list<int64_t>(form.dimensions);
  made.written = written;
  tensors_.push_back(std::move(made));
}

void Walk::cpu_tensor() {
  const auto form = head();
  const auto bytes = reader_.take<uint64_t>();
  skip(form.dimensions, sizeof(int64_t));
  reader_.bytes(bytes);
  tensors_.emplace_back();
}

void Walk::tensor(Tag tag, bool written) {
  if (tag == Tag::undefined || tag == Tag::none) return;
  if (tag == Tag::tensor) return device_tensor(written);
  if (tag == Tag::cpu_tensor) return cpu_tensor();
  if (tag != Tag::same_tensor) throw Malformed("operator call with another value where a tensor belongs");
  const auto number = reader_.take<uint16_t>();
  if (number >= tensors_.size())
    throw Malformed("operator call that refers to a tensor that it does not have");
  tensors_.push_back(tensors_[number]);
  tensors_.back().written = written;
}

void Walk::list(Tag tag, bool written) {
  for (auto left = count(); left; --left) {
    const auto one = reader_.take<Tag>();
    if (tag != Tag::scalars)
      tensor(one, written);
    else
      skip(1, one == Tag::boolean ? 1 : one == Tag::complex ? 16 : 8);
  }
}

void Walk::value(bool written) {
  switch (const auto tag = reader_.take<Tag>()) {
    case Tag::none:
    case Tag::device:
    case Tag::generator:
      return;
    case Tag::boolean:
      return skip(1, 1);
    case Tag::integer:
    case Tag::real:
      return skip(1, 8);
    case Tag::complex:
      return skip(2, 8);
    case Tag::text:
    case Tag::booleans:
      return skip(count(), 1);
    case Tag::integers:
    case Tag::reals:
      return skip(count(), 8);
    case Tag::tensors:
    case Tag::optional_tensors:
    case Tag::scalars:
      return list(tag, written);
    default:
      return tensor(tag, written);
  }
}

void Walk::run(bool query) {
  const auto header = reader_.take<wire::CallHeader>();
  if (header.version != wire::kVersion) throw Malformed("operator call of an unknown format");
  const Operator& op = find_operator(reader_.text(header.name_size));
  if (header.arguments != op.written.size())
    throw Malformed("operator call with a wrong number of arguments");
  if (header.flags & wire::kFormAlone) return;  // nothing is read: a graph is being captured
  for (const bool written : op.written) value(written);
  if (!query)
    for (auto left = reader_.take<uint16_t>(); left; --left) value(true);
}

void Walk::give(bool written, const TakeAccess& take) const {
  for (const Tensor& one : tensors_)
    if (one.item && one.written == written)
      take({one.address, one.item, static_cast<uint32_t>(one.shape.sizes.size()), one.shape.sizes.data(),
            one.shape.strides.data(), written});
}

}  // namespace

void list_accesses(std::span<const uint8_t> bytes, bool query, const TakeAccess& take) {
  Walk walk(bytes);
  walk.run(query);
  walk.give(false, take);
  if (!query) walk.give(true, take);
}

}  // namespace jitc::operators
