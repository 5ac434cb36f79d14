// Generated from protos/ops/table.py by `python -m jitc.interpose.generator`; do not edit.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace jitc::ops {

inline constexpr uint32_t kFormatVersion = 1;

/// Every op starts with this; records are little-endian and 8-byte aligned.
struct OpHeader {
  uint32_t size{};      // whole record in bytes, header and padding included, a multiple of 8
  uint16_t op{};        // OpId
  uint16_t flags{};     // kFlagWait, kPhaseMask
  uint64_t stream{};    // virtual stream; 0 is the legacy default stream
  uint64_t sequence{};  // per session, from 1, without gaps
};
static_assert(sizeof(OpHeader) == 24);
inline constexpr uint16_t kFlagWait = 1;         // the client waits for a RESULT
inline constexpr uint16_t kPhaseShift = 1;       // two bits: Phase
inline constexpr uint16_t kPhaseMask = 3 << kPhaseShift;
inline constexpr uint32_t kMaximumRecord = 4u << 20;

enum class OpId : uint16_t {
  step_begin = 0x0101,
  boundary = 0x0102,
  live_set = 0x0103,
  order_site = 0x0104,
  order_known = 0x0105,
  order_host = 0x0106,
  order_unasked = 0x0107,
  known = 0x0108,
  allocate = 0x0201,
  free = 0x0202,
  copy_h2d = 0x0203,
  copy_d2h = 0x0204,
  copy_d2d = 0x0205,
  copy_2d = 0x0206,
  fill = 0x0207,
  memory_info = 0x0208,
  copy_h2d_pinned = 0x0209,
  copy_d2h_pinned = 0x020a,
  host_register = 0x020b,
  host_unregister = 0x020c,
  memory_hold = 0x020d,
  memory_map = 0x020e,
  memory_drop = 0x020f,
  copy_3d = 0x0210,
  stream_create = 0x0301,
  stream_destroy = 0x0302,
  stream_synchronize = 0x0303,
  device_synchronize = 0x0304,
  event_create = 0x0305,
  event_destroy = 0x0306,
  event_record = 0x0307,
  event_wait = 0x0308,
  event_synchronize = 0x0309,
  event_elapsed = 0x030a,
  operator_call = 0x0401,
  operator_query = 0x0402,
  kernel_launch = 0x0403,
  communicator_create = 0x0501,
  communicator_split = 0x0502,
  communicator_destroy = 0x0503,
  collective = 0x0504,
  communicator_abort = 0x0505,
  matmul = 0x0601,
  blas_create = 0x0602,
  blas_destroy = 0x0603,
  blas_set = 0x0604,
  blas_call = 0x0605,
  lt_heuristic = 0x0606,
  lt_matmul = 0x0607,
  library_call = 0x0608,
  library_ask = 0x0609,
  image_query = 0x0701,
  image_part = 0x0702,
  module_load = 0x0703,
  module_unload = 0x0704,
  function_get = 0x0705,
  function_set = 0x0706,
  function_query = 0x0707,
  variable_get = 0x0708,
  tensor_map = 0x0709,
  limit_set = 0x070a,
  variable_alias = 0x070b,
  capture_begin = 0x0801,
  capture_end = 0x0802,
  graph_destroy = 0x0803,
  graph_instantiate = 0x0804,
  graph_launch = 0x0805,
  executable_destroy = 0x0806,
  dnn_ask = 0x0901,
  dnn_call = 0x0902,
  dnn_try = 0x0903,
  dnn_plan_load = 0x0904,
  dnn_plan_drop = 0x0905,
  dnn_execute = 0x0906,
  dnn_execute_try = 0x0907,
};

enum class CollectiveKind : uint32_t { all_reduce = 0, broadcast = 1, reduce = 2, all_gather = 3, reduce_scatter = 4, all_to_all = 5, send = 6, receive = 7 };

enum class Reduction : uint32_t { sum = 0, prod = 1, max = 2, min = 3, avg = 4, premul_sum = 5 };

enum class Phase : uint32_t { forward = 0, backward = 1, optimizer = 2 };

enum class OccupancyKind : uint32_t { active_blocks = 0, available_shared = 1, potential_cluster = 2, active_clusters = 3 };

enum class BlasField : uint32_t { math_mode = 0, pointer_mode = 1, atomics_mode = 2, workspace = 3 };

enum class BlasSlotKind : uint32_t { number = 0, address = 1, scalar = 2 };

enum class LtKind : uint32_t { descriptor = 0, layout = 1, preference = 2 };

enum class ObjectKind : uint32_t { backend = 0, tensor = 1, filter = 2, convolution = 3, activation = 4, pooling = 5, dropout = 6, rnn = 7, rnn_data = 8, ctc_loss = 9, transformer = 10, lt_descriptor = 11, lt_layout = 12, lt_preference = 13 };

enum class SlotKind : uint32_t { number = 0, real = 1, address = 2, null = 3, object = 4, handle = 5, scalar = 6, array = 7, objects = 8, result = 9 };

struct LiveBlock {
  uint64_t address{};  // device address
  uint64_t bytes{};  // size in bytes
  uint64_t ordinal{};  // allocation order in the program: equal on equal ranks; bit 61: a whole allocation
};
static_assert(sizeof(LiveBlock) == 24 && std::is_trivially_copyable_v<LiveBlock>);

struct CollectiveItem {
  uint64_t comm{};  // virtual communicator
  uint32_t kind{};  // CollectiveKind
  uint32_t dtype{};  // ncclDataType_t value
  uint32_t reduction{};  // Reduction
  int32_t peer{};  // root of broadcast and reduce, peer of send and receive; else -1
  uint64_t count{};  // elements, as the NCCL call of that kind counts them
  uint64_t send{};  // device address read, or 0
  uint64_t receive{};  // device address written, or 0
  double scale{};  // factor of a pre-multiplied sum
  uint64_t scale_address{};  // device address of that factor (of dtype), or 0: use scale
};
static_assert(sizeof(CollectiveItem) == 64 && std::is_trivially_copyable_v<CollectiveItem>);

