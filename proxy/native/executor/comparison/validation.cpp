#include "validation.h"

#include <algorithm>

#include "base/error.h"
#include "device/poison.h"
#include "executor/boundary/row_hashes.h"

namespace jitc {
namespace {
constexpr uint64_t kPiece = 1u << 20;
/// Number of blocks that a text names.
constexpr size_t kNamed = 3;

bool still_poisoned(const DeviceMemory& memory, const ops::LiveBlock& block) {
  std::vector<std::byte> piece(std::min(block.bytes, kPiece));
  for (uint64_t at = 0; at < block.bytes; at += piece.size()) {
    const std::span<std::byte> part(piece.data(), std::min<uint64_t>(piece.size(), block.bytes - at));
    if (memory.read(block.address + at, part) && poisoned(block.address + at, part)) return true;
  }
  return false;
}
}  // namespace

void Validation::measure(const DeviceMemory& memory, const std::vector<LiveRow>& live) {
  before_.clear();
  const auto hashes = hashes_of(memory, live);
  for (size_t i = 0; i < live.size(); ++i) {
    if (hashes[i] == kNoHash) continue;
    before_.push_back(live[i]);
    before_.back().hash = hashes[i];
  }
  measured_ = true;
}

Verdict Validation::compare(const DeviceMemory& memory) const {
  Verdict verdict{step_, before_.size(), 0, {}, {}, {}};
  const auto now = hashes_of(memory, before_);
  for (size_t i = 0; i < before_.size(); ++i) {
    const LiveRow& row = before_[i];
    verdict.bytes += row.block.bytes;
    if (now[i] == row.hash) continue;
    (still_poisoned(memory, row.block) ? verdict.unwritten : verdict.different).push_back(row);
  }
  return verdict;
}

bool Validations::ask(uint64_t step, uint64_t begun, uint64_t boundary) {
  const std::lock_guard lock(mutex_);
  if (due_.measured() && due_.step() == boundary + 1) return false;
  if (step <= std::max(begun, looked_up_))
    throw Error("optimizer step " + std::to_string(step) + " has begun already");
  due_ = Validation(step);
  return true;
}

std::optional<Validation> Validations::at(uint64_t step) {
  const std::lock_guard lock(mutex_);
  looked_up_ = step;
  return due_.step() == step ? std::optional(due_) : std::nullopt;
}

bool Validations::measured(Validation due) {
  const std::lock_guard lock(mutex_);
  if (due_.step() != due.step()) return false;
  due_ = std::move(due);
  return true;
}

void Validations::compared(Verdict verdict) {
  const std::lock_guard lock(mutex_);
  if (due_.step() == verdict.step) due_ = Validation();  // unless another one is wanted by now
  newest_ = std::move(verdict);
}

bool Validations::repeats() const {
  const std::lock_guard lock(mutex_);
  return due_.measured();
}

uint64_t Validations::step() const {
  const std::lock_guard lock(mutex_);
  return due_.step();
}

Verdict Validations::newest() const {
  const std::lock_guard lock(mutex_);
  return newest_;
}

std::string Verdict::text() const {
  std::string text = std::to_string(different.size()) + " of " + std::to_string(blocks) +
                     " live blocks had other content before optimizer step " + std::to_string(step) +
                     " when its minibatch was run again:";
  for (size_t i = 0; i < std::min(kNamed, different.size()); ++i)
    text += (i ? ", " : " ") + std::to_string(different[i].block.bytes) + " bytes at address " +
            std::to_string(different[i].block.address);
  if (different.size() > kNamed) text += " and others";
  if (results.results)
    text += "; " + std::to_string(results.results) + " results that the program has read differed";
  return text;
}

}  // namespace jitc
