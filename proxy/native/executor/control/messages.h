// The executor's types as messages of the service (generated_messages.h), and messages as its types.
//
// Promise: reads nothing but its argument. Called by: session_commands.cpp, stats_document.cpp, Executor.
#pragma once
#include <vector>

#include "executor/core/session_types.h"
#include "generated_messages.h"

namespace jitc::messages {

/// Returns all blocks: device variables, which only the executor sees, are left out.
std::vector<BlockRow> message(const std::vector<LiveRow>& rows);
Tally message(const jitc::Tally& tally);
Position message(const jitc::Position& position);
RecoverReply message(const jitc::RecoverReply& reply);
BoundaryTableReply message(const BoundaryState& state);
RaceReport message(uint64_t session, const Race& race);

std::vector<LiveRow> rows(const std::vector<BlockRow>& messages);
std::vector<jitc::Transfer> transfers(const std::vector<Transfer>& messages);
jitc::Policy policy(const Policy& message);
jitc::Fault fault(const Fault& message);
jitc::SessionRequest session(const OpenSessionRequest& message);

}  // namespace jitc::messages
