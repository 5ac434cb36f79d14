// The C library's own look-ups, beside which ours stand (../loader/loader.cpp), and whose library an address
// is in.
//
// Called by: the loader; parts of api/ that mean NVIDIA's own functions (look_up); refusals; PyTorch's start.
// Promises: nothing is opened, and no lock is taken that the C library does not take.
#pragma once
#include <string_view>

namespace jitc::api {

using Open = void* (*)(const char*, int) noexcept;
using Find = void* (*)(void*, const char*) noexcept;
/// dlopen and dlsym of the C library. They are asked for with their versions, which ours of the same names do
/// not have.
Open real_open();
Find real_find();

/// What the library itself has under that name: dlsym of the C library.
void* look_up(void* library, const char* name);

/// The name of a file without its folder.
std::string_view file_of(std::string_view path);
/// The file of the library that the address lies in, if it is one of NVIDIA's in whose place we stand; else
/// empty.
std::string_view replaced_library(const void* address);

}  // namespace jitc::api
