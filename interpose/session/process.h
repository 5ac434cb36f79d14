// Rules for forks and threads in a foreign process.
//
// Called by: node.cpp, session_client.cpp. A child made by fork cannot trust the memory that it shares with
// its parent (locks may be held by threads that do not exist in it). So every entry calls forked() first, and
// objects are leaked, never destroyed. Threads that jitc starts receive none of the program's signals.
#pragma once

namespace jitc::session {

/// Makes forked() work from now on; called with the first session.
void watch_forks();
/// Returns true in a child made by fork after watch_forks.
bool forked();
/// Closes a descriptor in children made by fork; up to as many as there are GPUs.
void close_in_children(int fd);
/// Reverses that, before the descriptor is closed here.
void keep_in_children(int fd);
/// Runs body(argument) on a detached thread with all signals blocked; false when no thread can be started.
bool start_thread(const char* name, void* (*body)(void*), void* argument);

}  // namespace jitc::session