struct FunctionInfo {
  int32_t max_threads{};  // CUfunction_attribute 0
  int32_t static_shared{};  // 1
  int32_t constant{};  // 2
  int32_t local{};  // 3
  int32_t registers{};  // 4
  int32_t ptx_version{};  // 5
  int32_t binary_version{};  // 6
  int32_t cache_mode{};  // 7
  int32_t max_dynamic_shared{};  // 8
  int32_t carveout{};  // 9
  int32_t cluster_size_set{};  // 10
  int32_t cluster_width{};  // 11
  int32_t cluster_height{};  // 12
  int32_t cluster_depth{};  // 13
  int32_t cluster_size_free{};  // 14
  int32_t cluster_policy{};  // 15
  uint64_t parameters{};  // parameters that follow
};
static_assert(sizeof(FunctionInfo) == 72 && std::is_trivially_copyable_v<FunctionInfo>);

struct FunctionParameter {
  uint32_t offset{};  // in the parameter buffer
  uint32_t bytes{};
};
static_assert(sizeof(FunctionParameter) == 8 && std::is_trivially_copyable_v<FunctionParameter>);

struct LaunchAttribute {
  uint32_t id{};  // CUlaunchAttributeID
  uint32_t reserved{};
  std::array<uint8_t, 64> value{};  // CUlaunchAttributeValue
};
static_assert(sizeof(LaunchAttribute) == 72 && std::is_trivially_copyable_v<LaunchAttribute>);

struct BlasSlot {
  std::array<uint8_t, 16> value{};  // number (i64), address, or the scalar itself, from its first byte
  uint32_t kind{};  // BlasSlotKind
  uint32_t bytes{};  // used of value
};
static_assert(sizeof(BlasSlot) == 24 && std::is_trivially_copyable_v<BlasSlot>);

struct LtObject {
  uint32_t kind{};  // LtKind
  uint32_t attributes{};  // that follow, by number
  std::array<uint8_t, 64> create{};  // arguments of its ...Create function, as i64 each
};
static_assert(sizeof(LtObject) == 72 && std::is_trivially_copyable_v<LtObject>);

struct LtAttribute {
  uint32_t attribute{};
  uint32_t bytes{};  // used of value
  std::array<uint8_t, 64> value{};
};
static_assert(sizeof(LtAttribute) == 72 && std::is_trivially_copyable_v<LtAttribute>);

struct ObjectHead {
  uint32_t kind{};  // ObjectKind
  uint32_t calls{};  // that made it, in their order
};
static_assert(sizeof(ObjectHead) == 8 && std::is_trivially_copyable_v<ObjectHead>);

struct CallHead {
  uint32_t function{};  // FNV-1a, 32 bit, of its name
  uint32_t slots{};  // CallSlot that follow
};
static_assert(sizeof(CallHead) == 8 && std::is_trivially_copyable_v<CallHead>);

struct CallSlot {
  uint64_t value{};  // number (i64), real (f64), address, scalar (its bytes), place of an object
  uint32_t kind{};  // SlotKind
  uint32_t bytes{};  // of a scalar (more than 8 follow); that follow (array, objects: u64 places); wanted (result); else 8
};
static_assert(sizeof(CallSlot) == 16 && std::is_trivially_copyable_v<CallSlot>);

struct DnnTensor {
  int64_t uid{};  // unique identifier of the tensor
  std::array<uint8_t, 16> value{};  // device address, or the value of a tensor by value
  uint32_t kind{};  // SlotKind: address or scalar
  uint32_t bytes{};  // used of value
};
static_assert(sizeof(DnnTensor) == 32 && std::is_trivially_copyable_v<DnnTensor>);

struct DnnPart {
  uint64_t offset{};  // of a matrix or bias in the weight space
  uint32_t found{};  // 0: there is none
  int32_t type{};  // cudnnDataType_t
  int32_t dimensions{};  // at most 8
  uint32_t reserved{};
  std::array<uint8_t, 64> shape{};  // i32 sizes[8], i32 strides[8]
};
static_assert(sizeof(DnnPart) == 88 && std::is_trivially_copyable_v<DnnPart>);

/// An optimizer step is about to change state (pre hook).
struct StepBegin {
  static constexpr OpId kId = OpId::step_begin;
  OpHeader header{};
  uint64_t step{};  // steps begun in this session, from 1
};
static_assert(sizeof(StepBegin) == 32 && std::is_trivially_copyable_v<StepBegin>);

/// The optimizer step is over (post hook): a boundary, with what is live. What is not in the list may be lost: an allocation is in it as a whole, unless somebody names what is live there (jitc_follow_memory). Payload: LiveBlock[count], by ordinal.
struct Boundary {
  static constexpr OpId kId = OpId::boundary;
  OpHeader header{};
  uint64_t boundary{};  // number of the boundary, from 1
  uint64_t count{};  // live blocks that follow
};
static_assert(sizeof(Boundary) == 40 && std::is_trivially_copyable_v<Boundary>);

/// What is live as the optimizer step begins, listed as for a boundary; comes right before step_begin. An empty list is one. Payload: LiveBlock[count], by ordinal.
struct LiveSet {
  static constexpr OpId kId = OpId::live_set;
  OpHeader header{};
  uint64_t count{};  // live blocks that follow
};
static_assert(sizeof(LiveSet) == 32 && std::is_trivially_copyable_v<LiveSet>);

/// Where the program is: of the ops that follow, until the next one. Payload: operator, line feed, place in the program.
struct OrderSite {
  static constexpr OpId kId = OpId::order_site;
  OpHeader header{};
  uint64_t bytes{};  // of the text
};
static_assert(sizeof(OrderSite) == 32 && std::is_trivially_copyable_v<OrderSite>);

/// The program knows that a stream is done up to an op, without having asked.
struct OrderKnown {
  static constexpr OpId kId = OpId::order_known;
  OpHeader header{};
  uint64_t stream{};  // virtual stream
  uint64_t until{};  // sequence of that op; 0: all streams, up to here
};
static_assert(sizeof(OrderKnown) == 40 && std::is_trivially_copyable_v<OrderKnown>);

/// The next copy reads or writes this memory of the program, which is pinned.
struct OrderHost {
  static constexpr OpId kId = OpId::order_host;
  OpHeader header{};
  uint64_t address{};
  uint64_t bytes{};
  uint32_t written{};  // 1: by the copy
  uint32_t reserved{};  // padding, zero
};
static_assert(sizeof(OrderHost) == 48 && std::is_trivially_copyable_v<OrderHost>);

/// The next wait for the header's stream is not the program's own.
struct OrderUnasked {
  static constexpr OpId kId = OpId::order_unasked;
  OpHeader header{};
};
static_assert(sizeof(OrderUnasked) == 24 && std::is_trivially_copyable_v<OrderUnasked>);

