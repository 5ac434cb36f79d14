// Completion records, sent by a worker to its client: little-endian and 8-byte aligned.
//
// Written by the executor, read by the interposer, which skips kinds that it does not know.
#pragma once
#include <cstdint>

namespace jitc {

enum class CompletionKind : uint16_t {
  result = 1,    // the op's status and result; sequence names the op
  ack = 2,       // ops up to sequence are in the journal: the client forgets its copies
  progress = 3,  // stream has executed everything up to sequence (never goes back)
  fault = 4,     // the session is over: every later call returns status; payload: message
  notice = 5,    // one line for the user; payload: text
  restored = 6,  // every stream, also a destroyed one, has executed everything up to sequence
};

struct CompletionHeader {
  uint32_t size{};     // record with header and padding, a multiple of 8
  uint16_t kind{};     // CompletionKind
  uint16_t padding{};  // bytes of padding at the record's end, 0 to 7
  uint32_t status{};   // cudaError_t value, or kStatusOperator
  uint32_t reserved{};
  uint64_t stream{};
  uint64_t sequence{};
};
static_assert(sizeof(CompletionHeader) == 32);

/// Status of an ATen operator that has raised; the payload is its message. Other statuses are cudaError_t
/// values.
inline constexpr uint32_t kStatusOperator = 0x10001;

}  // namespace jitc
