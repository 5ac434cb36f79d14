// The C library's own look-ups, beside which ours stand (../loader/loader.cpp), and the library of an
// address.
//
// Called by: the loader; parts of api/ that need NVIDIA's own functions (look_up); refusals; PyTorch's start.
// Promises: nothing is opened, and no lock is taken that the C library does not take.
#pragma once
#include <string_view>

namespace jitc::api {

using Open = void* (*)(const char*, int) noexcept;
using Find = void* (*)(void*, const char*) noexcept;
/// Return dlopen and dlsym of the C library. They are looked up with their versions, which ours of the same
/// names do not have.
Open real_open();
Find real_find();

/// Returns the library's own symbol of that name: dlsym of the C library.
void* look_up(void* library, const char* name);

/// Returns the name of a file without its folder.
std::string_view file_of(std::string_view path);
/// Returns the file of the library that the address lies in, if it is one of NVIDIA's that we replace; else
/// empty.
std::string_view replaced_library(const void* address);

}  // namespace jitc::api
