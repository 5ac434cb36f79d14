// Results that differ in a replay: tolerated, or the end of this replay.
#include <algorithm>
#include <cmath>
#include <sstream>

#include "executor/core/session_core.h"
#include "executor/journal/wire.h"
#include "executor/results/lookup.h"
#include "jitc/generated_op_traits.h"
#include "replay.h"

namespace jitc {
namespace {

/// Returns the element type that the program read, if the op reads numbers; else no difference is tolerated.
uint32_t element_of(const ops::OpHeader& op) {
  const bool says = ops::traits(static_cast<ops::OpId>(op.op)).reads == ops::Reads::elements;
  return says ? as<ops::CopyD2h>(op).element : 0;
}

std::string why_not(const ops::OpHeader& op, double difference, double bound) {
  if (bound == 0)
    return "this job is not deterministic, or its memory was not restored as it was (--replay-mismatch)";
  if (!element_of(op)) return "it is no floating-point number, so it steers what the program does next";
  if (!std::isfinite(difference)) return "one of them is zero, infinite or no number";
  std::ostringstream text;
  text << "they differ by " << difference << " of their size, more than the " << bound
       << " that is tolerated of this job";
  return text.str();
}

}  // namespace

bool Replay::reads_what_steers(const ops::OpHeader& op) {
  const ops::Reads reads = ops::traits(static_cast<ops::OpId>(op.op)).reads;
  return reads == ops::Reads::bytes || (reads == ops::Reads::elements && !element_of(op));
}

/// Stops a replay in which the op fails. It did not fail for the program: often others are the cause (a rank
/// of a communicator is lost).
void Replay::fails(uint64_t sequence, const ops::OpHeader& op, uint32_t status,
                   std::span<const std::byte> payload) {
  std::string why(reinterpret_cast<const char*>(payload.data()), payload.size());
  const auto no_text = [](unsigned char one) { return one < 0x20 || one > 0x7e; };
  if (why.empty() || std::ranges::any_of(why, no_text)) why = "status " + std::to_string(status);
  astray(sequence, op, "fails in replay: " + why);
}

void Replay::astray(uint64_t sequence, const ops::OpHeader& op, const std::string& what) {
  core_.fault(sequence, 999, tolerance.bound() == 0 ? "replay-mismatch" : "replay-astray",
              wire::op_name(op.op) + " (sequence " + std::to_string(sequence) + ") " + what);
}

void Replay::compare(uint64_t sequence, uint32_t status, std::span<const std::byte> payload) {
  const RecordHeader* const record = find_record(core_.journal, RecordKind::op, sequence);
  if (!record) return;
  const ops::OpHeader& op = op_of(*record);
  if (!ops::find(op.op)->compared) return result_is_there(sequence);
  const bool did_well = core_.results.status(sequence) == 0u;
  if (did_well && status != 0) return fails(sequence, op, status, payload);
  double difference = INFINITY;
  if (did_well && status == 0)
    difference = relative_difference(element_of(op), known_payload(core_.journal, sequence), payload);
  if (tolerance.bears(difference)) return result_is_there(sequence);
  astray(sequence, op,
         "gave another result in replay than before: " + why_not(op, difference, tolerance.bound()));
}

}  // namespace jitc
