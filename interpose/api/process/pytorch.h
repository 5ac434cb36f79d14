// PyTorch in this process, and whether client_shim is there, which announces its optimizer steps.
//
// Called by: dlsym (loader.cpp), the first session, client_api.cpp, refusals of PyTorch's kernels. Promises:
// where a program has turned off the entry points by which PyTorch loads client_shim
// (TORCH_DEVICE_BACKEND_AUTOLOAD=0), client_shim is loaded all the same, at the end of `import torch`; a
// program with PyTorch and without client_shim is told so. Python is only called by a thread that has the
// GIL, so nothing here waits for it.
#pragma once
#include <string>

namespace jitc::api {

/// Python is about to initialize an extension module that may be PyTorch's.
void pytorch_may_come() noexcept;
/// client_shim is loaded: steps will be announced.
void expect_steps();
/// Why client_shim is not loaded, and what to do; empty: it is loaded.
std::string why_without_shim();
/// Says so once, with what a fault costs then, in a program with PyTorch.
void tell_without_steps();

}  // namespace jitc::api
