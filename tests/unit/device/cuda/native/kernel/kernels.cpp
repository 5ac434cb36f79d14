// See kernels.h.
#include "kernels.h"

#include <algorithm>
#include <thread>

namespace jitc::test {
namespace {
using Bytes = KernelSession::Bytes;

Bytes text(const std::string& value) {
  const auto bytes = std::as_bytes(std::span(value));
  return {bytes.begin(), bytes.end()};
}
}  // namespace

ImageHash named(const std::string& name) {
  ImageHash hash{};
  std::copy_n(name.begin(), std::min(name.size(), hash.size()), hash.begin());
  return hash;
}

ImageHash all_kernels() {
  return images().add(
      "all",
      "JITCFAKE 1\nkernel add_i64\nkernel fill_f32\nkernel axpy_f32\nkernel struct_args\n"
      "kernel shape_of\nkernel bump_global\nkernel wait_flag\nkernel illegal\nkernel deep\nkernel heap\n"
      "kernel second add_i64\nglobal counter 8\nglobal table 64\n");
}

void fence_while_a_module_is_loaded(Session& session) {
  ops::ModuleLoad load;
  load.module = KernelSession::kModule + 1;
  load.hash = all_kernels();
  load.bytes = images().size(load.hash);
  Gate loading;
  images().on_asked = [&] { loading.open(); };
  std::thread dispatcher([&] {
    session.give(load);
    loading.open();
  });
  loading.pass();
  session.backend->fence();
  dispatcher.join();
  images().on_asked = [] {};
}

void KernelSession::begin() {
  all_kernels();
  stream(kStream);
  stream(kSide);
  CHECK_EQUAL(load(kModule, "all").status, 0u);
  CHECK_EQUAL(function(kModule, kAdd, "add_i64").status, 0u);
}

Reply KernelSession::load(uint64_t module, const std::string& image) {
  ops::ModuleLoad op;
  op.module = module;
  op.hash = named(image);
  op.bytes = images().size(op.hash);
  return ask(op);
}

Reply KernelSession::function(uint64_t module, uint64_t handle, const std::string& name) {
  ops::FunctionGet op;
  op.module = module;
  op.function = handle;
  op.bytes = name.size();
  return sink.wait_result(send(op, 0, text(name)));
}

Reply KernelSession::variable(uint64_t module, const std::string& name) {
  ops::VariableGet op;
  op.module = module;
  op.bytes = name.size();
  return sink.wait_result(send(op, 0, text(name)));
}

uint64_t KernelSession::launch(uint64_t function, const Bytes& parameters, uint64_t stream,
                               const Launch& shape) {
  ops::KernelLaunch op;
  op.function = function;
  std::tie(op.grid_x, op.grid_y, op.grid_z) = std::tie(shape.grid[0], shape.grid[1], shape.grid[2]);
  std::tie(op.block_x, op.block_y, op.block_z) = std::tie(shape.block[0], shape.block[1], shape.block[2]);
  op.shared = shape.shared;
  op.attributes = static_cast<uint32_t>(shape.attributes.size());
  op.parameters = parameters.size();
  const auto attributes = std::as_bytes(std::span(shape.attributes));
  Bytes payload(attributes.begin(), attributes.end());
  payload.insert(payload.end(), parameters.begin(), parameters.end());
  return send(op, stream, payload);
}

}  // namespace jitc::test
