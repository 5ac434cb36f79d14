// See session_commands.h.
#include "session_commands.h"

#include "base/error.h"
#include "messages.h"

namespace jitc {
namespace {
constexpr uint32_t kDefaultTimeout = 30'000;  // milliseconds, of a request that says none

template <class Request>
uint32_t timeout(const Request& request) {
  return request.timeout_ms ? request.timeout_ms : kDefaultTimeout;
}

messages::RecoverReply moved(uint64_t bytes) { return messages::message(RecoverReply{true, "", bytes, {}}); }

DirectTransferRequest direct(const messages::DirectTransferRequest& request) {
  return {request.epoch, request.path, request.path_bytes, timeout(request),
          messages::transfers(request.blocks)};
}
}  // namespace

/// Returns the reply of a rank whose state is to be restored, or to serve others.
messages::RecoverReply SessionCommands::offered(RecoverReply reply) const {
  reply.tally = session_.restorer().tally();
  return messages::message(session_.transfers().with_direct_path(std::move(reply)));
}

void SessionCommands::arm(const messages::ArmRequest& request) {
  if (!request.fault) throw Error("the request has no \"fault\"");
  session_.arm(messages::fault(*request.fault));
}

messages::Position SessionCommands::fence(const messages::SessionRequest& request) {
  return messages::message(session_.recovery().fence(request.epoch));
}

messages::RecoverReply SessionCommands::keep(const messages::RecoverRequest& request) {
  return offered(session_.recovery().keep(request.epoch, timeout(request)));
}

messages::RecoverReply SessionCommands::rollback(const messages::RecoverRequest& request) {
  const auto replaced = messages::rows(request.replaced);
  return offered(session_.restorer().roll_back(request.boundary, request.epoch, replaced));
}

messages::RecoverReply SessionCommands::finish_step(const messages::RecoverRequest& request) {
  return offered(session_.recovery().finish_step(request.boundary, timeout(request), request.epoch));
}

messages::RecoverReply SessionCommands::skip_step(const messages::RecoverRequest& request) {
  return offered(session_.restorer().skip_step(request.boundary, timeout(request), request.epoch));
}

messages::RecoverReply SessionCommands::export_(const messages::TransferRequest& request) {
  const auto blocks = messages::transfers(request.blocks);
  return moved(session_.transfers().export_blocks(request.path, blocks, request.epoch));
}

messages::RecoverReply SessionCommands::import(const messages::TransferRequest& request) {
  const auto blocks = messages::transfers(request.blocks);
  return moved(session_.transfers().import_blocks(request.path, blocks, request.epoch));
}

messages::RecoverReply SessionCommands::send(const messages::DirectTransferRequest& request) {
  return messages::message(session_.transfers().send_blocks(direct(request)));
}

messages::RecoverReply SessionCommands::receive(const messages::DirectTransferRequest& request) {
  return messages::message(session_.transfers().receive_blocks(direct(request)));
}

void SessionCommands::resume(const messages::ResumeRequest& request) {
  session_.recovery().resume(request.epoch, request.slots, request.bound);
}

void SessionCommands::abandon(const messages::AbandonRequest& request) {
  session_.recovery().abandon(request.status, request.message);
}

messages::BoundaryTableReply SessionCommands::boundary_table(const messages::BoundaryTableRequest& request) {
  return messages::message(session_.boundary_table(request.boundary, request.earlier));
}

void SessionCommands::set_policy(const messages::Policy& request) {
  session_.set_policy(messages::policy(request));
}

void SessionCommands::set_spacing(const messages::Spacing& request) { session_.set_spacing(request.every); }

messages::ValidateReply SessionCommands::validate(const messages::ValidateRequest& request) {
  return {.standing = !session_.validate(request.step)};
}

void SessionCommands::hold(const messages::HoldRequest& request) { session_.stop_after(request.boundary); }

void SessionCommands::tell(const messages::TellRequest& request) { session_.notice(request.text); }

}  // namespace jitc
