// Generated from protos/jitc/v1/worker.proto and control.proto by `python -m jitc.interpose.generator`;
// do not edit.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"

namespace jitc::messages {
using Json = nlohmann::json;

struct Fault {
  std::string kind{};
  uint64_t sequence{};
  uint64_t operations{};
  uint64_t boundary{};
  std::string phase{};
  uint64_t skip{};
  bool armed_at_boundary{};
  uint64_t number{};
};

struct ArmRequest {
  std::optional<Fault> fault{};
  uint64_t session{};
};

struct SessionRequest {
  uint64_t session{};
  uint64_t epoch{};
};

struct BlockRow {
  uint64_t address{};
  uint64_t bytes{};
  uint64_t ordinal{};
  Hash hash{};
  Hash hash_before_step{};
  bool copied{};
  bool in_place{};
};

struct RecoverRequest {
  uint64_t session{};
  uint64_t epoch{};
  uint64_t boundary{};
  uint32_t timeout_ms{};
  std::vector<BlockRow> replaced{};
};

struct Transfer {
  uint64_t address{};
  uint64_t bytes{};
  uint64_t offset{};
  Hash hash{};
};

struct TransferRequest {
  uint64_t session{};
  uint64_t boundary{};
  std::string path{};
  std::vector<Transfer> blocks{};
  uint64_t epoch{};
  uint64_t memory{};
};

struct DirectTransferRequest {
  uint64_t session{};
  uint64_t epoch{};
  std::string path{};
  uint64_t path_bytes{};
  uint32_t timeout_ms{};
  std::vector<Transfer> blocks{};
  uint64_t memory{};
};

struct ResumeRequest {
  uint64_t session{};
  uint64_t epoch{};
  std::vector<uint32_t> slots{};
  double bound{};
  std::vector<uint64_t> sessions{};
};

struct AbandonRequest {
  uint64_t session{};
  uint32_t status{};
  std::string message{};
};

struct BoundaryTableRequest {
  uint64_t session{};
  uint64_t boundary{};
  bool earlier{};
};

struct Policy {
  uint64_t session{};
  bool copy_all{};
  bool barrier{};
  std::vector<uint64_t> volatile_ordinals{};
  std::vector<uint64_t> unique_ordinals{};
  uint64_t measure_every{};
  std::vector<uint64_t> known_ordinals{};
  uint64_t reserve{};
  uint64_t next_reserve{};
};

struct Spacing {
  uint64_t session{};
  uint64_t every{};
};

struct ValidateRequest {
  uint64_t session{};
  uint64_t step{};
};

struct HoldRequest {
  uint64_t session{};
  uint64_t boundary{};
};

struct TellRequest {
  uint64_t session{};
  std::string text{};
};

struct OpenSessionRequest {
  uint64_t session{};
  std::string token{};
  uint32_t slot{};
  std::string journal_path{};
  uint64_t journal_bytes{};
  std::string spill_path{};
  uint64_t spill_bytes{};
  std::string snapshot_path{};
  uint64_t snapshot_bytes{};
  std::string board_path{};
  uint64_t address_base{};
  uint64_t address_bytes{};
  bool rebuild{};
  uint64_t epoch{};
  std::string pinned_path{};
  uint64_t pinned_base{};
  uint64_t pinned_bytes{};
  bool guest{};
};

struct Empty {};

struct Membership {
  uint64_t communicator{};
  int32_t rank{};
  bool left{};
  uint64_t collectives{};
};

struct Exchange {
  uint64_t communicator{};
  int32_t peer{};
  bool received{};
  uint64_t count{};
};

struct Tally {
  std::vector<Membership> memberships{};
  std::vector<Exchange> exchanges{};
};

struct KeptTally {
  uint64_t number{};
  std::optional<Tally> tally{};
};

struct History {
  std::vector<KeptTally> kept{};
  std::optional<Tally> now{};
  bool uneven{};
};

struct Position {
  uint64_t committed{};
  uint64_t prepared{};
  uint64_t reached{};
  uint64_t begun{};
  uint64_t executed{};
  uint64_t received{};
  std::vector<uint64_t> reserves{};
  std::optional<History> history{};
};

struct RecoverReply {
  bool complete{};
  std::string message{};
  uint64_t bytes{};
  std::vector<BlockRow> missing{};
  bool links{};
  std::optional<Tally> tally{};
};

struct BoundaryTableReply {
  uint64_t boundary{};
  std::vector<BlockRow> rows{};
  bool step_has_waits{};
  bool step_has_collectives{};
  bool variables_change{};
  bool measured{};
  std::optional<Tally> tally{};
};

struct ValidateReply {
  bool standing{};
};

struct RaceSide {
  std::string op{};
  std::string operator_{};
  std::string place{};
  uint64_t stream{};
  uint64_t sequence{};
  bool writes{};
};

struct RaceReport {
  uint64_t session{};
  std::optional<RaceSide> first{};
  std::optional<RaceSide> second{};
  uint64_t address{};
  uint64_t bytes{};
};

/// The service's calls about a session.
class Commands {
 public:
  virtual ~Commands() = default;
  virtual void arm(const ArmRequest& request) = 0;
  virtual Position fence(const SessionRequest& request) = 0;
  virtual RecoverReply keep(const RecoverRequest& request) = 0;
  virtual RecoverReply rollback(const RecoverRequest& request) = 0;
  virtual RecoverReply finish_step(const RecoverRequest& request) = 0;
  virtual RecoverReply skip_step(const RecoverRequest& request) = 0;
  virtual RecoverReply export_(const TransferRequest& request) = 0;
  virtual RecoverReply import(const TransferRequest& request) = 0;
  virtual RecoverReply send(const DirectTransferRequest& request) = 0;
  virtual RecoverReply receive(const DirectTransferRequest& request) = 0;
  virtual void resume(const ResumeRequest& request) = 0;
  virtual void abandon(const AbandonRequest& request) = 0;
  virtual BoundaryTableReply boundary_table(const BoundaryTableRequest& request) = 0;
  virtual void set_policy(const Policy& request) = 0;
  virtual void set_spacing(const Spacing& request) = 0;
  virtual ValidateReply validate(const ValidateRequest& request) = 0;
  virtual void hold(const HoldRequest& request) = 0;
  virtual void tell(const TellRequest& request) = 0;
};

/// Makes the call of that name with a request's document, and returns the reply's. Throws Error: there is none of that
/// name, or a member of the document has a wrong type.
Json call(Commands& commands, std::string_view method, const Json& json);

/// Fills a message. A member that the document does not have stays as it is.
void fill(const Json& json, Fault& message);
void fill(const Json& json, ArmRequest& message);
void fill(const Json& json, SessionRequest& message);
void fill(const Json& json, BlockRow& message);
void fill(const Json& json, RecoverRequest& message);
void fill(const Json& json, Transfer& message);
void fill(const Json& json, TransferRequest& message);
void fill(const Json& json, DirectTransferRequest& message);
void fill(const Json& json, ResumeRequest& message);
void fill(const Json& json, AbandonRequest& message);
void fill(const Json& json, BoundaryTableRequest& message);
void fill(const Json& json, Policy& message);
void fill(const Json& json, Spacing& message);
void fill(const Json& json, ValidateRequest& message);
void fill(const Json& json, HoldRequest& message);
void fill(const Json& json, TellRequest& message);
void fill(const Json& json, OpenSessionRequest& message);


template <class Message>
Message parsed(const Json& json) {
  Message message;
  fill(json, message);
  return message;
}

Json document(const Empty& message);
Json document(const Membership& message);
Json document(const Exchange& message);
Json document(const Tally& message);
Json document(const KeptTally& message);
Json document(const History& message);
Json document(const Position& message);
Json document(const BlockRow& message);
Json document(const RecoverReply& message);
Json document(const BoundaryTableReply& message);
Json document(const ValidateReply& message);
Json document(const RaceSide& message);
Json document(const RaceReport& message);

}  // namespace jitc::messages