/// The program knows, from the progress page, that a stream is done up to an op.
struct Known {
  static constexpr OpId kId = OpId::known;
  OpHeader header{};
  uint64_t stream{};  // virtual stream
  uint64_t until{};  // sequence of that op
};
static_assert(sizeof(Known) == 40 && std::is_trivially_copyable_v<Known>);

/// Map memory at an address that the client chose.
struct Allocate {
  static constexpr OpId kId = OpId::allocate;
  OpHeader header{};
  uint64_t address{};  // inside the session's range, 2 MiB aligned
  uint64_t bytes{};  // size, a multiple of 4096
};
static_assert(sizeof(Allocate) == 40 && std::is_trivially_copyable_v<Allocate>);

/// Unmap an allocation.
struct Free {
  static constexpr OpId kId = OpId::free;
  OpHeader header{};
  uint64_t address{};  // as given to allocate
};
static_assert(sizeof(Free) == 32 && std::is_trivially_copyable_v<Free>);

/// Write the payload to device memory. Payload: bytes.
struct CopyH2d {
  static constexpr OpId kId = OpId::copy_h2d;
  OpHeader header{};
  uint64_t address{};  // destination
  uint64_t bytes{};  // payload bytes, at most 1 MiB
};
static_assert(sizeof(CopyH2d) == 40 && std::is_trivially_copyable_v<CopyH2d>);

/// Read device memory. Result: bytes.
struct CopyD2h {
  static constexpr OpId kId = OpId::copy_d2h;
  OpHeader header{};
  uint64_t address{};  // source
  uint64_t bytes{};  // at most 1 MiB
  uint32_t element{};  // jitc_element_type: what a replay may compare as numbers
  uint32_t reserved{};  // padding, zero
};
static_assert(sizeof(CopyD2h) == 48 && std::is_trivially_copyable_v<CopyD2h>);

/// Copy inside device memory.
struct CopyD2d {
  static constexpr OpId kId = OpId::copy_d2d;
  OpHeader header{};
  uint64_t destination{};
  uint64_t source{};
  uint64_t bytes{};
};
static_assert(sizeof(CopyD2d) == 48 && std::is_trivially_copyable_v<CopyD2d>);

/// Copy rows inside device memory.
struct Copy2d {
  static constexpr OpId kId = OpId::copy_2d;
  OpHeader header{};
  uint64_t destination{};
  uint64_t destination_pitch{};
  uint64_t source{};
  uint64_t source_pitch{};
  uint64_t width{};  // bytes
  uint64_t height{};  // rows
};
static_assert(sizeof(Copy2d) == 72 && std::is_trivially_copyable_v<Copy2d>);

/// Fill device memory with a repeated value.
struct Fill {
  static constexpr OpId kId = OpId::fill;
  OpHeader header{};
  uint64_t address{};  // a multiple of width
  uint64_t bytes{};  // a multiple of width
  uint32_t value{};
  uint32_t width{};  // 1, 2 or 4
};
static_assert(sizeof(Fill) == 48 && std::is_trivially_copyable_v<Fill>);

/// Free and total memory. Result: u64 free, u64 total.
struct MemoryInfo {
  static constexpr OpId kId = OpId::memory_info;
  OpHeader header{};
};
static_assert(sizeof(MemoryInfo) == 24 && std::is_trivially_copyable_v<MemoryInfo>);

/// Write bytes of the session's pinned memory to device memory. The journal has copy_h2d, with the bytes.
struct CopyH2dPinned {
  static constexpr OpId kId = OpId::copy_h2d_pinned;
  OpHeader header{};
  uint64_t address{};  // destination
  uint64_t source{};  // inside the session's pinned memory
  uint64_t bytes{};  // at most 1 MiB
};
static_assert(sizeof(CopyH2dPinned) == 48 && std::is_trivially_copyable_v<CopyH2dPinned>);

/// Read device memory into the session's pinned memory; when it is replayed for a known result, only compare. Result: 16 bytes, XXH3 128 bit of what was read.
struct CopyD2hPinned {
  static constexpr OpId kId = OpId::copy_d2h_pinned;
  OpHeader header{};
  uint64_t address{};  // source
  uint64_t destination{};  // inside the session's pinned memory
  uint64_t bytes{};  // at most 1 MiB
};
static_assert(sizeof(CopyD2hPinned) == 48 && std::is_trivially_copyable_v<CopyD2hPinned>);

/// Kernels may use a range of the session's pinned memory, at the address that it has in the program.
struct HostRegister {
  static constexpr OpId kId = OpId::host_register;
  OpHeader header{};
  uint64_t address{};  // a multiple of 4096
  uint64_t bytes{};  // a multiple of 4096
};
static_assert(sizeof(HostRegister) == 40 && std::is_trivially_copyable_v<HostRegister>);

/// The opposite, once everything given before has run.
struct HostUnregister {
  static constexpr OpId kId = OpId::host_unregister;
  OpHeader header{};
  uint64_t address{};  // as given to host_register
};
static_assert(sizeof(HostUnregister) == 32 && std::is_trivially_copyable_v<HostUnregister>);

/// Hold physical memory that has no address yet.
struct MemoryHold {
  static constexpr OpId kId = OpId::memory_hold;
  OpHeader header{};
  uint64_t handle{};  // virtual, of the memory
  uint64_t bytes{};  // size, a multiple of 4096
};
static_assert(sizeof(MemoryHold) == 40 && std::is_trivially_copyable_v<MemoryHold>);

/// Give held memory its address: from here on it is an allocation, which free takes away.
struct MemoryMap {
  static constexpr OpId kId = OpId::memory_map;
  OpHeader header{};
  uint64_t handle{};  // as given to memory_hold
  uint64_t address{};  // inside the session's range, 2 MiB aligned
};
static_assert(sizeof(MemoryMap) == 40 && std::is_trivially_copyable_v<MemoryMap>);

/// Give up held memory that has no address.
struct MemoryDrop {
  static constexpr OpId kId = OpId::memory_drop;
  OpHeader header{};
  uint64_t handle{};  // as given to memory_hold
};
static_assert(sizeof(MemoryDrop) == 32 && std::is_trivially_copyable_v<MemoryDrop>);

/// Copy slices of rows inside device memory.
struct Copy3d {
  static constexpr OpId kId = OpId::copy_3d;
  OpHeader header{};
  uint64_t destination{};
  uint64_t destination_pitch{};  // from row to row
  uint64_t destination_slice{};  // from slice to slice
  uint64_t source{};
  uint64_t source_pitch{};
  uint64_t source_slice{};
  uint64_t width{};  // bytes
  uint64_t height{};  // rows of a slice
  uint64_t depth{};  // slices
};
static_assert(sizeof(Copy3d) == 96 && std::is_trivially_copyable_v<Copy3d>);

