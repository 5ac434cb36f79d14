// The bytes on the op stream: parses OpBatch messages and builds CompletionBatch messages.
//
// Protobuf by hand: one bytes field and one fixed64 field do not need a library, and the records are used
// where they lie. Nothing from the stream is trusted. Called by: Intake and CompletionQueue. Pure: no state.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/operands.h"
#include "jitc/completion.h"
#include "jitc/generated_ops.h"

namespace jitc::wire {

using Bytes = std::span<const std::byte>;

inline constexpr size_t kMaximumBatch = 64u << 20;
inline constexpr uint64_t kMaximumCopy = 1u << 20;
inline constexpr uint64_t kMaximumImage = 2ull << 30;
inline constexpr uint64_t kMaximumName = 64u << 10;
inline constexpr uint64_t kMaximumParameters = 32u << 10;
inline constexpr uint32_t kMaximumAttributes = 64;

/// An op inside a batch: its record may lie unaligned there.
struct OpView {
  ops::OpHeader header;
  Bytes record;
};

struct Batch {
  std::vector<OpView> ops;
  std::optional<uint64_t> results_received;
};

/// Throws Error with the op, and why it is refused.
[[noreturn]] void refuse(const OpView& op, const std::string& why);

/// Returns a copy of the operands of an op whose id and size have been checked; it may lie unaligned.
template <class Op>
Op operands(const OpView& op) {
  Op copy;
  std::memcpy(&copy, op.record.data(), sizeof(Op));
  return copy;
}

/// Parses a whole batch. Throws Error, in words for the user, if any part of it is malformed.
Batch parse_batch(Bytes message);

/// Returns the bytes of a completion record with such a payload.
constexpr size_t completion_size(size_t payload) { return (sizeof(CompletionHeader) + payload + 7) / 8 * 8; }
/// Appends one completion record, with its padding.
void append_completion(std::vector<std::byte>& out, CompletionKind kind, uint32_t status, uint64_t stream,
                       uint64_t sequence, Bytes payload = {});
/// Writes tag and length before `size` bytes of completion records; returns its own length (at most kPrefix).
inline constexpr size_t kPrefix = 6;
size_t write_prefix(std::byte* out, size_t size);

/// Returns the name for messages; "op 0x1234" if unknown.
std::string op_name(uint16_t id);

/// Returns the text that follows the operands of function_get, variable_get and variable_alias.
template <class Op>
std::string name_of(const Op& op) {
  return {reinterpret_cast<const char*>(&op + 1), op.bytes};
}

/// Returns the stream whose progress passes the op.
inline uint64_t stream_of(const ops::OpHeader& op) { return op.stream <= kLastDefaultStream ? 0 : op.stream; }

/// Returns whether several threads take part in the optimizer step that the op begins, or is in: elsewhere,
/// or in another run, the op may be at another place, so only running the step shows what it does.
bool shares_step(const ops::OpHeader& op);
/// Reason why such a step is neither finished by healthy ranks nor skipped by a lost one.
inline constexpr const char* kSharedStep = "several threads of the program have a part in the optimizer step";

}  // namespace jitc::wire
