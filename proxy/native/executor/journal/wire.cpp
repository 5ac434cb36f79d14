#include "wire.h"

#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "jitc/generated_op_traits.h"
#include "jitc/shared_steps.h"

namespace jitc::wire {
namespace {

/// Bytes of lt_matmul before the description: alpha, beta, algorithm.
constexpr uint64_t kLtFixed = 2 * sizeof(ops::BlasSlot) + 64;
constexpr uint16_t kKnownFlags = ops::kFlagWait | ops::kPhaseMask | ops::kFlagOtherThread;

/// Reader of protobuf fields; every function throws Error at the end of the message.
class Reader {
 public:
  explicit Reader(Bytes message) : rest_(message) {}
  bool done() const { return rest_.empty(); }
  Bytes take(uint64_t size) {
    if (size > rest_.size()) throw Error("the message is truncated");
    const Bytes part = rest_.first(size);
    rest_ = rest_.subspan(size);
    return part;
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<uint8_t>(take(1)[0]);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (!(byte & 0x80)) return value;
    }
    throw Error("the message holds a number that is too long");
  }
  uint64_t fixed64() {
    uint64_t value;
    std::memcpy(&value, take(8).data(), 8);
    return value;
  }
  void skip(uint64_t wire_type) {
    switch (wire_type) {
      case 0:
        varint();
        return;
      case 1:
        take(8);
        return;
      case 2:
        take(varint());
        return;
      case 5:
        take(4);
        return;
      default:
        throw Error("the message is no OpBatch");
    }
  }

 private:
  Bytes rest_;
};

template <class Op>
void check_live_blocks(const OpView& op, uint64_t left) {
  if (left % sizeof(ops::LiveBlock) || operands<Op>(op).count != left / sizeof(ops::LiveBlock))
    refuse(op, "does not hold as many live blocks as it says");
}

void check_copy_size(const OpView& op, uint64_t bytes) {
  if (bytes > kMaximumCopy) refuse(op, "copies more than 1 MiB at once");
}

/// Returns whether the rest of a record, which is padded to 8, is so many bytes.
constexpr bool holds(uint64_t left, uint64_t bytes) { return bytes <= left && left - bytes < 8; }

void check_image_size(const OpView& op, uint64_t bytes) {
  if (bytes == 0 || bytes > kMaximumImage) refuse(op, "names an image of no size, or of more than 2 GiB");
}

void check_image_part(const OpView& op, uint64_t left) {
  const auto part = operands<ops::ImagePart>(op);
  check_image_size(op, part.total);
  if (part.bytes == 0 || part.bytes > kMaximumCopy) refuse(op, "brings nothing, or more than 1 MiB at once");
  if (!holds(left, part.bytes)) refuse(op, "does not hold as many bytes as it brings");
  if (part.offset > part.total || part.bytes > part.total - part.offset)
    refuse(op, "lies outside of its image");
}

template <class Op>
void check_name(const OpView& op, uint64_t left) {
  const uint64_t bytes = operands<Op>(op).bytes;
  if (bytes == 0 || bytes > kMaximumName) refuse(op, "has no name, or one of more than 64 KiB");
  if (!holds(left, bytes)) refuse(op, "does not hold a name as long as it says");
  if (std::memchr(op.record.data() + sizeof(Op), 0, bytes)) refuse(op, "has a name with a zero in it");
}

void check_launch(const OpView& op, uint64_t left) {
  const auto launch = operands<ops::KernelLaunch>(op);
  if (launch.attributes > kMaximumAttributes) refuse(op, "has more than 64 launch attributes");
  if (launch.parameters > kMaximumParameters) refuse(op, "has more than 32 KiB of parameters");
  if (!holds(left, launch.attributes * sizeof(ops::LaunchAttribute) + launch.parameters))
    refuse(op, "does not hold as many attributes and parameters as it says");
}

void check_items(const OpView& op, uint64_t left) {
  const uint64_t count = operands<ops::Collective>(op).count;
  if (count == 0 || left % sizeof(ops::CollectiveItem) || count != left / sizeof(ops::CollectiveItem))
    refuse(op, "does not hold as many items as it says");
}

void check_copy_bytes(const OpView& op, uint64_t left) {
  const uint64_t bytes = operands<ops::CopyH2d>(op).bytes;
  check_copy_size(op, bytes);
  if (!holds(left, bytes)) refuse(op, "does not hold as many bytes as it copies");
}

void check_blas_slots(const OpView& op, uint64_t left) {
  if (left != operands<ops::BlasCall>(op).slots * uint64_t{sizeof(ops::BlasSlot)})
    refuse(op, "does not hold as many arguments as it says");
}

void check_described(const OpView& op, uint64_t left, uint64_t bytes) {
  if (!holds(left, bytes)) refuse(op, "does not hold a description as long as it says");
}

void check_scaled_description(const OpView& op, uint64_t left) {
  if (left < kLtFixed) refuse(op, "does not hold a description as long as it says");
  check_described(op, left - kLtFixed, operands<ops::LtMatmul>(op).bytes);
}

template <class Op>
void check_tensors(const OpView& op, uint64_t left) {
  const uint64_t count = operands<Op>(op).count;
  if (left % sizeof(ops::DnnTensor) || count != left / sizeof(ops::DnnTensor))
    refuse(op, "does not hold as many tensors as it says");
}

/// Checks operands and payload by the op's rule; `left` is what the record has after the operands.
template <class Op>
void check_payload(const OpView& op, uint64_t left) {
  using ops::Check;
  constexpr Check kRule = ops::traits(Op::kId).check;
  if constexpr (kRule == Check::live_blocks)
    check_live_blocks<Op>(op, left);
  else if constexpr (kRule == Check::items)
    check_items(op, left);
  else if constexpr (kRule == Check::copy_bytes)
    check_copy_bytes(op, left);
  else if constexpr (kRule == Check::copy_size)
    check_copy_size(op, operands<Op>(op).bytes);
  else if constexpr (kRule == Check::image_size)
    check_image_size(op, operands<Op>(op).bytes);
  else if constexpr (kRule == Check::image_part)
    check_image_part(op, left);
  else if constexpr (kRule == Check::name)
    check_name<Op>(op, left);
  else if constexpr (kRule == Check::launch)
    check_launch(op, left);
  else if constexpr (kRule == Check::blas_slots)
    check_blas_slots(op, left);
  else if constexpr (kRule == Check::description)
    check_described(op, left, operands<Op>(op).bytes);
  else if constexpr (kRule == Check::scaled_description)
    check_scaled_description(op, left);
  else if constexpr (kRule == Check::tensors)
    check_tensors<Op>(op, left);
  else  // a device's operator library checks its calls itself
    static_assert(kRule == Check::none || kRule == Check::operator_call, "a rule that nobody checks");
}

OpView parse_op(Bytes records) {
  OpView op;
  if (records.size() < sizeof(op.header)) throw Error("an op is truncated");
  std::memcpy(&op.header, records.data(), sizeof(op.header));
  const uint32_t size = op.header.size;
  const ops::OpInfo* const info = ops::find(op.header.op);
  if (!info) refuse(op, "is not known to this worker: client and service are of different versions");
  if (size > ops::kMaximumRecord) refuse(op, "is larger than a record may be");
  if (size % 8 || size < info->fixed_size) refuse(op, "has a wrong size");
  if (size > records.size()) refuse(op, "is truncated");
  if (!info->has_payload && size != info->fixed_size) refuse(op, "has a wrong size");
  if (op.header.flags & ~kKnownFlags || (op.header.flags & ops::kPhaseMask) == ops::kPhaseMask)
    refuse(op, "has unknown flags");
  op.record = records.first(size);
  ops::with_type(info->id, [&]<class Op>() { check_payload<Op>(op, size - info->fixed_size); });
  return op;
}

void parse_records(Bytes records, std::vector<OpView>& out) {
  while (!records.empty()) {
    out.push_back(parse_op(records));
    records = records.subspan(out.back().record.size());
    if (out.size() > 1 && out.back().header.sequence != out[out.size() - 2].header.sequence + 1)
      refuse(out.back(), "does not follow the op before it");
  }
}

}  // namespace

