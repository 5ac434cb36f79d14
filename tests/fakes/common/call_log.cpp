// See call_log.h.
#include "call_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace jitc::fakes {
namespace {
constexpr size_t kBytesShown = 4096;

int log_file() {
  static const int file = [] {
    const char* path = std::getenv("JITC_FAKE_LOG");
    return path && *path ? ::open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644) : -1;
  }();
  return file;
}

std::string number(const char* format, uint64_t value) {
  char text[32];
  const int size = std::snprintf(text, sizeof text, format, static_cast<unsigned long long>(value));
  return {text, static_cast<size_t>(size)};
}

std::string quoted(const char* text) {
  std::string out = "\"";
  for (; text && *text; ++text) {
    if (*text == '"' || *text == '\\')
      (out += '\\') += *text;
    else if (static_cast<unsigned char>(*text) < 0x20)
      out += number("\\u%04llx", static_cast<unsigned char>(*text));
    else
      out += *text;
  }
  return out += '"';
}

std::string hex(const void* data, size_t size) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "\"";
  for (size_t at = 0; at < size && at < kBytesShown; ++at) {
    const auto byte = static_cast<const unsigned char*>(data)[at];
    (out += kDigits[byte >> 4]) += kDigits[byte & 15];
  }
  return out += '"';
}

std::string value_of(const Field& field) {
  switch (field.kind) {
    case Field::Kind::number:
      return number("%llu", field.number);
    case Field::Kind::address:
      return number("\"0x%llx\"", field.number);
    case Field::Kind::text:
      return quoted(static_cast<const char*>(field.data));
    case Field::Kind::bytes:
      return hex(field.data, field.number);
    case Field::Kind::real:
      break;
  }
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", field.fraction);
  return text;
}

void write_line(const std::string& line) {
  if (::write(log_file(), line.data(), line.size()) < 0) std::perror("JITC_FAKE_LOG");
}

std::string begin_line(const char* key, const char* what) {
  return std::string("{\"pid\":") + number("%llu", static_cast<uint64_t>(::getpid())) + ",\"" + key +
         "\":" + quoted(what);
}
}  // namespace

std::string environment_seen() {
  static constexpr std::string_view kBeginnings[] = {"NCCL_",   "CUDA_", "CUBLAS", "CUDNN_",
                                                     "NVIDIA_", "LD_",   "PYTHON", "PATH="};
  std::string seen;
  for (char** one = ::environ; *one; ++one)
    for (const std::string_view beginning : kBeginnings)
      if (std::string_view(*one).starts_with(beginning)) (seen += *one) += '\n';
  return seen;
}

CallLine::CallLine(const char* library, const char* function) {
  static std::atomic<uint64_t> calls{0};
  id_ = ++calls;
  if (log_file() < 0) return;
  text_ = begin_line("call", function) + ",\"library\":" + quoted(library) +
          ",\"id\":" + number("%llu", id_) + ",\"thread\":" + number("%llu", ::gettid()) + ",\"args\":{";
}

void CallLine::add(const Field& field) {
  if (text_.empty()) return;
  if (text_.back() != '{') text_ += ',';
  text_ += quoted(field.name) + ":" + value_of(field);
}

void CallLine::finish(int result) {
  if (text_.empty()) return;
  text_ += "},\"result\":" + std::to_string(result) + "}\n";
  write_line(text_);
}

void log_run(const char* what, uint64_t stream, uint64_t call) {
  if (log_file() < 0) return;
  write_line(begin_line("run", what) + ",\"stream\":" + number("\"0x%llx\"", stream) +
             ",\"of\":" + number("%llu", call) + "}\n");
}

}  // namespace jitc::fakes
