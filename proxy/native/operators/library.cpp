// libjitc_operators.so: the C interface (operators_api.h).
//
// Promise: no exception leaves it.
#include <c10/util/Exception.h>
#include <torch/version.h>

#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "operators/call/accesses.h"
#include "operators/call/reader.h"
#include "operators/noise.h"
#include "operators/placement.h"
#include "operators/run.h"

namespace jitc::operators {
namespace {

thread_local std::vector<uint8_t> reply_bytes;

int answer(jitc_operator_reply* reply, int status, std::string_view text) {
  reply_bytes.assign(text.begin(), text.end());
  *reply = {reply_bytes.data(), reply_bytes.size()};
  return status;
}

/// Returns the Python exception class that the training process would see ("IndexError: ...").
template <class Error>
int raised(jitc_operator_reply* reply, const char* kind, const Error& error) {
  return answer(reply, 1, std::string(kind) + error.what_without_backtrace());
}

/// Runs work, which writes its reply to reply_bytes.
template <class Work>
int guarded(const jitc_operator_host& host, jitc_operator_reply* reply, Work&& work) {
  try {
    const MemoryLimit limit(host.memory_limit);
    reply_bytes.clear();
    work();
    *reply = {reply_bytes.data(), reply_bytes.size()};
    return 0;
  } catch (const Malformed& error) {
    return answer(reply, 2, error.what());
  } catch (const AssertTriggered& error) {
    return answer(reply, 3, error.what());
  } catch (const c10::IndexError& error) {
    return raised(reply, "IndexError: ", error);
  } catch (const c10::ValueError& error) {
    return raised(reply, "ValueError: ", error);
  } catch (const c10::TypeError& error) {
    return raised(reply, "TypeError: ", error);
  } catch (const c10::NotImplementedError& error) {
    return raised(reply, "NotImplementedError: ", error);
  } catch (const c10::OutOfMemoryError& error) {
    return raised(reply, "OutOfMemoryError: ", error);
  } catch (const c10::LinAlgError& error) {
    return raised(reply, "LinAlgError: ", error);
  } catch (const c10::Error& error) {
    return raised(reply, "", error);
  } catch (const std::bad_alloc&) {
    return answer(reply, 1, "OutOfMemoryError: the worker has not enough memory for an operator");
  } catch (const std::exception& error) {
    return answer(reply, 1, error.what());
  } catch (...) {
    return answer(reply, 1, "the operator threw something that is not an exception");
  }
}

int call(const jitc_operator_host* host, const uint8_t* bytes, size_t size, jitc_operator_reply* reply) {
  return guarded(*host, reply, [&] { run_call(*host, {bytes, size}); });
}

int query(const jitc_operator_host* host, const uint8_t* bytes, size_t size, jitc_operator_reply* reply) {
  return guarded(*host, reply, [&] { run_query(*host, {bytes, size}, reply_bytes); });
}

int matmul(const jitc_operator_host* host, const void* op, size_t size, jitc_operator_reply* reply) {
  return guarded(*host, reply, [&] { run_matmul(*host, {static_cast<const uint8_t*>(op), size}); });
}

int accesses(const uint8_t* bytes, size_t size, int query, void* context,
             void (*take)(void*, const jitc_tensor_access*)) {
  try {
    list_accesses({bytes, size}, query != 0,
                  [=](const jitc_tensor_access& access) { take(context, &access); });
    return 0;
  } catch (...) {
    return 2;
  }
}

constexpr jitc_operators kTable{5, &set_threads, &call, &query, &matmul, &set_noise, &accesses};

}  // namespace
}  // namespace jitc::operators

/// Version text that the service reads without loading it (proxy/backends/software.py). Ends with a space.
extern "C" __attribute__((visibility("default"), used)) const char jitc_operators_built_for[] =
    "jitc operators built for PyTorch " TORCH_VERSION " ";

extern "C" const jitc_operators* jitc_operators_get(void) {
  try {
    jitc::operators::install_placement_allocator();
  } catch (...) {
    return nullptr;
  }
  return &jitc::operators::kTable;
}
