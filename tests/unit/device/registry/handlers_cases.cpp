// The registry of handlers: what does not compile (as assertions), what is called, what is refused.
#include <vector>

#include "cases.h"
#include "device/common/error.h"
#include "device/common/handlers.h"

namespace jitc::test {
namespace {
using device::HandlerList;
using device::Handlers;

class Memory {
 public:
  std::vector<uint64_t> addresses;

 private:
  void allocate(const ops::Allocate& op) { addresses.push_back(op.address); }
  void free(const ops::Free& op) { addresses.push_back(op.address + 1); }

 public:
  using Handled = HandlerList<&Memory::allocate, &Memory::free>;
};

class Streams {
 public:
  size_t created = 0;
  void create(const ops::StreamCreate&) { ++created; }
  void create_too(const ops::StreamCreate&) { ++created; }
  using Handled = HandlerList<&Streams::create>;
};

template <class Function>
concept IsHandler = requires { typename device::HandlerTraits<Function>::Op; };
static_assert(IsHandler<void (Streams::*)(const ops::Fill&)>);
static_assert(!IsHandler<void (Streams::*)(const ops::LiveBlock&)>, "a record that is no op");
static_assert(!IsHandler<void (Streams::*)(const ops::OpHeader&)>, "no op of its own");
static_assert(!IsHandler<void (Streams::*)(ops::Fill&)>, "records do not change");

static_assert(device::kOneHandlerPerOp<Memory::Handled, Streams::Handled>);
static_assert(!device::kOneHandlerPerOp<HandlerList<&Streams::create, &Streams::create_too>>);
static_assert(!device::kOneHandlerPerOp<Streams::Handled, Memory::Handled, Streams::Handled>);

template <class Op>
Op record(uint32_t missing = 0) {
  Op op{};
  op.header.op = static_cast<uint16_t>(Op::kId);
  op.header.size = sizeof op - missing;
  return op;
}

std::string refusal(const ops::OpHeader& op) {
  try {
    Handlers::check(op);
  } catch (const device::OpError& error) {
    return error.message;
  }
  return {};
}

}  // namespace

CASE(handlers_are_called_with_their_op_and_their_family) {
  Memory memory;
  Streams streams;
  const Handlers handlers(memory, streams);
  auto allocate = record<ops::Allocate>();
  allocate.address = 16;
  auto free = record<ops::Free>();
  free.address = 32;
  for (const ops::OpHeader* op : {&free.header, &allocate.header}) (*handlers.find(*op))(*op);
  CHECK(memory.addresses == (std::vector<uint64_t>{33, 16}));
  const auto create = record<ops::StreamCreate>();
  (*handlers.find(create.header))(create.header);
  CHECK_EQUAL(streams.created, 1u);
}

CASE(handlers_of_other_ops_are_not_found) {
  Streams streams;
  const Handlers handlers(streams);
  size_t found = 0;
  for (const ops::OpInfo& info : ops::kOps) {
    ops::OpHeader op{};
    op.op = static_cast<uint16_t>(info.id);
    found += handlers.find(op) != nullptr;
  }
  CHECK_EQUAL(found, 1u);
  for (const unsigned id : {0x0000u, 0x0100u, 0x03ffu, 0xffffu}) {
    ops::OpHeader unknown{};
    unknown.op = static_cast<uint16_t>(id);
    CHECK(handlers.find(unknown) == nullptr);
  }
}

CASE(handlers_check_that_there_is_such_an_op_and_how_long_it_is) {
  CHECK_EQUAL(refusal(record<ops::Allocate>().header), "");
  CHECK_EQUAL(refusal(record<ops::Allocate>(8).header), "the record is truncated");
  for (const unsigned id : {0x0000u, 0x0100u, 0x02ffu, 0x0a00u, 0xffffu}) {
    auto unknown = record<ops::Allocate>();
    unknown.header.op = static_cast<uint16_t>(id);
    CHECK_EQUAL(refusal(unknown.header), "this worker does not know the op: update the worker");
    CHECK(ops::find(unknown.header.op) == nullptr);
  }
  for (const ops::OpInfo& info : ops::kOps) {
    ops::OpHeader op{};
    op.op = static_cast<uint16_t>(info.id);
    CHECK(ops::find(op.op) == &info);
  }
}

}  // namespace jitc::test
