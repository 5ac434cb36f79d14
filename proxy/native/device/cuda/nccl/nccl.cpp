// See nccl.h.
#include "nccl.h"

#include <dlfcn.h>

#include <map>
#include <memory>
#include <mutex>

#include "device/cuda/driver/error.h"

namespace jitc::cuda {
namespace {
std::string version_text(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

/// Loader of symbols, until one is missing.
class Loader {
 public:
  explicit Loader(void* library) : library_(library) {}
  template <class Function>
  Loader& get(Function*& out, const char* name) {
    out = reinterpret_cast<Function*>(dlsym(library_, name));
    if (!out && missing_.empty()) missing_ = name;
    return *this;
  }
  const std::string& missing() const { return missing_; }

 private:
  void* const library_;
  std::string missing_;
};
}  // namespace

bool Nccl::load(void* library, std::string& error) {
  Loader loader(library);
  loader.get(get_version, "ncclGetVersion")
      .get(get_unique_id, "ncclGetUniqueId")
      .get(init_rank, "ncclCommInitRankConfig")
      .get(async_error, "ncclCommGetAsyncError")
      .get(finalize, "ncclCommFinalize")
      .get(destroy, "ncclCommDestroy")
      .get(abort, "ncclCommAbort")
      .get(error_string, "ncclGetErrorString")
      .get(last_error, "ncclGetLastError")
      .get(group_start, "ncclGroupStart")
      .get(group_end, "ncclGroupEnd")
      .get(premul_create, "ncclRedOpCreatePreMulSum")
      .get(premul_destroy, "ncclRedOpDestroy");
  loader.get(all_reduce, "ncclAllReduce")
      .get(reduce, "ncclReduce")
      .get(reduce_scatter, "ncclReduceScatter")
      .get(broadcast, "ncclBroadcast")
      .get(all_gather, "ncclAllGather")
      .get(send, "ncclSend")
      .get(receive, "ncclRecv");
  if (!loader.missing().empty()) return error = "it lacks " + loader.missing(), false;
  if (get_version(&version) != kNcclSuccess) return error = "it does not tell its version", false;
  if (version < kOldest)
    return error = "it is version " + version_text(version) + ", needed is " + version_text(kOldest), false;
  return true;
}

const Nccl* Nccl::open(const std::string& path, std::string& error) {
  static std::mutex mutex;
  static auto& tables = *new std::map<std::string, std::unique_ptr<const Nccl>>;
  const std::lock_guard lock(mutex);
  if (path.empty()) return error = "there is no NCCL library", nullptr;
  if (const auto found = tables.find(path); found != tables.end()) return found->second.get();
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return error = "NCCL cannot be opened: " + std::string(dlerror()), nullptr;
  std::unique_ptr<Nccl> table(new Nccl);
  if (!table->load(library, error)) return error = path + " cannot be used as NCCL: " + error, nullptr;
  return (tables[path] = std::move(table)).get();
}

std::string Nccl::explain(int result, NcclComm comm) const {
  const char* const what = error_string(result);
  const char* const detail = last_error(comm);
  std::string text = "NCCL: " + std::string(what ? what : "unknown result");
  if (detail && *detail) text += " (" + std::string(detail) + ")";
  return text;
}

void refuse_nccl(const Nccl& nccl, int result, NcclComm comm) {
  if (!unhealthy(result)) return;
  const std::string text = nccl.explain(result, comm);
  switch (result) {
    case kNcclInvalidArgument:
    case kNcclInvalidUsage:
      refuse_value(text);
    case kNcclUnhandledCudaError:
      refuse(kUnknown, "sticky-error",
             text);  // NCCL does not say which; the context may be damaged
    default:
      refuse(kUnknown, "collective-error", text);
  }
}

}  // namespace jitc::cuda
