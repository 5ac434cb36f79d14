// Delays drawn at random (jitc-proxyd --shuffle): the device and the executor defer work with them, as far as
// CUDA allows.
//
// Promises: a draw is a function of the seed, the GPU and its subject (which choice, stream and sequence of
// the op), and of nothing else. So it does not depend on the thread that asks, nor on when, and a replay
// makes the same choices. Most draws are 0, none exceeds longest(). Constant and without state: any thread.
// Called by: Intake, the wing shuffle/ of the software device.
#pragma once
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace jitc {

class Shuffle {
 public:
  using Delay = std::chrono::microseconds;
  /// Kind of the deferred event: the op's read from the socket into the journal, its start on its stream, the
  /// second half of a copy or collective, the answer of an op, and a stream's progress.
  enum class Choice : uint8_t { reading, start, middle, answer, progress };

  /// Defers nothing.
  Shuffle() = default;
  /// Draws delays; seed 0: none. hang_seconds: of silence that is a fault; a delay is far shorter.
  Shuffle(uint64_t seed, uint32_t gpu, double hang_seconds)
      : key_(seed ? mix(mix(seed) + gpu + 1) | 1 : 0),
        longest_(hang_seconds > 0 ? std::min(kLongest, Delay(static_cast<int64_t>(hang_seconds * 1e6 / 16)))
                                  : kLongest) {}

  bool on() const { return key_ != 0; }
  Delay longest() const { return longest_; }

  Delay draw(Choice choice, uint64_t stream, uint64_t sequence) const {
    if (!on()) return Delay(0);
    const uint64_t drawn = mix(mix(mix(key_ + static_cast<uint64_t>(choice)) + stream) + sequence);
    const Chances& chances = kChances[static_cast<size_t>(choice)];
    const auto kind = static_cast<uint32_t>(drawn & 0xffff);
    const uint64_t amount = drawn >> 32;
    if (kind < chances.large) return within(amount, kSome, kLongest);
    if (kind < chances.large + chances.some) return within(amount, kBrief, kSome);
    if (kind < chances.large + chances.some + chances.brief) return within(amount, Delay(1), kBrief);
    return Delay(0);
  }

 private:
  /// Numbers of brief, longer and large delays among 65,536 draws; the others are 0.
  struct Chances {
    uint32_t brief, some, large;
  };
  static constexpr Delay kBrief{200}, kSome{2'000}, kLongest{20'000};
  static constexpr std::array<Chances, 5> kChances{{
      {1300, 200, 6},    // reading
      {2600, 800, 20},   // start
      {2600, 1000, 30},  // middle
      {2600, 650, 10},   // answer
      {2600, 650, 10},   // progress
  }};

  /// Mixes by the finalizer of SplitMix64: neighbours come out unrelated.
  static constexpr uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }
  Delay within(uint64_t amount, Delay least, Delay most) const {
    const auto width = static_cast<uint64_t>((most - least).count()) + 1;
    return std::min(longest_, least + Delay(static_cast<int64_t>(amount % width)));
  }

  uint64_t key_ = 0;
  Delay longest_{0};
};

}  // namespace jitc
