// Lines on stderr, and the calling thread's last message.
//
// Called by: the session and the API layer. Promise: the memory of a program that runs for weeks does not
// grow with its messages.
#pragma once
#include <string>

namespace jitc::session {

/// Prints one line on stderr, prefixed "jitc: ", each distinct text once per process.
void message_once(const std::string& text);
/// Prints the line each time.
void say(const std::string& text);
/// Sets the text for jitc_last_message() of this thread.
void set_last_message(std::string text);
/// Returns that text; never nullptr.
const char* last_message();

}  // namespace jitc::session
