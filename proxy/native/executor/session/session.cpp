// A session's life, and the reports of the back end. commands.cpp has the service's commands.
#include "session.h"

#include "base/error.h"
#include "device/devices.h"
#include "executor/journal/wire.h"
#include "executor/results/lookup.h"

namespace jitc {
namespace {}

Session::Session(const SessionRequest& request, const DeviceOptions& options, Host& host)
    : core_(request, options, host) {
  make_device();
  if (request.rebuild) {
    core_.backend->fence();
    core_.life.restored = false;
    load();
  } else {
    core_.board.leave(request.slot);
    core_.slot().epoch.store(request.epoch);
    checkpoints_.pairing.show(checkpoints_.boundaries());
  }
  core_.board.enter(request.slot, request.session);
  core_.life.accepting = !request.rebuild;
  dispatcher_.start();
}

void Session::make_device() {
  const SessionRequest& request = core_.request;
  const DeviceOptions& options = core_.options;
  const BackendOptions device{.address_base = request.address_base,
                              .address_bytes = request.address_bytes,
                              .memory_limit = options.memory_limit,
                              .threads = options.threads,
                              .given = options.given,
                              .libraries = options.libraries,
                              .shuffle = options.shuffle,
                              .ordinal = options.ordinal,
                              .pinned = core_.pinned.range(),
                              .budget = core_.budget,
                              .turn = core_.turn,
                              .node_memory = &core_.snapshot.budget(),
                              .outdated = [this] { return core_.life.outdated(core_.life.command_epoch); }};
  std::string error;
  core_.backend = make_backend(options.device, device, *this, *this, core_.images, error);
  if (!core_.backend) throw Error("the " + options.device + " device cannot be made: " + error);
  if (BlockCopier* const copier = core_.backend->copier()) {
    copier->use(core_.snapshot.whole());
    core_.snapshot.before_release([copier](std::span<std::byte> memory) { copier->forget(memory); });
  }
}

Session::~Session() {
  client_.detach();
  stop();
  core_.board.job.ring();
  core_.backend->fence();
  dispatcher_.join();
  late_.stop();
  core_.backend.reset();  // its threads call this object
}

void Session::stop() {
  Lifecycle& life = core_.life;
  const std::lock_guard lock(life.mutex);
  life.stop = true;
  life.accepting = false;
  if (life.state != Lifecycle::State::over) life.state = Lifecycle::State::fenced;
  life.work.notify_all();
  life.changed.notify_all();
}

void Session::leave() {
  *core_.life.newest_epoch = UINT64_MAX;
  client_.detach();
  stop();
  core_.budget->leave();
  if (core_.turn) core_.turn->forget();
  core_.snapshot.budget().leave();
  core_.board.clear(core_.request.slot);
}

// -- an existing journal ---------------------------------------------------------------------------

void Session::load() {
  const Journal& journal = core_.journal;
  uint64_t position = journal.head();
  while (const RecordHeader* const record = journal.at(position)) {
    load_record(*record);
    position = Journal::after(*record);
  }
  checkpoints_.loaded();
  // Until the position to continue from is known, nothing is to be executed.
  core_.at.cursor = journal.tail();
  core_.at.dispatched = core_.at.received.load();
  issuer_.images_are_used_until(core_.at.received);
}

void Session::load_record(const RecordHeader& record) {
  switch (record.kind) {
    case RecordKind::op: {
      core_.at.received = record.sequence;
      const ops::OpHeader& op = op_of(record);
      if (op.op == static_cast<uint16_t>(ops::OpId::boundary))
        core_.at.boundary_received = as<ops::Boundary>(op).boundary;
      if (op.op == static_cast<uint16_t>(ops::OpId::communicator_create))
        checkpoints_.pairing.load(as<ops::CommunicatorCreate>(op));
      return;
    }
    case RecordKind::result: {
      Unpacker unpacker(record.payload());
      const auto known = unpacker.get<Results::Record>();
      core_.results.add(record.sequence, known,
                        {record.position, record.payload().size() - sizeof(known), {}});
      return;
    }
    case RecordKind::rollback:
    case RecordKind::boundary:
    case RecordKind::step:
      return checkpoints_.load(record);
    case RecordKind::chunk_end:
    case RecordKind::reported:
      return;
  }
}

// -- reports of the back end -------------------------------------------------------------------------

void Session::result(uint64_t sequence, uint32_t status, std::span<const std::byte> payload) {
  if (!core_.life.accepting) return;
  if (dispatcher_.is_this_thread()) issuer_.completed(sequence, status, payload);
  delivery_.result(sequence, status, payload);
}

void Session::progress(uint64_t stream, uint64_t sequence) {
  if (!core_.life.accepting) return;
  core_.progress.done(stream, sequence);
  replay_.wake();
  core_.completions.progress(stream, sequence);
}

void Session::fault(uint64_t sequence, uint32_t status, std::string_view cause, std::string_view message) {
  core_.fault(sequence, status, cause, message);
}

void Session::race(const Race& race) { core_.host.report_race(core_.request.session, race); }

void Session::injection_point(const ops::OpHeader& op, std::string_view phase) {
  issuer_.at_point(op, phase);
}

/// Joins a communicator. The service refuses it when a recovery has begun that has not reached this session
/// yet. The fence is then in flight, and gives the op up.
CommunicatorSegment Session::join(const std::array<uint8_t, 128>& unique_id, uint32_t ranks, uint32_t rank) {
  Lifecycle& life = core_.life;
  const uint64_t epoch = life.epoch;
  CommunicatorSegment segment = core_.host.join(core_.request.session, unique_id, ranks, rank, epoch);
  segment.bridge = &core_.board.job.bridge();
  if (!segment.superseded) return segment;
  Lifecycle::Lock lock(life.mutex);
  life.changed.wait(lock, [&] { return life.epoch != epoch || !life.runs() || life.stop; });
  return segment;
}

}  // namespace jitc