bool shares_step(const ops::OpHeader& op) {
  if (!(op.flags & ops::kFlagOtherThread)) return false;
  const auto id = static_cast<ops::OpId>(op.op);
  const ops::OpTraits& traits = ops::traits(id);
  const bool orders = id == ops::OpId::event_record || id == ops::OpId::event_wait;
  const bool computes = traits.on_stream && traits.reads == ops::Reads::nothing && !orders;
  return traits.taker == ops::Taker::step_begin || computes;
}

void refuse(const OpView& op, const std::string& why) {
  throw Error(op_name(op.header.op) + " (sequence " + std::to_string(op.header.sequence) + ") " + why);
}

Batch parse_batch(Bytes message) {
  if (message.size() > kMaximumBatch) throw Error("the message is larger than 64 MiB");
  Batch batch;
  Reader reader(message);
  bool has_records = false;
  while (!reader.done()) {
    const uint64_t tag = reader.varint();
    if (tag == (1 << 3 | 2)) {
      if (has_records) throw Error("the message holds its records twice");
      has_records = true;
      parse_records(reader.take(reader.varint()), batch.ops);
    } else if (tag == (2 << 3 | 1)) {
      batch.results_received = reader.fixed64();
    } else if (tag >> 3 == 0 || tag >> 3 == 1 || tag >> 3 == 2) {
      throw Error("the message is no OpBatch");
    } else {
      reader.skip(tag & 7);
    }
  }
  return batch;
}

void append_completion(std::vector<std::byte>& out, CompletionKind kind, uint32_t status, uint64_t stream,
                       uint64_t sequence, Bytes payload) {
  const size_t size = completion_size(payload.size());
  CompletionHeader header;
  header.size = static_cast<uint32_t>(size);
  header.kind = static_cast<uint16_t>(kind);
  header.padding = static_cast<uint16_t>(size - sizeof(header) - payload.size());
  header.status = status;
  header.stream = stream;
  header.sequence = sequence;
  const size_t at = out.size();
  out.resize(at + size);
  std::memcpy(out.data() + at, &header, sizeof(header));
  if (!payload.empty()) std::memcpy(out.data() + at + sizeof(header), payload.data(), payload.size());
}

size_t write_prefix(std::byte* out, size_t size) {
  size_t length = 0;
  out[length++] = std::byte{1 << 3 | 2};
  for (; size >= 0x80; size >>= 7) out[length++] = static_cast<std::byte>((size & 0x7f) | 0x80);
  out[length++] = static_cast<std::byte>(size);
  return length;
}

std::string op_name(uint16_t id) {
  if (const ops::OpInfo* const info = ops::find(id)) return "op " + std::string(info->name);
  char text[16];
  std::snprintf(text, sizeof(text), "op 0x%04x", id);
  return text;
}

}  // namespace jitc::wire
