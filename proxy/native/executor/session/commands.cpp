// Commands that only look, or change how a session is kept: tables, policy, faults, counters, transfers.
#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "session.h"

namespace jitc {
namespace {

uint64_t end_of(const std::vector<Transfer>& blocks) {
  uint64_t end = 0;
  for (const Transfer& block : blocks) {
    if (block.bytes > UINT64_MAX - block.offset) throw Error("a transfer's offset is out of range");
    end = std::max(end, block.offset + block.bytes);
  }
  return end;
}

[[noreturn]] void refuse(const Transfer& block, const char* why) {
  throw Error("block of " + std::to_string(block.bytes) + " bytes at address " +
              std::to_string(block.address) + " " + why);
}

/// The content that is there is the one that was asked for.
void check(const Backend& backend, const std::vector<Transfer>& blocks) {
  std::vector<MemoryRange> ranges;
  for (const Transfer& block : blocks) ranges.push_back({block.address, block.bytes});
  std::vector<Hash> hashes(blocks.size());
  backend.hash_all(ranges, hashes);
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (hashes[i] == blocks[i].hash) continue;
    refuse(blocks[i], hashes[i] == kNoHash ? "is not allocated" : "has other content than was asked for");
  }
}

/// Nothing moves that could not be checked.
void require_hashes(const std::vector<Transfer>& blocks) {
  for (const Transfer& block : blocks)
    if (block.bytes && block.hash == kNoHash) refuse(block, "is asked for without the hash of its content");
}
}  // namespace

uint64_t Session::export_blocks(const std::string& path, const std::vector<Transfer>& blocks) {
  const std::lock_guard lock(mutex_);
  require_fenced("Export");
  require_hashes(blocks);
  if (blocks.empty()) return 0;
  const SharedMap map(path, end_of(blocks));
  check(*backend_, blocks);
  uint64_t bytes = 0;
  for (const Transfer& block : blocks) {
    const std::span<std::byte> into(map.data() + block.offset, block.bytes);
    if (!backend_->read(block.address, into)) refuse(block, "is not allocated");
    bytes += block.bytes;
  }
  return bytes;
}

uint64_t Session::import_blocks(const std::string& path, const std::vector<Transfer>& blocks) {
  const std::lock_guard lock(mutex_);
  require_fenced("Import");
  require_hashes(blocks);
  if (blocks.empty()) return 0;
  const SharedMap map(path, end_of(blocks));
  uint64_t bytes = 0;
  for (const Transfer& block : blocks) {
    const std::span<const std::byte> from(map.data() + block.offset, block.bytes);
    if (!backend_->write(block.address, from)) refuse(block, "is not allocated");
    bytes += block.bytes;
  }
  check(*backend_, blocks);  // what has arrived, so that the way here is checked too
  return bytes;
}

BoundaryState Session::boundary_table(uint64_t boundary) {
  const std::lock_guard lock(mutex_);
  const BoundaryState* const state =
      boundary ? find_boundary(boundary) : (boundaries_.empty() ? nullptr : &boundaries_.back());
  if (!state) throw Error("boundary " + std::to_string(boundary) + " is not kept here");
  return *state;
}

void Session::set_policy(Policy policy) {
  const std::lock_guard lock(mutex_);
  // What was learned here stays learned: more is copied than needed at worst.
  if (policy.peer_mode() && policy_->peer_mode())
    for (const uint64_t one : policy_->volatile_ordinals) policy.volatile_ordinals.insert(one);
  policy_ = std::make_shared<Policy>(std::move(policy));
}

bool Session::validate(uint64_t step) {
  return runs() && validations_.ask(step, board_.slot(request_.slot).begun, last_boundary_);
}

void Session::hold_after(uint64_t boundary) {
  const std::lock_guard lock(mutex_);
  if (boundary <= last_boundary_)
    throw Error("boundary " + std::to_string(boundary) + " has been made already");
  stop_after_ = boundary;
}

void Session::arm(const Fault& fault) {
  Injector::check(fault);
  if (fault.of_device()) return arm_device(fault);
  if (fault.at_once())
    host_.fire(fault, Injector::describe(fault, nullptr, last_boundary_));
  else
    injector_.arm(fault);
}

/// It fires between ops: at once means at the next one.
void Session::arm_device(Fault fault) {
  const std::string why = backend_->cannot_inject(fault.kind);
  if (!why.empty()) throw Error(why);
  if (fault.at_once()) fault.skip = 0, fault.operations = fault.waits_for_collective() ? 0 : 1;
  injector_.arm(fault);
}

SessionStats Session::stats() {
  SessionStats stats{};
  stats.session = request_.session;
  stats.ops_executed = ops_executed_;
  stats.executed = progress_.executed(dispatched_);
  stats.received = received_;
  stats.journal_bytes = journal_.bytes();
  stats.memory_used = backend_->memory_used();
  stats.memory_total = backend_->memory_total();
  stats.boundary = last_boundary_;
  stats.committed = committed_;
  stats.protected_ = protected_;
  stats.unread_bytes = outbox_.unsent();
  stats.held_back = held_back_;
  stats.phases = times_.seconds();
  stats.phases_of = times_.boundaries;
  stats.differences = tolerance_.seen();
  stats.steering_reads = steering_reads_;
  const std::lock_guard lock(mutex_);
  stats.snapshot_bytes = snapshot_.used();
  stats.validating = validations_.step();  // before the verdict: who is no longer waited for has one
  stats.verdict = validations_.newest();
  stats.state = name_of(state_);
  stats.policy = policy_->copy_all ? "copy" : "peer";
  return stats;
}

void Session::break_device(uint32_t status, std::string_view cause, std::string_view message) {
  fault(dispatched_ + 1, status, cause, message);
}

void Session::leave() {
  *newest_epoch_ = UINT64_MAX;
  detach();
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    accepting_ = false;
    if (state_ == State::running) state_ = State::fenced;
    work_.notify_all();
    changed_.notify_all();
  }
  budget_->leave();
  board_.clear(request_.slot);
}

}  // namespace jitc
