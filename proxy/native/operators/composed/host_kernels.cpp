// jitc::host_kernel: a kernel that the program compiled for this device (torch.compile).
//
// A text gives the order of the kernel's parameters: "r" the next tensor that it reads, "w" the next one that
// it writes, "i" the next integer, "f" the next real number. Promise: a call whose parts do not fit the
// order, or that names no kernel, is refused before anything runs.
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "operators/call/reader.h"
#include "operators/composed/composed.h"

namespace jitc::operators {
namespace {

enum Argument : size_t { kFunction, kReads, kWrites, kIntegers, kReals, kOrder };

/// Yields the addresses of a list's items, one after the other.
template <class Item>
class Addresses {
 public:
  explicit Addresses(std::vector<Item> items) : items_(std::move(items)) {}
  void* next() {
    if (at_ == items_.size()) throw Malformed("compiled kernel with fewer arguments than it has parameters");
    return address(items_[at_++]);
  }
  bool all_given() const { return at_ == items_.size(); }

 private:
  static void* address(Item& item) {
    if constexpr (std::is_same_v<Item, at::Tensor>)
      return const_cast<void*>(item.const_data_ptr());
    else
      return &item;
  }

  std::vector<Item> items_;
  size_t at_ = 0;
};

void run_host_kernel(const jitc_operator_host& host, torch::jit::Stack& stack) {
  const auto function = static_cast<uint64_t>(stack[kFunction].toInt());
  const auto kernel = host.kernel ? host.kernel(host.context, function) : nullptr;
  if (!kernel) throw Malformed("compiled kernel that does not exist");
  Addresses reads(stack[kReads].toTensorVector()), writes(stack[kWrites].toTensorVector());
  Addresses integers(stack[kIntegers].toIntVector());
  Addresses reals(stack[kReals].toDoubleVector());
  std::vector<void*> arguments;
  for (const char one : stack[kOrder].toStringRef()) switch (one) {
      case 'r':
        arguments.push_back(reads.next());
        break;
      case 'w':
        arguments.push_back(writes.next());
        break;
      case 'i':
        arguments.push_back(integers.next());
        break;
      case 'f':
        arguments.push_back(reals.next());
        break;
      default:
        throw Malformed("compiled kernel with an argument of unknown kind");
    }
  if (!reads.all_given() || !writes.all_given() || !integers.all_given() || !reals.all_given())
    throw Malformed("compiled kernel with more arguments than it has parameters");
  if (const char* const why = kernel(arguments.data(), arguments.size()))
    throw AssertTriggered(std::string("device-side assert triggered in a compiled kernel: ") + why);
  torch::jit::drop(stack, stack.size());
}

}  // namespace

OnHost find_on_host(std::string_view name) {
  return name == "jitc::host_kernel" ? &run_host_kernel : nullptr;
}

}  // namespace jitc::operators
