// What this process's environment says to NVIDIA's libraries, which its workers open.
//
// Called by: service_rpc.cpp (a session begins), session_client.cpp (a library is used for the first time).
// Promises: nothing else of the environment is sent; what cannot be is named once, on standard error; a
// program that runs with more rights than its caller sends none.
#pragma once
#include <cstdint>
#include <map>
#include <string>

namespace jitc::session {

using Variables = std::map<std::string, std::string>;

/// As they are now. What is too much, or has other characters than printable ones of ASCII, is not among
/// them.
Variables library_variables();
/// Says which have another value now than the worker was given, so that they have no effect; once each set.
void name_late_variables(const Variables& given, uint32_t gpu);

}  // namespace jitc::session