/// Create a stream.
struct StreamCreate {
  static constexpr OpId kId = OpId::stream_create;
  OpHeader header{};
  uint64_t handle{};  // virtual stream
  uint32_t flags{};  // cudaStreamCreateWithFlags
  int32_t priority{};
};
static_assert(sizeof(StreamCreate) == 40 && std::is_trivially_copyable_v<StreamCreate>);

/// Destroy a stream once its work is done.
struct StreamDestroy {
  static constexpr OpId kId = OpId::stream_destroy;
  OpHeader header{};
  uint64_t handle{};
};
static_assert(sizeof(StreamDestroy) == 32 && std::is_trivially_copyable_v<StreamDestroy>);

/// Completes when the header's stream has done all before.
struct StreamSynchronize {
  static constexpr OpId kId = OpId::stream_synchronize;
  OpHeader header{};
};
static_assert(sizeof(StreamSynchronize) == 24 && std::is_trivially_copyable_v<StreamSynchronize>);

/// Completes when every stream has done all before.
struct DeviceSynchronize {
  static constexpr OpId kId = OpId::device_synchronize;
  OpHeader header{};
};
static_assert(sizeof(DeviceSynchronize) == 24 && std::is_trivially_copyable_v<DeviceSynchronize>);

/// Create an event.
struct EventCreate {
  static constexpr OpId kId = OpId::event_create;
  OpHeader header{};
  uint64_t handle{};  // virtual event
  uint64_t flags{};
};
static_assert(sizeof(EventCreate) == 40 && std::is_trivially_copyable_v<EventCreate>);

/// Destroy an event.
struct EventDestroy {
  static constexpr OpId kId = OpId::event_destroy;
  OpHeader header{};
  uint64_t handle{};
};
static_assert(sizeof(EventDestroy) == 32 && std::is_trivially_copyable_v<EventDestroy>);

/// Record an event on the header's stream.
struct EventRecord {
  static constexpr OpId kId = OpId::event_record;
  OpHeader header{};
  uint64_t event{};
};
static_assert(sizeof(EventRecord) == 32 && std::is_trivially_copyable_v<EventRecord>);

/// The header's stream waits for the event's latest record.
struct EventWait {
  static constexpr OpId kId = OpId::event_wait;
  OpHeader header{};
  uint64_t event{};
};
static_assert(sizeof(EventWait) == 32 && std::is_trivially_copyable_v<EventWait>);

/// Completes when the event's latest record is done.
struct EventSynchronize {
  static constexpr OpId kId = OpId::event_synchronize;
  OpHeader header{};
  uint64_t event{};
};
static_assert(sizeof(EventSynchronize) == 32 && std::is_trivially_copyable_v<EventSynchronize>);

/// Milliseconds between two recorded events. Result: f32 milliseconds.
struct EventElapsed {
  static constexpr OpId kId = OpId::event_elapsed;
  OpHeader header{};
  uint64_t start{};
  uint64_t end{};
};
static_assert(sizeof(EventElapsed) == 40 && std::is_trivially_copyable_v<EventElapsed>);

/// Run an ATen operator into given outputs (software device). Payload: operator call.
struct OperatorCall {
  static constexpr OpId kId = OpId::operator_call;
  OpHeader header{};
};
static_assert(sizeof(OperatorCall) == 24 && std::is_trivially_copyable_v<OperatorCall>);

/// Output metadata, or values, of an ATen operator; changes nothing. Payload: operator call. Result: operator reply.
struct OperatorQuery {
  static constexpr OpId kId = OpId::operator_query;
  OpHeader header{};
};
static_assert(sizeof(OperatorQuery) == 24 && std::is_trivially_copyable_v<OperatorQuery>);

/// Launch a kernel on the header's stream. Payload: LaunchAttribute[attributes], parameter buffer.
struct KernelLaunch {
  static constexpr OpId kId = OpId::kernel_launch;
  OpHeader header{};
  uint64_t function{};  // virtual function
  uint32_t grid_x{};
  uint32_t grid_y{};
  uint32_t grid_z{};
  uint32_t block_x{};
  uint32_t block_y{};
  uint32_t block_z{};
  uint32_t shared{};  // dynamic shared memory in bytes
  uint32_t attributes{};  // launch attributes that follow
  uint64_t parameters{};  // bytes of the parameter buffer that follows them
};
static_assert(sizeof(KernelLaunch) == 72 && std::is_trivially_copyable_v<KernelLaunch>);

/// Join a communicator.
struct CommunicatorCreate {
  static constexpr OpId kId = OpId::communicator_create;
  OpHeader header{};
  uint64_t handle{};  // virtual communicator
  int32_t ranks{};
  int32_t rank{};
  std::array<uint8_t, 128> unique_id{};  // ncclUniqueId
};
static_assert(sizeof(CommunicatorCreate) == 168 && std::is_trivially_copyable_v<CommunicatorCreate>);

/// Split a communicator. Result: i32 ranks, i32 rank.
struct CommunicatorSplit {
  static constexpr OpId kId = OpId::communicator_split;
  OpHeader header{};
  uint64_t parent{};
  uint64_t handle{};  // new communicator
  int32_t color{};  // negative: no part
  int32_t key{};
};
static_assert(sizeof(CommunicatorSplit) == 48 && std::is_trivially_copyable_v<CommunicatorSplit>);

/// Leave a communicator.
struct CommunicatorDestroy {
  static constexpr OpId kId = OpId::communicator_destroy;
  OpHeader header{};
  uint64_t handle{};
};
static_assert(sizeof(CommunicatorDestroy) == 32 && std::is_trivially_copyable_v<CommunicatorDestroy>);

/// A group of collectives on the header's stream, done together. Payload: CollectiveItem[count].
struct Collective {
  static constexpr OpId kId = OpId::collective;
  OpHeader header{};
  uint64_t count{};  // items
};
static_assert(sizeof(Collective) == 32 && std::is_trivially_copyable_v<Collective>);

/// Leave a communicator at once: its collectives that wait for other ranks end, whatever they have done. Result: how far they have come, in the device's own form.
struct CommunicatorAbort {
  static constexpr OpId kId = OpId::communicator_abort;
  OpHeader header{};
  uint64_t handle{};
};
static_assert(sizeof(CommunicatorAbort) == 32 && std::is_trivially_copyable_v<CommunicatorAbort>);

