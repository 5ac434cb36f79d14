// cuBLASLt for one session: makes the objects of a description, asks for algorithms, multiplies.
//
// Promises: one library handle, made at first use; the objects of a product are kept by the bytes of their
// description, so that the same product again makes none (bounded); a description cannot make the library
// read host memory. All throw OpError. Called by: Device, with its mutex held and the context bound.
#pragma once
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "blas_library.h"
#include "device/backend.h"
#include "lt_description.h"

namespace jitc::cuda {

class Lt {
 public:
  explicit Lt(const BackendOptions& options) : path_(options.libraries.path("cublaslt")) {}
  ~Lt();
  Lt(const Lt&) = delete;
  Lt& operator=(const Lt&) = delete;

  /// The result of the op: status, count, cublasLtMatmulHeuristicResult_t[count].
  std::vector<std::byte> heuristic(const ops::LtHeuristic& op, std::span<const std::byte> payload);
  void matmul(const ops::LtMatmul& op, std::span<const std::byte> payload, abi::CUstream stream);

 private:
  void open();
  std::shared_ptr<const LtObjects> objects_of(std::span<const std::byte> bytes,
                                              const LtDescription& description);

  const std::string path_;
  std::shared_ptr<const CublasLt> library_;
  void* handle_ = nullptr;
  std::map<std::string, std::shared_ptr<const LtObjects>, std::less<>> kept_;
};

}  // namespace jitc::cuda
