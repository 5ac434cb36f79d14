// CUDA's order by clocks: a second opinion on what is known of streams, and random programs to compare the
// two.
#pragma once
#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "session/progress/stream_progress.h"

namespace jitc::test {

using session::Reach;
using session::StreamProgress;

constexpr uint64_t kLegacy = 0, kA = 0x101, kB = 0x102, kC = 0x103, kEvent = 0x201, kOther = 0x202;

/// Gives ops as a session does, and remembers what each will show.
class Process {
 public:
  template <class Op>
  uint64_t give(Op op, uint64_t stream = kLegacy) {
    op.header.op = static_cast<uint16_t>(Op::kId);
    op.header.stream = stream;
    op.header.sequence = shows_.size();
    shows_.push_back(progress.submit(op.header));
    return shows_.size() - 1;
  }
  uint64_t create(uint64_t stream, bool blocking = false) {
    ops::StreamCreate op;
    op.handle = stream;
    op.flags = blocking ? 0 : 1;
    return give(op);
  }
  uint64_t destroy(uint64_t stream) {
    ops::StreamDestroy op;
    op.handle = stream;
    return give(op);
  }
  uint64_t work(uint64_t stream) { return give(ops::Fill{}, stream); }
  uint64_t read(uint64_t stream) { return give(ops::CopyD2h{}, stream); }
  uint64_t record(uint64_t event, uint64_t stream) { return give(with<ops::EventRecord>(event), stream); }
  uint64_t wait(uint64_t event, uint64_t stream) { return give(with<ops::EventWait>(event), stream); }
  uint64_t synchronize_event(uint64_t event) { return give(with<ops::EventSynchronize>(event)); }
  uint64_t synchronize(uint64_t stream) { return give(ops::StreamSynchronize{}, stream); }

  void succeeded(uint64_t sequence) { progress.advance(shows_.at(sequence)); }
  void reported(uint64_t stream, uint64_t sequence) {
    progress.advance({Reach::Of::stream, stream, sequence});
  }
  bool done(uint64_t stream, uint64_t sequence) const { return progress.executed(stream, sequence); }
  bool idle(uint64_t stream) const { return done(stream, progress.submitted(stream)); }

  StreamProgress progress;

 private:
  template <class Op>
  static Op with(uint64_t event) {
    Op op;
    op.event = event;
    return op;
  }
  std::vector<Reach> shows_{{}};  // sequences begin at 1
};

// -- a second opinion: for each op, all that has run when it has ------------------------------------

using Clock = std::map<uint64_t, uint64_t>;  // stream -> everything up to this sequence

void join(Clock& into, const Clock& other) {
  for (const auto& [stream, sequence] : other) into[stream] = std::max(into[stream], sequence);
}

/// CUDA's order by clocks, without a thought for what it costs.
class Model {
 public:
  std::map<uint64_t, uint64_t> blocking;                // stream -> op that created it
  std::map<uint64_t, Clock> streams, events;            // as of now
  std::vector<std::pair<uint64_t, uint64_t>> all_work;  // stream, sequence
  std::map<uint64_t, Clock> past;                       // of work
  Clock known;

  Clock work(uint64_t stream, uint64_t sequence) {
    Clock& own = streams[stream];
    if (stream == kLegacy)
      for (const auto& [other, created] : blocking) join(own, streams[other]);
    const auto found = blocking.find(stream);
    if (found != blocking.end() && newest(kLegacy) > found->second) join(own, streams[kLegacy]);
    own[stream] = sequence;
    all_work.emplace_back(stream, sequence);
    return past[sequence] = own;
  }
  Clock synchronized(uint64_t stream) {
    Clock all = streams[stream];
    if (stream == kLegacy)
      for (const auto& [other, created] : blocking) join(all, streams[other]);
    return all;
  }
  Clock everything() {
    Clock all;
    for (const auto& [stream, clock] : streams) join(all, clock);
    return all;
  }
  uint64_t newest(uint64_t stream) { return streams[stream][stream]; }
};

/// A random program; what may be known at some time is known, and nothing else.
class RandomProgram {
 public:
  explicit RandomProgram(uint32_t seed) : random_(seed) {
    create(kA, true);
    create(kB, true);
    create(kC, false);
    create(kC + 1, false);
  }
  std::string run(int ops) {
    for (int i = 0; i < ops; ++i) {
      step();
      if (std::string wrong = compare(); !wrong.empty()) return wrong;
    }
    return {};
  }

 private:
  uint64_t pick(uint64_t count) { return random_() % count; }
  uint64_t stream() { return streams_[pick(streams_.size())]; }
  static uint64_t event_of(uint64_t which) { return kEvent + which; }

  void create(uint64_t handle, bool blocking) {
    const uint64_t sequence = process_.create(handle, blocking);
    if (blocking) model_.blocking[handle] = sequence;
    streams_.push_back(handle);
  }
  void note(uint64_t result, Clock past) { results_.emplace_back(result, std::move(past)); }

  void step() {
    const uint64_t event = event_of(pick(4)), on = stream();
    switch (pick(10)) {
      case 0:
      case 1:
        model_.work(on, process_.work(on));
        return;
      case 2:
        model_.events[event] = model_.work(on, process_.record(event, on));
        return;
      case 3:
      case 4: {
        const uint64_t sequence = process_.wait(event, on);
        join(model_.streams[on], model_.events[event]);
        model_.work(on, sequence);
        return;
      }
      case 5: {
        const uint64_t sequence = process_.read(on);
        note(sequence, model_.work(on, sequence));
        return;
      }
      case 6:
        note(process_.synchronize(on), model_.synchronized(on));
        return;
      case 7:
        note(process_.synchronize_event(event), model_.events[event]);
        return;
      case 8:
        return rare();
      default:
        return learn();
    }
  }
  void rare() {
    if (pick(20) == 0) note(process_.give(ops::DeviceSynchronize{}), model_.everything());
    if (pick(10) != 0) return;
    const uint64_t gone = streams_[1 + pick(streams_.size() - 1)];
    process_.destroy(gone);
    std::erase(streams_, gone);
    model_.blocking.erase(gone);
    create(next_++, pick(2) != 0);
  }
  /// A result of an op that gives one, or progress of a stream.
  void learn() {
    if (!results_.empty() && pick(2)) {
      const auto& [result, past] = results_[pick(results_.size())];
      process_.succeeded(result);
      join(model_.known, past);
    } else if (!model_.all_work.empty()) {
      const auto& [on, sequence] = model_.all_work[pick(model_.all_work.size())];
      process_.reported(on, sequence);
      join(model_.known, model_.past[sequence]);
    }
  }
  std::string compare() const {
    for (const auto& [on, sequence] : model_.all_work) {
      const auto found = model_.known.find(on);
      const bool known = found != model_.known.end() && found->second >= sequence;
      if (process_.done(on, sequence) != known)
        return "op " + std::to_string(sequence) + " of stream " + std::to_string(on) +
               (known ? " has run, and that is not known" : " is said to have run");
    }
    return {};
  }

  std::mt19937 random_;
  Process process_;
  Model model_;
  std::vector<uint64_t> streams_{kLegacy};
  std::vector<std::pair<uint64_t, Clock>> results_;  // ops that give one, and what has run when it is there
  uint64_t next_ = kC + 2;
};

}  // namespace jitc::test
