// PyTorch in this process, and the presence of client_shim, which announces its optimizer steps.
//
// Called by: dlsym (loader.cpp), the first session, client_api.cpp, refusals of PyTorch's kernels. Promises:
// if a program has turned off the entry points by which PyTorch loads client_shim
// (TORCH_DEVICE_BACKEND_AUTOLOAD=0), client_shim is still loaded at the end of `import torch`; a program with
// PyTorch and without client_shim gets a message. Only a thread that has the GIL calls Python, so nothing
// here waits for it.
#pragma once
#include <string>

namespace jitc::api {

/// Notes that Python is about to initialize an extension module that may be PyTorch's.
void pytorch_may_come() noexcept;
/// Notes that client_shim is loaded: steps will be announced.
void expect_steps();
/// Returns why client_shim is not loaded, and what to do; empty: it is loaded.
std::string why_without_shim();
/// Reports this once, with the cost of a fault then, in a program with PyTorch.
void tell_without_steps();

}  // namespace jitc::api