/// D = alpha * op(A) @ op(B) + beta * C (+ bias), column major, batched (cublasGemm*, cublasLtMatmul).
struct Matmul {
  static constexpr OpId kId = OpId::matmul;
  OpHeader header{};
  int64_t m{};
  int64_t n{};
  int64_t k{};
  int64_t batch{};  // 1 or more
  uint64_t a{};
  int64_t lda{};
  int64_t stride_a{};  // elements
  uint64_t b{};
  int64_t ldb{};
  int64_t stride_b{};
  uint64_t c{};
  int64_t ldc{};
  int64_t stride_c{};
  uint64_t d{};
  int64_t ldd{};
  int64_t stride_d{};
  double alpha{};
  double beta{};
  uint64_t alpha_address{};  // device scalar of the scale type, or 0
  uint64_t beta_address{};
  uint64_t bias{};  // m elements added to every column, or 0
  uint64_t auxiliary{};  // epilogue's extra buffer, or 0
  int64_t auxiliary_ld{};
  uint32_t epilogue{};  // cublasLtEpilogue_t
  uint32_t transpose_a{};  // cublasOperation_t
  uint32_t transpose_b{};
  uint32_t type_a{};  // cudaDataType_t
  uint32_t type_b{};
  uint32_t type_c{};
  uint32_t type_d{};
  uint32_t type_bias{};
  uint32_t compute{};  // cublasComputeType_t
  uint32_t scale_type{};  // cudaDataType_t
};
static_assert(sizeof(Matmul) == 248 && std::is_trivially_copyable_v<Matmul>);

/// Create a cuBLAS handle.
struct BlasCreate {
  static constexpr OpId kId = OpId::blas_create;
  OpHeader header{};
  uint64_t handle{};  // virtual handle
};
static_assert(sizeof(BlasCreate) == 32 && std::is_trivially_copyable_v<BlasCreate>);

/// Destroy a cuBLAS handle.
struct BlasDestroy {
  static constexpr OpId kId = OpId::blas_destroy;
  OpHeader header{};
  uint64_t handle{};
};
static_assert(sizeof(BlasDestroy) == 32 && std::is_trivially_copyable_v<BlasDestroy>);

/// Change the state of a cuBLAS handle.
struct BlasSet {
  static constexpr OpId kId = OpId::blas_set;
  OpHeader header{};
  uint64_t handle{};
  uint32_t field{};  // BlasField
  int32_t mode{};  // of a mode field
  uint64_t address{};  // of the workspace
  uint64_t bytes{};  // of it; 0 without an address: the library's own; all ones: none at all
};
static_assert(sizeof(BlasSet) == 56 && std::is_trivially_copyable_v<BlasSet>);

/// A cuBLAS call as clients sent it before there was library_call; read as ever. Payload: BlasSlot[slots].
struct BlasCall {
  static constexpr OpId kId = OpId::blas_call;
  OpHeader header{};
  uint64_t handle{};  // virtual handle
  uint32_t function{};  // FNV-1a, 32 bit, of its name
  uint32_t slots{};  // arguments that follow: all but the handle and statuses on the host
};
static_assert(sizeof(BlasCall) == 40 && std::is_trivially_copyable_v<BlasCall>);

/// A cuBLASLt heuristic as clients asked for it before there was library_ask; read as ever. Payload: description: LtObject and LtAttribute[attributes] of descriptor, A, B, C, D, preference. Result: i32 status, u32 count, cublasLtMatmulHeuristicResult_t[count].
struct LtHeuristic {
  static constexpr OpId kId = OpId::lt_heuristic;
  OpHeader header{};
  uint64_t bytes{};  // of the description
  uint32_t requested{};  // algorithms wanted
  uint32_t reserved{};  // padding, zero
};
static_assert(sizeof(LtHeuristic) == 40 && std::is_trivially_copyable_v<LtHeuristic>);

/// cublasLtMatmul as clients sent it before there was library_call; read as ever. Payload: alpha and beta (BlasSlot each), cublasLtMatmulAlgo_t (64 bytes), description without preference.
struct LtMatmul {
  static constexpr OpId kId = OpId::lt_matmul;
  OpHeader header{};
  uint64_t a{};  // device address
  uint64_t b{};
  uint64_t c{};
  uint64_t d{};
  uint64_t workspace{};  // device address
  uint64_t workspace_bytes{};
  uint64_t bytes{};  // of the description
  uint32_t algorithm{};  // 1: the algorithm is given; 0: it is left to the library
  uint32_t reserved{};  // padding, zero
};
static_assert(sizeof(LtMatmul) == 88 && std::is_trivially_copyable_v<LtMatmul>);

/// Call a function of cuBLAS or cuBLASLt on the header's stream. Scalars as values or as addresses: the pointer mode. Payload: ObjectHead[objects], each with its CallHead[calls], then a CallHead; each with its CallSlot[slots].
struct LibraryCall {
  static constexpr OpId kId = OpId::library_call;
  OpHeader header{};
  uint64_t handle{};  // virtual cuBLAS handle; 0: of cuBLASLt
  uint32_t objects{};  // of cuBLASLt that come before the call
  uint32_t described{};  // bytes of the objects
  uint64_t bytes{};  // of the objects and the call
};
static_assert(sizeof(LibraryCall) == 48 && std::is_trivially_copyable_v<LibraryCall>);

/// Ask cuBLASLt for something. Payload: ObjectHead[objects], each with its CallHead[calls], then a CallHead; each with its CallSlot[slots]. Result: i32 status (cublasStatus_t), u32 0, then what the result slots of the call ask for.
struct LibraryAsk {
  static constexpr OpId kId = OpId::library_ask;
  OpHeader header{};
  uint64_t handle{};  // virtual cuBLAS handle; 0: of cuBLASLt
  uint32_t objects{};  // of cuBLASLt that come before the call
  uint32_t described{};  // bytes of the objects
  uint64_t bytes{};  // of the objects and the call
};
static_assert(sizeof(LibraryAsk) == 48 && std::is_trivially_copyable_v<LibraryAsk>);

/// Whether the node has a module image. Result: u32 present.
struct ImageQuery {
  static constexpr OpId kId = OpId::image_query;
  OpHeader header{};
  std::array<uint8_t, 16> hash{};  // XXH3 128 bit of the image, canonical form
  uint64_t bytes{};  // its size
};
static_assert(sizeof(ImageQuery) == 48 && std::is_trivially_copyable_v<ImageQuery>);

