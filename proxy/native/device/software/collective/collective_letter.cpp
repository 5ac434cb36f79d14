// Send and receive: a byte stream per ordered pair of ranks, through a ring in the segment.
//
// Each message starts with a head that the receiver compares with what it expects. Messages larger than the
// ring go through in parts.
#include <algorithm>
#include <cstring>

#include "collective_run.h"
#include "device/software/arithmetic/reduce.h"
#include "device/software/errors/error.h"

namespace jitc::software {
namespace {
struct Head {
  uint64_t count;
  uint32_t dtype, reserved;
};

class LetterRun : public Run {
 public:
  LetterRun(const Call& call, const Communicator& communicator, uint32_t from, uint32_t to)
      : call_(call),
        communicator_(communicator),
        segment_(communicator.segment()),
        mailbox_(segment_.mailbox(from, to)),
        letters_(segment_.letters(mailbox_)),
        bytes_(call.item.count * call.width) {}
  bool done() const final { return headed_ && moved_ == bytes_; }
  Call& call() final { return call_; }
  uint64_t steps() const final { return headed_ + moved_; }  // the head is one step, each byte is one

 protected:
  /// Calls copy(part of the ring, offset, bytes) for up to bytes from position on, around the ring's end.
  template <class Copy>
  void around(uint64_t position, uint64_t bytes, Copy copy) const {
    const uint64_t size = segment_.mailbox_size(), at = position % size,
                   straight = std::min(bytes, size - at);
    copy(letters_ + at, uint64_t{0}, straight);
    if (straight < bytes) copy(letters_, straight, bytes - straight);
  }
  void tell_peer() const {
    if (call_.item.peer != static_cast<int32_t>(communicator_.rank()))
      segment_.ring(static_cast<uint32_t>(call_.item.peer));
  }

  Call call_;
  const Communicator& communicator_;
  const Segment& segment_;
  Mailbox& mailbox_;
  std::byte* const letters_;
  const uint64_t bytes_;
  uint64_t moved_ = 0;
  bool headed_ = false;
};

class Send final : public LetterRun {
 public:
  Send(const Call& call, const Communicator& communicator)
      : LetterRun(call, communicator, communicator.rank(), static_cast<uint32_t>(call.item.peer)) {}
  bool advance_within(uint64_t most) override {
    const uint64_t written = mailbox_.written.load();
    const uint64_t space = segment_.mailbox_size() - (written - mailbox_.read.load());
    uint64_t put = 0;
    if (!headed_) {
      if (space < sizeof(Head)) return false;
      const Head head{call_.item.count, call_.item.dtype, 0};
      write(written, reinterpret_cast<const std::byte*>(&head), sizeof head);
      put = sizeof head;
      headed_ = true;
    }
    const uint64_t body = std::min({space - put, bytes_ - moved_, most - (put ? 1 : 0)});
    if (body) write(written + put, call_.send + moved_, body);
    moved_ += body;
    if (put + body == 0) return false;
    mailbox_.written.store(written + put + body);
    tell_peer();
    return true;
  }

 private:
  void write(uint64_t position, const std::byte* from, uint64_t bytes) const {
    around(position, bytes,
           [&](std::byte* ring, uint64_t at, uint64_t part) { std::memcpy(ring, from + at, part); });
  }
};

class Receive final : public LetterRun {
 public:
  Receive(const Call& call, const Communicator& communicator)
      : LetterRun(call, communicator, static_cast<uint32_t>(call.item.peer), communicator.rank()) {}
  bool advance_within(uint64_t most) override {
    uint64_t read_to = mailbox_.read.load();
    uint64_t there = mailbox_.written.load() - read_to, got = 0;
    if (!headed_) {
      if (there < sizeof(Head)) return false;
      Head head;
      read(read_to, reinterpret_cast<std::byte*>(&head), sizeof head);
      compare(head);
      got = sizeof head;
      headed_ = true;
    }
    const uint64_t body = std::min({there - got, bytes_ - moved_, most - (got ? 1 : 0)});
    if (body) read(read_to + got, call_.receive + moved_, body);
    moved_ += body;
    if (got + body == 0) return false;
    mailbox_.read.store(read_to + got + body);
    tell_peer();
    return true;
  }

 private:
  void read(uint64_t position, std::byte* to, uint64_t bytes) const {
    around(position, bytes,
           [&](std::byte* ring, uint64_t at, uint64_t part) { std::memcpy(to + at, ring, part); });
  }
  void compare(const Head& head) const {
    if (head.count == call_.item.count && head.dtype == call_.item.dtype) return;
    refuse(kLaunchFailure, "collective-mismatch",
           "rank " + std::to_string(communicator_.rank()) + " receives " + std::to_string(call_.item.count) +
               " " + dtype_name(call_.item.dtype) + " from rank " + std::to_string(call_.item.peer) +
               ", which sends " + std::to_string(head.count) + " " + dtype_name(head.dtype));
  }
};
}  // namespace

std::unique_ptr<Run> make_letter_run(const Call& call, const Communicator& communicator) {
  if (call.kind() == ops::CollectiveKind::send) return std::make_unique<Send>(call, communicator);
  return std::make_unique<Receive>(call, communicator);
}

}  // namespace jitc::software
