// What operations do: every rank writes its piece where all can read it, all wait for all, everybody reads.
// Sends and receives of a group make progress side by side. Runs on streams; see communicator.h.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../common/call_log.h"
#include "../common/processes.h"
#include "../over_driver/driver_calls.h"
#include "communicator.h"
#include "reduce.h"

namespace jitc::fakes {
namespace {
uint64_t mixed(uint64_t seed, uint64_t value) { return (seed ^ value) * 0x9E3779B97F4A7C15u + (seed >> 29); }

/// Equal on all ranks that make the same call.
uint64_t signature_of(const Operation& operation) {
  uint64_t hash = mixed(17, operation.kind);
  hash = mixed(hash, operation.count);
  hash = mixed(hash, static_cast<uint64_t>(operation.type));
  hash = mixed(hash, static_cast<uint64_t>(std::min<int>(operation.op, kFirstOwnOp)));
  return mixed(hash, static_cast<uint64_t>(operation.peer));
}

bool is_message(const Operation& operation) { return operation.kind >= Operation::send; }
}  // namespace

std::byte* Communicator::device_memory(const void* address, size_t bytes) {
  void* place = driver_calls()->memory(reinterpret_cast<unsigned long long>(address), bytes);
  if (!place) throw NcclFailure{kNcclUnhandledCudaError};
  return static_cast<std::byte*>(place);
}

bool Communicator::wait_phase() {
  segment_->slot(rank).phase = ++phase_;
  segment_->wake();
  return segment_->wait(aborted_, [this] {
    for (int each = 0; each < size; ++each)
      if (segment_->slot(each).phase < phase_) return false;
    return true;
  });
}

/// Over a network a rank sees that another one has given up the communicator, or is gone: its sockets are
/// closed. Over NVLink and shared memory it waits.
void Communicator::look_at_peers() {
  const char* const network = std::getenv("JITC_FAKE_NETWORK");
  if (!network || !*network) return;
  for (int each = 0; each < size; ++each) {
    const RankSlot& slot = segment_->slot(each);
    if (slot.joined && (slot.aborted || ended(slot.process)) && each != rank)
      return set_error(kNcclRemoteError, "rank " + std::to_string(each) + " is gone");
  }
}

/// False: aborted, or the ranks do not make the same call.
bool Communicator::round(uint64_t signature, const Step& write, const std::function<void()>& read) {
  segment_->slot(rank).signature = signature;
  write(segment_->exchange(rank));
  if (!wait_phase()) return false;
  bool same = true;
  for (int each = 0; each < size; ++each) same = same && segment_->slot(each).signature == signature;
  if (same) read();
  if (!same) set_error(kNcclInvalidUsage, "the ranks do not make the same call");
  return wait_phase() && same;
}

std::vector<const std::byte*> Communicator::parts(size_t offset) {
  std::vector<const std::byte*> all;
  for (int each = 0; each < size; ++each) all.push_back(segment_->exchange(each) + offset);
  return all;
}

/// An operation made by ncclRedOpCreatePreMulSum multiplies what this rank gives.
void Communicator::scaled(const Operation& operation, std::byte* values, size_t count) {
  if (!operation.own) return;
  const OwnOp& own = *operation.own;
  const std::byte* scalar = own.on_device ? device_memory(own.address, size_of(own.type)) : own.value.data();
  scale(operation.type, values, count, scalar);
}

void Communicator::perform(const std::vector<Operation>& operations) {
  const int asked = asked_failure("ncclWork");
  if (asked == kHang) {
    segment_->wait(aborted_, [] { return false; });
    return;
  }
  if (asked) return set_error(asked, "asked for by the test");
  try {
    std::vector<Operation> rest;
    for (const Operation& operation : operations) {
      if (is_message(operation))
        rest.push_back(operation);
      else
        collective(operation);
    }
    messages(rest);
  } catch (const NcclFailure& failure) {
    set_error(failure.code, "an address is not accessible");
    driver_calls()->fault(700);  // as a kernel that touches it
  }
}

/// Piece by piece, as large as a rank's place in the shared memory.
void Communicator::collective(const Operation& operation) {
  const size_t width = size_of(operation.type);
  const bool scatters = operation.kind == Operation::reduce_scatter;
  const size_t most = Segment::kExchangeBytes / width / (scatters ? static_cast<size_t>(size) : 1);
  for (size_t done = 0; done < operation.count;) {
    const size_t count = std::min(most, operation.count - done);
    if (!exchange_piece(operation, done, count)) return;
    done += count;
  }
}

bool Communicator::exchange_piece(const Operation& operation, size_t done, size_t count) {
  const size_t width = size_of(operation.type), bytes = count * width, whole = operation.count * width;
  const auto write = [&](std::byte* own) { give(operation, own, done * width, bytes); };
  const auto read = [&] {
    const auto ranks = static_cast<size_t>(size);
    switch (operation.kind) {
      case Operation::broadcast:
        std::memcpy(device_memory(operation.to, whole) + done * width, segment_->exchange(operation.peer),
                    bytes);
        break;
      case Operation::all_gather:
        for (size_t each = 0; each < ranks; ++each)
          std::memcpy(device_memory(operation.to, whole * ranks) + each * whole + done * width,
                      segment_->exchange(static_cast<int>(each)), bytes);
        break;
      default: {
        if (operation.kind == Operation::reduce && operation.peer != rank) break;
        const size_t offset =
            operation.kind == Operation::reduce_scatter ? static_cast<size_t>(rank) * bytes : 0;
        reduce(operation.type, operation.op, device_memory(operation.to, whole) + done * width, parts(offset),
               count);
      }
    }
  };
  return round(signature_of(operation), write, read);
}

/// This rank's part of the piece: for a scatter the pieces of all ranks, one behind the other.
void Communicator::give(const Operation& operation, std::byte* own, size_t offset, size_t bytes) {
  if (operation.kind == Operation::broadcast && operation.peer != rank) return;
  const size_t whole = operation.count * size_of(operation.type);
  const size_t pieces = operation.kind == Operation::reduce_scatter ? static_cast<size_t>(size) : 1;
  const std::byte* from = device_memory(operation.from, whole * pieces);
  for (size_t each = 0; each < pieces; ++each)
    std::memcpy(own + each * bytes, from + each * whole + offset, bytes);
  scaled(operation, own, pieces * bytes / size_of(operation.type));
}

/// Moves what there is room for, or what has come. True: something moved.
bool Communicator::move(const Operation& operation, size_t& done) {
  const size_t whole = operation.count * size_of(operation.type);
  const bool sends = operation.kind == Operation::send;
  Channel& channel =
      sends ? segment_->channel(rank, operation.peer) : segment_->channel(operation.peer, rank);
  const uint64_t there = channel.written - channel.read;
  const uint64_t at = (sends ? channel.written : channel.read) % Channel::kBytes;
  const size_t room = sends ? Channel::kBytes - there : there;
  const size_t bytes = std::min({whole - done, room, Channel::kBytes - at});
  if (!bytes) return false;
  const void* memory = sends ? operation.from : operation.to;
  std::byte* const place = device_memory(memory, whole) + done;
  std::memcpy(sends ? channel.bytes + at : place, sends ? place : channel.bytes + at, bytes);
  (sends ? channel.written : channel.read) += bytes;
  done += bytes;
  return true;
}

/// Of several messages to or from the same rank the earlier ones go first.
void Communicator::messages(const std::vector<Operation>& operations) {
  std::vector<size_t> done(operations.size(), 0);
  const auto finished = [&](size_t index) {
    return done[index] == operations[index].count * size_of(operations[index].type);
  };
  const auto first = [&](size_t index) {
    for (size_t earlier = 0; earlier < index; ++earlier)
      if (operations[earlier].kind == operations[index].kind &&
          operations[earlier].peer == operations[index].peer && !finished(earlier))
        return false;
    return true;
  };
  for (bool open = true; open;) {
    open = false;
    bool moved = false;
    for (size_t each = 0; each < operations.size(); ++each) {
      if (finished(each)) continue;
      moved |= first(each) && move(operations[each], done[each]);
      open |= !finished(each);
    }
    if (moved) segment_->wake();
    if (moved || !open) continue;
    const bool more = segment_->wait(aborted_, [&] {
      for (size_t each = 0; each < operations.size(); ++each)
        if (!finished(each) && first(each) && move(operations[each], done[each])) return true;
      return false;
    });
    if (!more) return;
    segment_->wake();
  }
}

}  // namespace jitc::fakes
