// The C interface (bridge_api.h). No exception leaves it: a failure is a negative value and a text.
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "bridge.h"
#include "jitc/bridge_api.h"

struct jitc_bridge {
  explicit jitc_bridge(const char* path) : bridge(path) {}
  jitc::bridge::Bridge bridge;
};

namespace {
thread_local std::string message;

template <class Work>
auto guarded(Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    message = "out of host memory";
  } catch (const std::exception& error) {
    message = error.what();
  } catch (...) {
    message = "unknown failure";
  }
  return static_cast<decltype(work())>(-1);
}

template <class Work>
int done(Work work) {
  return guarded([&] { return work(), 0; });
}
}  // namespace

extern "C" {

jitc_bridge* jitc_bridge_create(const char* board_path) {
  jitc_bridge* made = nullptr;
  done([&] { made = new jitc_bridge(board_path ? board_path : ""); });
  return made;
}

void jitc_bridge_destroy(jitc_bridge* bridge) {
  done([&] { delete bridge; });
}

const char* jitc_bridge_message(void) { return message.c_str(); }

int jitc_bridge_link(jitc_bridge* bridge, const char* description_json) {
  return done([&] { bridge->bridge.link(description_json); });
}

int jitc_bridge_unlink(jitc_bridge* bridge, uint64_t link) {
  return done([&] { bridge->bridge.unlink(link); });
}

int jitc_bridge_mirror(jitc_bridge* bridge, const char* document_json) {
  return done([&] { bridge->bridge.mirror(document_json); });
}

int64_t jitc_bridge_collect(jitc_bridge* bridge, uint32_t peer, uint8_t* out, size_t room, int timeout_ms) {
  return guarded([&] {
    return static_cast<int64_t>(
        bridge->bridge.collect(peer, {reinterpret_cast<std::byte*>(out), room}, timeout_ms));
  });
}

int jitc_bridge_apply(jitc_bridge* bridge, uint32_t peer, const uint8_t* bytes, size_t size) {
  return done([&] { bridge->bridge.apply(peer, {reinterpret_cast<const std::byte*>(bytes), size}); });
}

int jitc_bridge_cut(jitc_bridge* bridge, uint32_t peer, const char* why) {
  return done([&] { bridge->bridge.cut(peer, why); });
}

int jitc_bridge_counters(jitc_bridge* bridge, char** reply_json) {
  return done([&] {
    *reply_json = nullptr;
    *reply_json = strdup(bridge->bridge.counters().c_str());
    if (!*reply_json) throw std::bad_alloc();
  });
}

void jitc_bridge_release(char* document) { std::free(document); }

}  // extern "C"
