// The service's calls about one session (worker.proto), handed to the session's parts.
//
// Promise: each call throws Error with what is wrong, and leaves the session as its part says then.
// Called by: Executor, through generated_messages.h.
#pragma once
#include <vector>

#include "executor/session/session.h"
#include "generated_messages.h"

namespace jitc {

class SessionCommands final : public messages::Commands {
 public:
  explicit SessionCommands(Session& session) : session_(session) {}

  void arm(const messages::ArmRequest& request) override;
  messages::Position fence(const messages::SessionRequest& request) override;
  messages::RecoverReply keep(const messages::RecoverRequest& request) override;
  messages::RecoverReply rollback(const messages::RecoverRequest& request) override;
  messages::RecoverReply finish_step(const messages::RecoverRequest& request) override;
  messages::RecoverReply skip_step(const messages::RecoverRequest& request) override;
  messages::RecoverReply export_(const messages::TransferRequest& request) override;
  messages::RecoverReply import(const messages::TransferRequest& request) override;
  messages::RecoverReply send(const messages::DirectTransferRequest& request) override;
  messages::RecoverReply receive(const messages::DirectTransferRequest& request) override;
  void resume(const messages::ResumeRequest& request) override;
  void abandon(const messages::AbandonRequest& request) override;
  messages::BoundaryTableReply boundary_table(const messages::BoundaryTableRequest& request) override;
  void set_policy(const messages::Policy& request) override;
  void set_spacing(const messages::Spacing& request) override;
  messages::ValidateReply validate(const messages::ValidateRequest& request) override;
  void hold(const messages::HoldRequest& request) override;
  void tell(const messages::TellRequest& request) override;

 private:
  messages::RecoverReply offered(RecoverReply reply) const;

  Session& session_;
};

}  // namespace jitc
