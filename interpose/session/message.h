// Lines on stderr and the thread's last message, beside what session.h offers to the API layer.
#pragma once
#include <string>

namespace jitc::runtime {

/// One line on stderr, each time.
void say(const std::string& text);
/// What set_last_message was given in this thread; never nullptr. For jitc_last_message().
const char* last_message();

}  // namespace jitc::runtime
