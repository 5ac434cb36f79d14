// Environment variables of this process for NVIDIA's libraries, which its workers open.
//
// Called by: service_rpc.cpp (a session begins), session_client.cpp (a library is used for the first time).
// Promises: nothing else of the environment is sent; an unsendable variable is named once, on standard error;
// a program that runs with more rights than its caller sends none.
#pragma once
#include <cstdint>
#include <map>
#include <string>

namespace jitc::session {

using Variables = std::map<std::string, std::string>;

/// Returns their current values. Leaves out those that are too long, or have characters other than printable
/// ASCII.
Variables library_variables();
/// Names, once per set, the variables changed since the worker got them, which have no effect.
void name_late_variables(const Variables& given, uint32_t gpu);

}  // namespace jitc::session
