// Rules of living in a foreign process: forks and threads.
//
// Called by: node.cpp, session_client.cpp. After a fork the child shares nothing with the parent but memory
// that it must not trust (locks may be held by threads that do not exist there): every entry asks forked()
// first, objects are leaked, never destroyed. Threads of ours take no signals of the program's.
#pragma once

namespace jitc::runtime {

/// From now on children made by fork are told apart. Called with the first session.
void watch_forks();
/// True in a child made by fork after watch_forks.
bool forked();
/// Runs body(argument) on a detached thread with all signals blocked; false when there is no thread to be
/// had.
bool start_thread(const char* name, void* (*body)(void*), void* argument);

}  // namespace jitc::runtime
