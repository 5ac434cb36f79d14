// What the tests can tell the stub library, and ask it (see stub_nccl.cpp).
#pragma once

extern "C" {
/// Named switches: "hold_init", "hold_launch", "block_abort", "fail_init", "fail_call", "async_error" (given
/// to every communicator from now on). 0: off.
void stub_set(const char* name, int value);
/// "live": communicators that were neither aborted nor destroyed. "made", "aborting" (so far), "aborted",
/// "destroyed", "violations" (calls that NCCL forbids).
int stub_count(const char* name);
/// The calls of collectives since the last time, one a line.
const char* stub_take_log(void);
void stub_reset(void);
}
