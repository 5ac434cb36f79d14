// Lines on stderr, and the calling thread's last message.
//
// Called by: the session and the API layer. Promise: the memory of a program that runs for weeks does not
// grow with its messages.
#pragma once
#include <string>

namespace jitc::session {

/// One line on stderr, prefixed "jitc: ", each distinct text once per process.
void message_once(const std::string& text);
/// The same, each time.
void say(const std::string& text);
/// Text for jitc_last_message() of this thread.
void set_last_message(std::string text);
/// That text; never nullptr.
const char* last_message();

}  // namespace jitc::session
