// The form of an operator call and of its reply: the payloads of operator_call and operator_query.
//
// Written by client_shim/native (encoder) and read by proxy/native/operators (decoder), which is why both
// include this file and nothing else of each other. Packed little-endian, not aligned. A changed layout is a
// new kVersion; the first byte of a call and of a reply is always the version.
//
// Call:   CallHeader, operator name ("aten::add.Tensor"), one value per schema argument, then
//         u16 outputs and per output a value (tensor: write there; none: drop it). A query has no outputs
//         part. A call of version kVersionInGraph, which takes random numbers inside a CUDA graph, has a
//         GraphOffset behind its header.
// Reply:  u8 kVersion, u16 resized, per resized argument {u16 tensor, tensor metadata},
//         u16 results, one value per schema return (a list of tensors is one value).
//
// Values begin with a Tag. Tensors are numbered in the order in which they appear in a call (tensor,
// cpu_tensor and same_tensor count, undefined ones do not).
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>

namespace jitc::wire {

static_assert(std::endian::native == std::endian::little);

inline constexpr uint8_t kVersion = 1, kVersionInGraph = 2;
inline constexpr size_t kAlignment =
    8;  // a call may be followed by fewer bytes than this, which pad its record
inline constexpr uint32_t kMostDimensions = 64;
inline constexpr uint32_t kMostItems = 1 << 20;  // of a list, text or name

enum class Tag : uint8_t {
  none = 0,
  tensor = 1,             // TensorHead, u64 address, i64 sizes[], i64 strides[]
  cpu_tensor = 2,         // TensorHead, u64 bytes, i64 sizes[], contiguous data
  same_tensor = 3,        // u16 number of an earlier tensor: the same object
  undefined = 4,          // a tensor that is not defined
  boolean = 5,            // u8
  integer = 6,            // i64
  real = 7,               // f64
  complex = 8,            // f64, f64
  text = 9,               // u32 size, bytes
  integers = 10,          // u32 count, i64[]
  reals = 11,             // u32 count, f64[]
  booleans = 12,          // u32 count, u8[]
  tensors = 13,           // u32 count, values
  optional_tensors = 14,  // u32 count, values (none: absent)
  scalars = 15,           // u32 count, values
  device = 16,            // the device of the call
  generator = 17,         // seed and offset are in the header
  metadata = 18,          // reply: TensorHead, i64 sizes[], i64 strides[]
  alias = 19,             // reply: u16 tensor, i64 byte offset, then as metadata
};

enum TensorFlags : uint8_t { kConjugate = 1, kNegative = 2, kWrappedNumber = 4 };
/// Flags of a call. kFormAlone: of a query whose tensors have no content yet, because a graph is being
/// captured. The form of the results does not depend on it.
enum CallFlags : uint8_t { kRandom = 1, kDeterministic = 2, kFormAlone = 4 };

#pragma pack(push, 1)
struct CallHeader {
  uint8_t version = kVersion;
  uint8_t flags = 0;         // CallFlags
  int8_t default_dtype = 6;  // c10::ScalarType of new floating point tensors
  uint8_t reserved = 0;
  uint16_t name_size = 0;
  uint16_t arguments = 0;
  uint64_t seed = 0, offset = 0;  // of the random numbers, with kRandom
};
/// Increment added to the offset. Seed and offset of the header are then device addresses of i64, read when
/// the graph runs.
struct GraphOffset {
  uint64_t value = 0;
};
struct TensorHead {
  int8_t dtype = 0;  // c10::ScalarType
  uint8_t dimensions = 0;
  uint8_t flags = 0;  // TensorFlags
};
#pragma pack(pop)
static_assert(sizeof(CallHeader) == 24 && sizeof(TensorHead) == 3);

/// Schema of the operator that calls a kernel which the program has compiled: compiled code calls it, and so
/// does the worker.
inline constexpr const char* kHostKernelSchema =
    "host_kernel(int function, Tensor[] reads, Tensor(a!)[] writes, int[] integers, float[] reals, str "
    "order) -> ()";

}  // namespace jitc::wire
