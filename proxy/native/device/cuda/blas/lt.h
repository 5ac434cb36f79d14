// cuBLASLt for one session: makes the objects of a call, asks for algorithms, multiplies.
//
// Promises: one library handle, made at first use; the objects of a product are kept by the bytes of their
// description, so that the same product again makes none (bounded); a description cannot make the library
// read host memory. All throw OpError. Called by: BlasHandlers, with the device's mutex held and the context
// bound.
#pragma once
#include <map>

#include "device/backend_options.h"
#include "lt_objects.h"

namespace jitc::cuda {

class Lt {
 public:
  explicit Lt(const BackendOptions& options) : path_(options.libraries.path("cublaslt")) {}
  ~Lt();
  Lt(const Lt&) = delete;
  Lt& operator=(const Lt&) = delete;

  /// Content of library_call and library_ask.
  struct Request {
    std::span<const std::byte> described;  // the bytes of the objects
    uint32_t objects;
    std::span<const std::byte> call;
  };
  /// Runs a product and returns its status.
  CallOutcome multiply(const Request& request, abi::CUstream stream) { return call(request, stream, true); }
  /// Returns the answer to a question, or the status.
  CallOutcome ask(const Request& request) { return call(request, nullptr, false); }

 private:
  void open();
  CallOutcome call(const Request& request, abi::CUstream stream, bool product);
  std::shared_ptr<const LtObjects> objects_of(const Request& request, bool keep);

  const std::string path_;
  std::shared_ptr<const CublasLt> library_;
  void* handle_ = nullptr;
  std::map<std::string, std::shared_ptr<const LtObjects>, std::less<>> kept_;
};

}  // namespace jitc::cuda
