// A session's life, and what the back end reports. commands.cpp has what the service asks of it.
#include "session.h"

#include "base/error.h"
#include "device/devices.h"
#include "executor/journal/lookup.h"
#include "executor/journal/wire.h"

namespace jitc {
namespace {}

Session::Session(const SessionRequest& request, const DeviceOptions& options, Host& host)
    : shared_(request, options, host) {
  make_device();
  if (request.rebuild) {
    shared_.backend->fence();
    shared_.life.restored = false;
    load();
  } else {
    shared_.board.leave(request.slot);
    checkpoints_.pairing.show(checkpoints_.boundaries());
  }
  shared_.board.enter(request.slot, request.session);
  shared_.slot().epoch.store(request.epoch);
  shared_.life.accepting = !request.rebuild;
  dispatcher_.start();
}

void Session::make_device() {
  const SessionRequest& request = shared_.request;
  const DeviceOptions& options = shared_.options;
  const BackendOptions device{
      .address_base = request.address_base,
      .address_bytes = request.address_bytes,
      .memory_limit = options.memory_limit,
      .threads = options.threads,
      .given = options.given,
      .libraries = options.libraries,
      .shuffle = options.shuffle,
      .ordinal = options.ordinal,
      .pinned = shared_.pinned.range(),
      .budget = shared_.budget,
      .turn = shared_.turn,
      .node_memory = &shared_.snapshot.budget(),
      .outdated = [this] { return shared_.life.outdated(shared_.life.command_epoch); }};
  std::string error;
  shared_.backend = make_backend(options.device, device, *this, *this, shared_.images, error);
  if (!shared_.backend) throw Error("the " + options.device + " device cannot be made: " + error);
  if (BlockCopier* const copier = shared_.backend->copier()) {
    copier->use(shared_.snapshot.whole());
    shared_.snapshot.before_release([copier](std::span<std::byte> memory) { copier->forget(memory); });
  }
}

Session::~Session() {
  client_.detach();
  stop();
  shared_.board.job.ring();
  shared_.backend->fence();
  dispatcher_.join();
  late_.stop();
  shared_.backend.reset();  // its threads call this object
}

void Session::stop() {
  Lifecycle& life = shared_.life;
  const std::lock_guard lock(life.mutex);
  life.stop = true;
  life.accepting = false;
  if (life.state != Lifecycle::State::over) life.state = Lifecycle::State::fenced;
  life.work.notify_all();
  life.changed.notify_all();
}

void Session::leave() {
  *shared_.life.newest_epoch = UINT64_MAX;
  client_.detach();
  stop();
  shared_.budget->leave();
  if (shared_.turn) shared_.turn->forget();
  shared_.snapshot.budget().leave();
  shared_.board.clear(shared_.request.slot);
}

// -- an existing journal ---------------------------------------------------------------------------

void Session::load() {
  const Journal& journal = shared_.journal;
  uint64_t position = journal.head();
  while (const RecordHeader* const record = journal.at(position)) {
    load_record(*record);
    position = Journal::after(*record);
  }
  checkpoints_.loaded();
  // Until it is known where to go on from, nothing is to be executed.
  shared_.at.cursor = journal.tail();
  shared_.at.dispatched = shared_.at.received.load();
  issuer_.images_are_used_until(shared_.at.received);
}

void Session::load_record(const RecordHeader& record) {
  switch (record.kind) {
    case RecordKind::op: {
      shared_.at.received = record.sequence;
      const ops::OpHeader& op = op_of(record);
      if (op.op == static_cast<uint16_t>(ops::OpId::boundary))
        shared_.at.boundary_received = as<ops::Boundary>(op).boundary;
      if (op.op == static_cast<uint16_t>(ops::OpId::communicator_create))
        checkpoints_.pairing.load(as<ops::CommunicatorCreate>(op));
      return;
    }
    case RecordKind::result: {
      Unpacker unpacker(record.payload());
      const auto known = unpacker.get<Results::Record>();
      shared_.results.add(record.sequence, known,
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

// -- what the back end reports -----------------------------------------------------------------------

void Session::result(uint64_t sequence, uint32_t status, std::span<const std::byte> payload) {
  if (!shared_.life.accepting) return;
  if (dispatcher_.is_this_thread()) issuer_.completed(sequence, status, payload);
  delivery_.result(sequence, status, payload);
}

void Session::progress(uint64_t stream, uint64_t sequence) {
  if (!shared_.life.accepting) return;
  shared_.progress.done(stream, sequence);
  replay_.wake();
  shared_.completions.progress(stream, sequence);
}

void Session::fault(uint64_t sequence, uint32_t status, std::string_view cause, std::string_view message) {
  shared_.fault(sequence, status, cause, message);
}

void Session::race(const Race& race) { shared_.host.report_race(shared_.request.session, race); }

void Session::injection_point(const ops::OpHeader& op, std::string_view phase) {
  issuer_.at_point(op, phase);
}

/// The service turns down a join when a recovery has begun that this session has not heard of yet. The fence
/// is on its way then, and gives the op up.
CommunicatorSegment Session::join(const std::array<uint8_t, 128>& unique_id, uint32_t ranks, uint32_t rank) {
  Lifecycle& life = shared_.life;
  const uint64_t epoch = life.epoch;
  CommunicatorSegment segment = shared_.host.join(shared_.request.session, unique_id, ranks, rank, epoch);
  if (!segment.superseded) return segment;
  Lifecycle::Lock lock(life.mutex);
  life.changed.wait(lock, [&] { return life.epoch != epoch || !life.runs() || life.stop; });
  return segment;
}

}  // namespace jitc
