// The loader's questions: what a program finds when it opens NVIDIA's libraries itself and asks them for
// functions by name.
//
// Called by: programs and libraries (dlopen, dlsym), parts of api/ that mean NVIDIA's own functions
// (look_up). Promises: whatever library it is looked up in, a function that we serve is ours, and one that
// NVIDIA's library has beyond that is not found, with a line on stderr; what a program begins with in a
// library that is not served is ours as well, and refuses; every other question is answered by the C library
// as if we were not there, also where the answer depends on the caller (RTLD_NEXT, RTLD_DEFAULT, DT_RUNPATH,
// $ORIGIN). Nothing is opened, and no memory taken, for questions that do not
// concern us.
#pragma once
#include <string_view>

namespace jitc::api {

/// What the library itself has under that name: dlsym of the C library.
void* look_up(void* library, const char* name);

/// The file of the library that the address lies in, if it is one of NVIDIA's in whose place we stand; else
/// empty.
std::string_view replaced_library(const void* address);

}  // namespace jitc::api
