// Lines of a worker where its standard error is no file: they wait for no reader, and end no process.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <functional>
#include <string>

#include "cases.h"
#include "device/standard_error.h"

namespace jitc::test {
namespace {
constexpr int kLines = 2000;
const std::string kName = "jitc-worker: ";

struct Ends {
  int reader = -1, writer = -1;
};

Ends made_pipe(int bytes = 4096) {
  std::array<int, 2> ends{};
  CHECK_EQUAL(::pipe(ends.data()), 0);
  CHECK(::fcntl(ends[1], F_SETPIPE_SZ, bytes) > 0);
  return {ends[0], ends[1]};
}

Ends pair_of_sockets() {
  std::array<int, 2> ends{};
  CHECK_EQUAL(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  return {ends[0], ends[1]};
}

/// Standard error is this, while it lives.
class In {
 public:
  explicit In(int descriptor) { ::dup2(descriptor, STDERR_FILENO); }
  ~In() { ::dup2(before_, STDERR_FILENO), ::close(before_); }
  In(const In&) = delete;
  In& operator=(const In&) = delete;

 private:
  const int before_ = ::dup(STDERR_FILENO);
};

std::string read_now(int descriptor) {
  CHECK_EQUAL(::fcntl(descriptor, F_SETFL, O_NONBLOCK), 0);
  std::string got(1 << 20, 0);
  const ssize_t size = ::read(descriptor, got.data(), got.size());
  CHECK(size >= 0);
  got.resize(static_cast<size_t>(size));
  return got;
}

/// As much as nobody reads; returns what there was room for.
std::string say_very_much(const Ends& ends) {
  {
    const In in(ends.writer);
    for (int line = 0; line < kLines; ++line) say("GPU %d: %s", 3, std::string(99, 'x').c_str());
  }
  CHECK_EQUAL(::fcntl(ends.writer, F_GETFL) & O_NONBLOCK, 0);  // it is others' as well
  return read_now(ends.reader);
}

void check_lines(const std::string& got) {
  const std::string line = kName + "GPU 3: " + std::string(99, 'x') + "\n";
  CHECK(got.size() > 10 * line.size() && got.size() < kLines * line.size());
  CHECK(got.starts_with(line + line));
}

void check_gone(const Ends& ends) {
  ::close(ends.reader);
  const In in(ends.writer);
  struct sigaction by_default{};
  by_default.sa_handler = SIG_DFL;
  CHECK_EQUAL(::sigaction(SIGPIPE, &by_default, nullptr), 0);
  for (int line = 0; line < 3; ++line) say("nobody reads");
  sigset_t blocked;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  CHECK_EQUAL(sigismember(&blocked, SIGPIPE), 0);
}

/// No descriptor is left to open one's own with, nor can another user's pipe be opened.
void without_descriptors(const std::function<void()>& body) {
  rlimit before{}, none{};
  CHECK_EQUAL(::getrlimit(RLIMIT_NOFILE, &before), 0);
  none = {3, before.rlim_max};
  CHECK_EQUAL(::setrlimit(RLIMIT_NOFILE, &none), 0);
  body();
  CHECK_EQUAL(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace

CASE(standard_error_is_a_pipe_that_nobody_reads) { check_lines(say_very_much(made_pipe())); }

CASE(standard_error_is_a_socket_that_nobody_reads) { check_lines(say_very_much(pair_of_sockets())); }

CASE(standard_error_is_a_pipe_that_cannot_be_opened_again) {
  const Ends ends = made_pipe(1 << 16);  // with one page there is room for a line only
  {
    const In in(ends.writer);
    without_descriptors([] {
      for (int line = 0; line < kLines; ++line) say("GPU %d: %s", 3, std::string(99, 'x').c_str());
    });
  }
  check_lines(read_now(ends.reader));
}

CASE(standard_error_is_a_pipe_whose_reader_is_gone) { check_gone(made_pipe()); }

CASE(standard_error_is_a_socket_whose_reader_is_gone) { check_gone(pair_of_sockets()); }

CASE(standard_error_is_a_pipe_whose_reader_is_gone_and_cannot_be_opened_again) {
  const Ends ends = made_pipe();
  ::close(ends.reader);
  const In in(ends.writer);
  without_descriptors([] { say("nobody reads"); });
}

CASE(standard_error_is_closed) {
  const In in(STDERR_FILENO);
  ::close(STDERR_FILENO);
  say("nowhere");
}

CASE(standard_error_is_a_file) {
  const int file = ::fileno(std::tmpfile());
  const std::string long_one(5000, 'y');
  {
    const In in(file);
    say("one");
    say("%s", long_one.c_str());
    say("%d %%", 100);
  }
  CHECK_EQUAL(::lseek(file, 0, SEEK_SET), 0);
  std::string got(1 << 16, 0);
  got.resize(static_cast<size_t>(::read(file, got.data(), got.size())));
  const std::string cut = (kName + long_one).substr(0, 1022);
  CHECK_EQUAL(got, kName + "one\n" + cut + "\n" + kName + "100 %\n");
}

}  // namespace jitc::test
