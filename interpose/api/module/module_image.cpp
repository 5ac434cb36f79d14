#include "module_image.h"

#include "api/common/handles.h"
#include "jitc/generated_ops.h"
#include "session/message.h"

namespace jitc::api {

const ImageHash& ModuleImage::hash() {
  std::call_once(hashed_, [this] { hash_ = hash_of(bytes_); });
  return hash_;
}

uint64_t ModuleImage::module_on(Session& session, int device, Status* why) {
  if (only_ != kAnyDevice && only_ != device) return *why = kInvalidResourceHandle, 0;
  OnDevice& here = devices_[static_cast<size_t>(device)];
  if (const uint64_t known = here.module.load(std::memory_order_acquire)) return known;
  const std::lock_guard making(here.latch);
  if (const uint64_t known = here.module.load(std::memory_order_acquire)) return known;
  const uint64_t module = new_handle(Kind::module);
  *why = load(session, module);
  if (*why) return 0;
  here.module.store(module, std::memory_order_release);
  return module;
}

Status ModuleImage::load(Session& session, uint64_t module) {
  if (bytes_.empty()) return kInvalidKernelImage;
  if (const Status status = bring_image(session, hash(), bytes_)) return status;
  ops::ModuleLoad op;
  op.module = module;
  op.hash = hash();
  op.bytes = bytes_.size();
  const session::Result result = session.call(op);
  if (result.status && !result.payload.empty())  // the device's reason, for jitc_last_message()
    session::set_last_message({reinterpret_cast<const char*>(result.payload.data()), result.payload.size()});
  return from_result(result.status);
}

void ModuleImage::unload() {
  for (int device = 0; device < kMaxDevices; ++device) {
    const uint64_t module = devices_[static_cast<size_t>(device)].module.exchange(0);
    Status ignored = kSuccess;
    Session* session = module ? session_of(device, &ignored) : nullptr;
    if (!session) continue;
    ops::ModuleUnload op;
    op.module = module;
    session->submit(op);  // a session that is over has nothing to unload
  }
}

}  // namespace jitc::api