/// A part of a module image; it is complete when all its bytes have come. Payload: bytes.
struct ImagePart {
  static constexpr OpId kId = OpId::image_part;
  OpHeader header{};
  std::array<uint8_t, 16> hash{};  // XXH3 128 bit of the image, canonical form
  uint64_t total{};  // bytes of the image
  uint64_t offset{};
  uint64_t bytes{};  // payload bytes
};
static_assert(sizeof(ImagePart) == 64 && std::is_trivially_copyable_v<ImagePart>);

/// Load a module from an image that the node has.
struct ModuleLoad {
  static constexpr OpId kId = OpId::module_load;
  OpHeader header{};
  uint64_t module{};  // virtual module
  std::array<uint8_t, 16> hash{};  // XXH3 128 bit of the image, canonical form
  uint64_t bytes{};  // size of the image
};
static_assert(sizeof(ModuleLoad) == 56 && std::is_trivially_copyable_v<ModuleLoad>);

/// Unload a module.
struct ModuleUnload {
  static constexpr OpId kId = OpId::module_unload;
  OpHeader header{};
  uint64_t module{};
};
static_assert(sizeof(ModuleUnload) == 32 && std::is_trivially_copyable_v<ModuleUnload>);

/// Find a kernel of a module. Payload: name. Result: FunctionInfo, then FunctionParameter[parameters].
struct FunctionGet {
  static constexpr OpId kId = OpId::function_get;
  OpHeader header{};
  uint64_t module{};
  uint64_t function{};  // virtual function
  uint64_t bytes{};  // length of the name
};
static_assert(sizeof(FunctionGet) == 48 && std::is_trivially_copyable_v<FunctionGet>);

/// Set an attribute of a kernel (CUfunction_attribute).
struct FunctionSet {
  static constexpr OpId kId = OpId::function_set;
  OpHeader header{};
  uint64_t function{};
  int32_t attribute{};
  int32_t value{};
};
static_assert(sizeof(FunctionSet) == 40 && std::is_trivially_copyable_v<FunctionSet>);

/// Ask for the occupancy of a kernel. Result: u64.
struct FunctionQuery {
  static constexpr OpId kId = OpId::function_query;
  OpHeader header{};
  uint64_t function{};
  uint64_t shared{};  // dynamic shared memory per block
  uint32_t kind{};  // OccupancyKind
  uint32_t block{};  // threads per block
  uint32_t flags{};  // CUoccupancy_flags
  uint32_t cluster{};  // blocks per cluster, or 0
};
static_assert(sizeof(FunctionQuery) == 56 && std::is_trivially_copyable_v<FunctionQuery>);

/// Find a device variable of a module, and tell its address, which must be the same after a rebuild. Payload: name. Result: u64 address, u64 bytes.
struct VariableGet {
  static constexpr OpId kId = OpId::variable_get;
  OpHeader header{};
  uint64_t module{};
  uint64_t bytes{};  // length of the name
};
static_assert(sizeof(VariableGet) == 40 && std::is_trivially_copyable_v<VariableGet>);

/// Encode a tensor map (jitc/tensor_map.h). Its bytes depend on the arguments alone. Result: bytes128.
struct TensorMap {
  static constexpr OpId kId = OpId::tensor_map;
  OpHeader header{};
  uint64_t address{};  // of the tensor
  std::array<uint8_t, 128> sizes{};  // TensorMapSizes
  std::array<uint8_t, 64> boxes{};  // TensorMapBoxes
  uint32_t kind{};  // TensorMapKind
  uint32_t rank{};  // dimensions
  int32_t type{};  // CUtensorMapDataType
  int32_t interleave{};  // CUtensorMapInterleave
  int32_t swizzle{};  // CUtensorMapSwizzle
  int32_t promotion{};  // CUtensorMapL2promotion
  int32_t fill{};  // CUtensorMapFloatOOBfill
  uint32_t channels{};  // per pixel, of an im2col map
  uint32_t pixels{};  // per column, of an im2col map
  uint32_t unused{};
};
static_assert(sizeof(TensorMap) == 264 && std::is_trivially_copyable_v<TensorMap>);

/// Set a limit of the device for kernels (CUlimit): their stack, their heap, what they print. Result: u64 in force, which may be more.
struct LimitSet {
  static constexpr OpId kId = OpId::limit_set;
  OpHeader header{};
  int32_t limit{};
  uint32_t unused{};
  uint64_t value{};
};
static_assert(sizeof(LimitSet) == 40 && std::is_trivially_copyable_v<LimitSet>);

/// Find a device variable of a module. Ops name it by an alias, wherever it lies (jitc/variable_alias.h). Payload: name. Result: u64 bytes.
struct VariableAlias {
  static constexpr OpId kId = OpId::variable_alias;
  OpHeader header{};
  uint64_t module{};
  uint64_t alias{};  // that the client chose
  uint64_t bytes{};  // length of the name
};
static_assert(sizeof(VariableAlias) == 48 && std::is_trivially_copyable_v<VariableAlias>);

/// Begin to capture the header's stream.
struct CaptureBegin {
  static constexpr OpId kId = OpId::capture_begin;
  OpHeader header{};
  uint32_t mode{};  // CUstreamCaptureMode
  uint32_t reserved{};  // padding, zero
};
static_assert(sizeof(CaptureBegin) == 32 && std::is_trivially_copyable_v<CaptureBegin>);

/// End it; the ops since capture_begin are the graph. Result: u64 nodes.
struct CaptureEnd {
  static constexpr OpId kId = OpId::capture_end;
  OpHeader header{};
  uint64_t graph{};  // virtual graph
};
static_assert(sizeof(CaptureEnd) == 32 && std::is_trivially_copyable_v<CaptureEnd>);

/// Destroy a graph.
struct GraphDestroy {
  static constexpr OpId kId = OpId::graph_destroy;
  OpHeader header{};
  uint64_t graph{};
};
static_assert(sizeof(GraphDestroy) == 32 && std::is_trivially_copyable_v<GraphDestroy>);

/// Make a graph executable.
struct GraphInstantiate {
  static constexpr OpId kId = OpId::graph_instantiate;
  OpHeader header{};
  uint64_t graph{};
  uint64_t executable{};  // virtual executable graph
  uint64_t flags{};
};
static_assert(sizeof(GraphInstantiate) == 48 && std::is_trivially_copyable_v<GraphInstantiate>);

