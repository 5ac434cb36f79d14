// The record that the fakes keep of every call, and the failures that a test asks for. Used by all fakes.
// Promises: one JSON line per call, written with one write(2) when the call returns (lines of several
// processes never mix); a failure asked for happens at exactly the call that was named. See
// tests/fakes/README.md.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace jitc::fakes {

/// One argument or result in a line of the log.
struct Field {
  enum class Kind { number, address, text, bytes, real };
  const char* name;
  Kind kind;
  uint64_t number = 0;
  const void* data = nullptr;
  double fraction = 0;

  static Field count(const char* name, uint64_t value) { return {name, Kind::number, value}; }
  static Field address(const char* name, uint64_t value) { return {name, Kind::address, value}; }
  static Field address(const char* name, const void* value) {
    return {name, Kind::address, reinterpret_cast<uint64_t>(value)};
  }
  static Field text(const char* name, const char* value) { return {name, Kind::text, 0, value}; }
  static Field bytes(const char* name, const void* data, size_t size) {
    return {name, Kind::bytes, size, data};
  }
  static Field real(const char* name, double value) { return {name, Kind::real, 0, nullptr, value}; }
};

/// What of the process's environment a library of NVIDIA's might read, and what must not get here: a line
/// each.
std::string environment_seen();

/// The line of one call. Numbers calls in the process from 1; costs next to nothing when there is no log.
class CallLine {
 public:
  CallLine(const char* library, const char* function);
  uint64_t id() const { return id_; }
  void add(const Field& field);
  void finish(int result);

 private:
  uint64_t id_;
  std::string text_;
};

/// A line for work of the call `call` that a stream has now begun to run.
void log_run(const char* what, uint64_t stream, uint64_t call);

constexpr int kNoFailure = 0, kHang = -1;
/// What the test asked for this call of the function: a result to return, kHang, or kNoFailure.
int asked_failure(const char* function);

}  // namespace jitc::fakes
