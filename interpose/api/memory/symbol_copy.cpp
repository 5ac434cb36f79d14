// Device variables by the symbol that the compiler registered: addresses, sizes, copies.
//
// Promises: a copy goes to the variable of the stream's device; a recovery must keep the address only if a
// program has requested it.
#include "api/generated/generated_api.h"
#include "api/module/registration.h"
#include "api/module/variables.h"
#include "api/stream/stream.h"
#include "copy.h"

namespace jitc::api {
namespace {

enum CopyKind : int32_t { kToDevice = 1, kFromDevice = 2, kInDevice = 3, kByAddress = 4 };

Status variable_of(const void* symbol, Session& session, int device, Wanted wanted, Block* out) {
  RegisteredSymbol registered;
  if (!registered_variable(symbol, &registered)) return kInvalidSymbol;
  Status status = kSuccess;
  find_variable(*registered.image, registered.name, session, device, wanted, out, &status);
  return status;
}

Status current_variable(const void* symbol, Wanted wanted, Block* out) {
  Status status = kSuccess;
  Session* session = current_session(&status);
  return session ? variable_of(symbol, *session, current_device(), wanted, out) : status;
}

/// Returns the address in the variable, or in its alias, at which a copy of count bytes begins.
Status address_in(const void* symbol, size_t count, size_t offset, const StreamRef& stream,
                  uint64_t* address) {
  Block block;
  if (const Status status = variable_of(symbol, *stream.session, stream.device, Wanted::content, &block))
    return status;
  if (offset > block.bytes || count > block.bytes - offset) return kInvalidValue;
  *address = block.address + offset;
  return kSuccess;
}

Status to_symbol(const void* symbol, const void* src, size_t count, size_t offset, int32_t kind, uint64_t on,
                 bool wait) {
  if (kind != kToDevice && kind != kInDevice && kind != kByAddress) return kInvalidMemcpyDirection;
  StreamRef stream;
  if (const Status status = resolve_stream(on, &stream)) return status;
  uint64_t address = 0;
  if (const Status status = address_in(symbol, count, offset, stream, &address)) return status;
  return copy(address, reinterpret_cast<uint64_t>(src), count, stream, wait);
}

Status from_symbol(void* dst, const void* symbol, size_t count, size_t offset, int32_t kind, uint64_t on,
                   bool wait) {
  if (kind != kFromDevice && kind != kInDevice && kind != kByAddress) return kInvalidMemcpyDirection;
  StreamRef stream;
  if (const Status status = resolve_stream(on, &stream)) return status;
  uint64_t address = 0;
  if (const Status status = address_in(symbol, count, offset, stream, &address)) return status;
  return copy(reinterpret_cast<uint64_t>(dst), address, count, stream, wait);
}

}  // namespace

int32_t cudaGetSymbolAddress(uint64_t* address, const void* symbol) {
  Block block;
  if (!address) return kInvalidValue;
  const Status status = current_variable(symbol, Wanted::address, &block);
  if (!status) *address = block.address;
  return status;
}
int32_t cudaGetSymbolSize(size_t* bytes, const void* symbol) {
  Block block;
  if (!bytes) return kInvalidValue;
  const Status status = current_variable(symbol, Wanted::content, &block);
  if (!status) *bytes = block.bytes;
  return status;
}
int32_t cudaMemcpyToSymbol(const void* symbol, const void* src, size_t count, size_t offset, int32_t kind) {
  return to_symbol(symbol, src, count, offset, kind, 0, true);
}
int32_t cudaMemcpyToSymbolAsync(const void* symbol, const void* src, size_t count, size_t offset,
                                int32_t kind, uint64_t stream) {
  return to_symbol(symbol, src, count, offset, kind, stream, false);
}
int32_t cudaMemcpyFromSymbol(void* dst, const void* symbol, size_t count, size_t offset, int32_t kind) {
  return from_symbol(dst, symbol, count, offset, kind, 0, true);
}
int32_t cudaMemcpyFromSymbolAsync(void* dst, const void* symbol, size_t count, size_t offset, int32_t kind,
                                  uint64_t stream) {
  return from_symbol(dst, symbol, count, offset, kind, stream, false);
}

}  // namespace jitc::api