/// Launch it on the header's stream.
struct GraphLaunch {
  static constexpr OpId kId = OpId::graph_launch;
  OpHeader header{};
  uint64_t executable{};
};
static_assert(sizeof(GraphLaunch) == 32 && std::is_trivially_copyable_v<GraphLaunch>);

/// Destroy an executable graph.
struct ExecutableDestroy {
  static constexpr OpId kId = OpId::executable_destroy;
  OpHeader header{};
  uint64_t executable{};
};
static_assert(sizeof(ExecutableDestroy) == 32 && std::is_trivially_copyable_v<ExecutableDestroy>);

/// Ask cuDNN for something, or whether descriptors can be made. Payload: ObjectHead[objects], each with its CallHead[calls], then a CallHead; each with its CallSlot[slots]. Result: i32 status (cudnnStatus_t), u32 0, then what the result slots of the call ask for, or the library's words on a failure.
struct DnnAsk {
  static constexpr OpId kId = OpId::dnn_ask;
  OpHeader header{};
  uint32_t objects{};  // that follow, each behind those that it mentions
  uint32_t calls{};  // 1: a call follows them; 0: they are only made
  uint64_t bytes{};  // of both
};
static_assert(sizeof(DnnAsk) == 40 && std::is_trivially_copyable_v<DnnAsk>);

/// Call a cuDNN function on the header's stream. Payload: ObjectHead[objects], each with its CallHead[calls], then a CallHead; each with its CallSlot[slots].
struct DnnCall {
  static constexpr OpId kId = OpId::dnn_call;
  OpHeader header{};
  uint32_t objects{};  // that follow, each behind those that it mentions
  uint32_t calls{};  // 1: a call follows them; 0: they are only made
  uint64_t bytes{};  // of both
};
static_assert(sizeof(DnnCall) == 40 && std::is_trivially_copyable_v<DnnCall>);

/// The same, for a call that cuDNN may refuse. Payload: ObjectHead[objects], each with its CallHead[calls], then a CallHead; each with its CallSlot[slots]. Result: i32 status (cudnnStatus_t), u32 0, then the library's words on a failure.
struct DnnTry {
  static constexpr OpId kId = OpId::dnn_try;
  OpHeader header{};
  uint32_t objects{};  // that follow, each behind those that it mentions
  uint32_t calls{};  // 1: a call follows them; 0: they are only made
  uint64_t bytes{};  // of both
};
static_assert(sizeof(DnnTry) == 40 && std::is_trivially_copyable_v<DnnTry>);

/// Name an execution plan whose description the node has.
struct DnnPlanLoad {
  static constexpr OpId kId = OpId::dnn_plan_load;
  OpHeader header{};
  uint64_t plan{};  // virtual plan
  std::array<uint8_t, 16> hash{};  // XXH3 128 bit of the description, canonical form
  uint64_t bytes{};  // of it: u64 objects, ObjectHead[objects]; the last one is the plan
};
static_assert(sizeof(DnnPlanLoad) == 56 && std::is_trivially_copyable_v<DnnPlanLoad>);

/// Give up a plan.
struct DnnPlanDrop {
  static constexpr OpId kId = OpId::dnn_plan_drop;
  OpHeader header{};
  uint64_t plan{};
};
static_assert(sizeof(DnnPlanDrop) == 32 && std::is_trivially_copyable_v<DnnPlanDrop>);

/// Execute a plan on the header's stream. Payload: DnnTensor[count].
struct DnnExecute {
  static constexpr OpId kId = OpId::dnn_execute;
  OpHeader header{};
  uint64_t plan{};  // as given to dnn_plan_load
  uint64_t workspace{};  // device address
  uint64_t count{};  // tensors
};
static_assert(sizeof(DnnExecute) == 48 && std::is_trivially_copyable_v<DnnExecute>);

/// The same, for a plan that cuDNN may refuse. Payload: DnnTensor[count]. Result: i32 status (cudnnStatus_t), u32 0, then the library's words on a failure.
struct DnnExecuteTry {
  static constexpr OpId kId = OpId::dnn_execute_try;
  OpHeader header{};
  uint64_t plan{};  // as given to dnn_plan_load
  uint64_t workspace{};  // device address
  uint64_t count{};  // tensors
};
static_assert(sizeof(DnnExecuteTry) == 48 && std::is_trivially_copyable_v<DnnExecuteTry>);

