// An injected fault breaks all sessions of its process, from a thread of one of them. Meanwhile that session
// is closed, or the executor destroyed: neither may be over before, or make that thread the one that ends its
// own session.
//
// The moment is forced. When the fault fires, the page of the session's board in which it rings the doorbell
// is closed to writing: so its thread stops in the handler of SIGSEGV, in the middle of what is tested, until
// the main thread has come back or sleeps. Prints what is wrong. Run by
// tests/unit/executor/control/test_teardown.py.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "base/shared/board.h"
#include "jitc/executor_api.h"
#include "jitc/generated_ops.h"

namespace jitc {
namespace {
constexpr auto kLook = std::chrono::milliseconds(1);
constexpr uint64_t kBytes = 16u << 20, kLimitSeconds = 30, kBellPage = JobBoard::kDoorbell;
static_assert(kBellPage % 4096 == 0);

std::byte* bell_page = nullptr;
pid_t main_thread = 0;
std::atomic<bool> fired{false}, stopped{false}, released{false};

void require(bool right, const std::string& what) {
  if (right) return;
  std::printf("%s\n", what.c_str());
  std::fflush(stdout);
  std::_Exit(1);
}

pid_t this_thread() { return static_cast<pid_t>(syscall(SYS_gettid)); }

void until(const std::function<bool()>& condition, const char* what) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(kLimitSeconds);
  while (!condition()) {
    require(std::chrono::steady_clock::now() < end, std::string("not in time: ") + what);
    std::this_thread::sleep_for(kLook);
  }
}

void set_bell(bool writable) {
  require(mprotect(bell_page, 4096, writable ? PROT_READ | PROT_WRITE : PROT_READ) == 0, "mprotect");
}

/// Of the executor's thread: waits. Of the main one, which rings as well: lets it through.
void on_bell(int, siginfo_t* info, void*) {
  if (info->si_addr < bell_page || info->si_addr >= bell_page + 4096) _exit(3);
  if (this_thread() != main_thread) {
    stopped = true;
    const timespec look{0, 1'000'000};
    while (!released) nanosleep(&look, nullptr);
  }
  set_bell(true);
}

/// Called by the thread whose op the fault fires at, right before it breaks the sessions.
void on_fired(uint64_t, const char*) {
  set_bell(false);
  fired = true;
}
void on_fault(uint64_t, uint64_t, uint32_t, const char*, const char*) {}

/// Where the executor has mapped the memory.
std::byte* mapping_of(const std::string& name) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("/memfd:" + name) != std::string::npos)
      return reinterpret_cast<std::byte*>(std::stoull(line.substr(0, line.find('-')), nullptr, 16));
  return nullptr;
}

std::string memory(const char* name, uint64_t bytes) {
  const int fd = memfd_create(name, 0);
  require(fd >= 0 && ftruncate(fd, static_cast<off_t>(bytes)) == 0, "memfd");
  return "/proc/self/fd/" + std::to_string(fd);
}

std::string session_request() {
  const char* const said = std::getenv("JITC_TEST_BASE");
  const uint64_t base = said ? std::stoull(said, nullptr, 16) : 0x2000'0000'0000;
  return R"({"session": 1, "slot": 0, "journal_path": ")" + memory("teardown-journal", kBytes) +
         R"(", "journal_bytes": )" + std::to_string(kBytes) + R"(, "snapshot_path": ")" +
         memory("teardown-snapshot", kBytes) + R"(", "snapshot_bytes": )" + std::to_string(kBytes) +
         R"(, "board_path": ")" + memory("teardown-board", Board::kBytes) + R"(", "address_base": )" +
         std::to_string(base) + R"(, "address_bytes": )" + std::to_string(uint64_t{1} << 32) + "}";
}

void check(int code, const char* what) {
  require(code >= 0, std::string(what) + ": " + jitc_executor_message());
}

void command(jitc_executor* executor, const char* method, const char* request) {
  char* reply = nullptr;
  check(jitc_executor_command(executor, method, request, &reply), method);
  jitc_executor_release(reply);
}

/// One op, at which the fault fires.
void submit(jitc_executor* executor) {
  ops::DeviceSynchronize op;
  op.header = {sizeof op, static_cast<uint16_t>(ops::OpId::device_synchronize), 0, 0, 1};
  uint8_t message[2 + sizeof op] = {0x0a, sizeof op};
  std::memcpy(message + 2, &op, sizeof op);
  check(jitc_session_submit(executor, 1, message, sizeof message), "submit");
}

bool sleeps(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const size_t name_end = text.rfind(')');
  return name_end != std::string::npos && text.compare(name_end + 2, 1, "S") == 0;
}

void run(bool destroys) {
  main_thread = this_thread();
  struct sigaction action{};
  action.sa_sigaction = on_bell;
  action.sa_flags = SA_SIGINFO;
  require(sigaction(SIGSEGV, &action, nullptr) == 0, "sigaction");

  const jitc_control control{nullptr, on_fault, on_fired};
  jitc_executor* const executor =
      jitc_executor_create(R"({"device": "software", "memory_limit": 1048576, "threads": 1})", &control);
  require(executor, jitc_executor_message());
  check(jitc_session_open(executor, session_request().c_str()), "open");
  bell_page = mapping_of("teardown-board");
  require(bell_page, "the board is not mapped");
  bell_page += kBellPage;
  check(static_cast<int>(jitc_session_attach(executor, 1, 0)), "attach");
  command(executor, "Arm", R"({"session": 1, "fault": {"kind": "sticky-error", "sequence": 1}})");
  submit(executor);
  until([] { return stopped.load(); }, "the fault breaks the session");

  std::atomic<bool> back{false};
  std::thread release([&] {
    until([&] { return back || sleeps(main_thread); }, "the main thread has come back, or waits");
    released = true;
  });
  if (destroys)
    jitc_executor_destroy(executor);
  else
    check(jitc_session_close(executor, 1), "close");
  back = true;
  require(released, "it was over while a thread was still about to break the session");
  release.join();
  if (!destroys) jitc_executor_destroy(executor);
  require(fired && stopped, "the fault did not fire");
}

}  // namespace
}  // namespace jitc

int main(int count, char** words) {
  const std::string what = count == 2 ? words[1] : "";
  jitc::require(what == "destroy" || what == "close", "usage: jitc_teardown_test destroy|close");
  jitc::run(what == "destroy");
}