/// What a decoder must know of an op before it looks inside.
struct OpInfo {
  OpId id;
  std::string_view name;
  uint32_t fixed_size;  // header and operands
  bool has_payload, waits, compared, resource;
};
inline constexpr std::array<OpInfo, 75> kOps{{
    {OpId::step_begin, "step_begin", sizeof(StepBegin), false, false, true, false},
    {OpId::boundary, "boundary", sizeof(Boundary), true, false, true, false},
    {OpId::live_set, "live_set", sizeof(LiveSet), true, false, true, false},
    {OpId::order_site, "order_site", sizeof(OrderSite), true, false, true, false},
    {OpId::order_known, "order_known", sizeof(OrderKnown), false, false, true, false},
    {OpId::order_host, "order_host", sizeof(OrderHost), false, false, true, false},
    {OpId::order_unasked, "order_unasked", sizeof(OrderUnasked), false, false, true, false},
    {OpId::known, "known", sizeof(Known), false, false, true, false},
    {OpId::allocate, "allocate", sizeof(Allocate), false, true, true, true},
    {OpId::free, "free", sizeof(Free), false, false, true, true},
    {OpId::copy_h2d, "copy_h2d", sizeof(CopyH2d), true, false, true, false},
    {OpId::copy_d2h, "copy_d2h", sizeof(CopyD2h), false, true, true, false},
    {OpId::copy_d2d, "copy_d2d", sizeof(CopyD2d), false, false, true, false},
    {OpId::copy_2d, "copy_2d", sizeof(Copy2d), false, false, true, false},
    {OpId::fill, "fill", sizeof(Fill), false, false, true, false},
    {OpId::memory_info, "memory_info", sizeof(MemoryInfo), false, true, false, false},
    {OpId::copy_h2d_pinned, "copy_h2d_pinned", sizeof(CopyH2dPinned), false, false, true, false},
    {OpId::copy_d2h_pinned, "copy_d2h_pinned", sizeof(CopyD2hPinned), false, true, true, false},
    {OpId::host_register, "host_register", sizeof(HostRegister), false, true, true, true},
    {OpId::host_unregister, "host_unregister", sizeof(HostUnregister), false, true, true, true},
    {OpId::memory_hold, "memory_hold", sizeof(MemoryHold), false, true, true, true},
    {OpId::memory_map, "memory_map", sizeof(MemoryMap), false, false, true, true},
    {OpId::memory_drop, "memory_drop", sizeof(MemoryDrop), false, false, true, true},
    {OpId::copy_3d, "copy_3d", sizeof(Copy3d), false, false, true, false},
    {OpId::stream_create, "stream_create", sizeof(StreamCreate), false, false, true, true},
    {OpId::stream_destroy, "stream_destroy", sizeof(StreamDestroy), false, false, true, true},
    {OpId::stream_synchronize, "stream_synchronize", sizeof(StreamSynchronize), false, true, true, false},
    {OpId::device_synchronize, "device_synchronize", sizeof(DeviceSynchronize), false, true, true, false},
    {OpId::event_create, "event_create", sizeof(EventCreate), false, false, true, true},
    {OpId::event_destroy, "event_destroy", sizeof(EventDestroy), false, false, true, true},
    {OpId::event_record, "event_record", sizeof(EventRecord), false, false, true, false},
    {OpId::event_wait, "event_wait", sizeof(EventWait), false, false, true, false},
    {OpId::event_synchronize, "event_synchronize", sizeof(EventSynchronize), false, true, true, false},
    {OpId::event_elapsed, "event_elapsed", sizeof(EventElapsed), false, true, false, false},
    {OpId::operator_call, "operator_call", sizeof(OperatorCall), true, false, true, false},
    {OpId::operator_query, "operator_query", sizeof(OperatorQuery), true, true, true, false},
    {OpId::kernel_launch, "kernel_launch", sizeof(KernelLaunch), true, false, true, false},
    {OpId::communicator_create, "communicator_create", sizeof(CommunicatorCreate), false, true, true, true},
    {OpId::communicator_split, "communicator_split", sizeof(CommunicatorSplit), false, true, true, true},
    {OpId::communicator_destroy, "communicator_destroy", sizeof(CommunicatorDestroy), false, false, true, true},
    {OpId::collective, "collective", sizeof(Collective), true, false, true, false},
    {OpId::communicator_abort, "communicator_abort", sizeof(CommunicatorAbort), false, true, true, true},
    {OpId::matmul, "matmul", sizeof(Matmul), false, false, true, false},
    {OpId::blas_create, "blas_create", sizeof(BlasCreate), false, false, true, true},
    {OpId::blas_destroy, "blas_destroy", sizeof(BlasDestroy), false, false, true, true},
    {OpId::blas_set, "blas_set", sizeof(BlasSet), false, false, true, true},
    {OpId::blas_call, "blas_call", sizeof(BlasCall), true, false, true, false},
    {OpId::lt_heuristic, "lt_heuristic", sizeof(LtHeuristic), true, true, false, false},
    {OpId::lt_matmul, "lt_matmul", sizeof(LtMatmul), true, false, true, false},
    {OpId::library_call, "library_call", sizeof(LibraryCall), true, false, true, false},
    {OpId::library_ask, "library_ask", sizeof(LibraryAsk), true, true, false, false},
    {OpId::image_query, "image_query", sizeof(ImageQuery), false, true, false, false},
    {OpId::image_part, "image_part", sizeof(ImagePart), true, false, true, false},
    {OpId::module_load, "module_load", sizeof(ModuleLoad), false, true, true, true},
    {OpId::module_unload, "module_unload", sizeof(ModuleUnload), false, false, true, true},
    {OpId::function_get, "function_get", sizeof(FunctionGet), true, true, false, true},
    {OpId::function_set, "function_set", sizeof(FunctionSet), false, true, true, true},
    {OpId::function_query, "function_query", sizeof(FunctionQuery), false, true, true, false},
    {OpId::variable_get, "variable_get", sizeof(VariableGet), true, true, true, true},
    {OpId::tensor_map, "tensor_map", sizeof(TensorMap), false, true, true, false},
    {OpId::limit_set, "limit_set", sizeof(LimitSet), false, true, true, true},
    {OpId::variable_alias, "variable_alias", sizeof(VariableAlias), true, true, true, true},
    {OpId::capture_begin, "capture_begin", sizeof(CaptureBegin), false, false, true, false},
    {OpId::capture_end, "capture_end", sizeof(CaptureEnd), false, true, true, true},
    {OpId::graph_destroy, "graph_destroy", sizeof(GraphDestroy), false, false, true, true},
    {OpId::graph_instantiate, "graph_instantiate", sizeof(GraphInstantiate), false, true, true, true},
    {OpId::graph_launch, "graph_launch", sizeof(GraphLaunch), false, false, true, false},
    {OpId::executable_destroy, "executable_destroy", sizeof(ExecutableDestroy), false, false, true, true},
    {OpId::dnn_ask, "dnn_ask", sizeof(DnnAsk), true, true, false, false},
    {OpId::dnn_call, "dnn_call", sizeof(DnnCall), true, false, true, false},
    {OpId::dnn_try, "dnn_try", sizeof(DnnTry), true, true, true, false},
    {OpId::dnn_plan_load, "dnn_plan_load", sizeof(DnnPlanLoad), false, false, true, true},
    {OpId::dnn_plan_drop, "dnn_plan_drop", sizeof(DnnPlanDrop), false, false, true, true},
    {OpId::dnn_execute, "dnn_execute", sizeof(DnnExecute), true, false, true, false},
    {OpId::dnn_execute_try, "dnn_execute_try", sizeof(DnnExecuteTry), true, true, true, false},
}};
/// Index into kOps by id, plus 1; 0: no such op. Ids are family << 8 | number, both small, so that a look-up needs no
/// search.
inline constexpr auto kIndices = [] {
  std::array<uint8_t, 2312> indices{};
  for (size_t at = 0; at < kOps.size(); ++at) indices[static_cast<size_t>(kOps[at].id)] = static_cast<uint8_t>(at + 1);
  return indices;
}();
constexpr const OpInfo* find(uint16_t id) {
  const uint8_t index = id < kIndices.size() ? kIndices[id] : 0;
  return index ? &kOps[index - 1] : nullptr;
}
/// Into kOps, of an op that find() knows.
constexpr size_t index_of(OpId id) { return kIndices[static_cast<size_t>(id)] - size_t{1}; }

}  // namespace jitc::ops
