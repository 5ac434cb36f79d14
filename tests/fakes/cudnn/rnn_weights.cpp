// Where the weights of a recurrent network lie in its weight space: pseudo layer by pseudo layer, linear
// layer by linear layer, each matrix and then its bias. See rnn.h.
#include "descriptors.h"
#include "functions.h"
#include "handle.h"
#include "rnn.h"

namespace jitc::fakes {
namespace {
constexpr int64_t kSpaceBase = 1024, kReserveBase = 256;

/// Linear layers of a pseudo layer: of the input, of the recurrence, and the projection.
int64_t parts_of(const RnnDescriptor& rnn) { return 2 * rnn.gates() + (rnn.projection < rnn.hidden ? 1 : 0); }

/// The shapes, without places.
WeightPlace shapes_of(const RnnDescriptor& rnn, int64_t layer, int64_t part) {
  if (part == 2 * rnn.gates()) return {Weight{0, rnn.projection, rnn.hidden}, std::nullopt};
  const bool of_input = part < rnn.gates(), first = layer < rnn.ways();
  const int64_t columns = !of_input ? rnn.output() : first ? rnn.input : rnn.output() * rnn.ways();
  const int missing = of_input ? kRecurrentBias : kInputBias;
  WeightPlace out;
  if (!of_input || !first || !rnn.skips_input) out.matrix = Weight{0, rnn.hidden, columns};
  if (rnn.bias != kNoBias && rnn.bias != missing) out.bias = Weight{0, rnn.hidden, 1};
  return out;
}

void put(std::optional<Weight>& weight, int64_t& offset) {
  if (!weight) return;
  weight->offset = offset;
  offset += weight->rows * weight->columns;
}

/// Of all linear layers, layer by layer.
std::vector<WeightPlace> all_places(const RnnDescriptor& rnn) {
  std::vector<WeightPlace> places;
  for (int64_t layer = 0; layer < rnn.layers * rnn.ways(); ++layer)
    for (int64_t part = 0; part < parts_of(rnn); ++part) places.push_back(shapes_of(rnn, layer, part));
  int64_t offset = 0;
  for (WeightPlace& each : places) put(each.matrix, offset);
  for (WeightPlace& each : places) put(each.bias, offset);
  return places;
}

int64_t size_of(const std::optional<Weight>& weight) { return weight ? weight->rows * weight->columns : 0; }

/// Describes one of the weights to the caller, or that there is none.
void tell(CallLine& line, const char* name, const RnnDescriptor& rnn, const std::optional<Weight>& weight,
          const void* weights, void* descriptor, void** address) {
  const auto to = object<TensorDescriptor>(descriptor);
  *given(address) = nullptr;
  if (weight) {
    to->shape = packed(rnn.type, {1, weight->rows, weight->columns});
    const auto offset = static_cast<size_t>(weight->offset) * width_of(rnn.type);
    *address = reinterpret_cast<void*>(address_of(weights) + offset);
  }
  line.add(Field::address(name, *address));
}
}  // namespace

WeightPlace weight_place(const RnnDescriptor& rnn, int64_t layer, int64_t part) {
  require(layer >= 0 && layer < rnn.layers * rnn.ways() && part >= 0 && part < parts_of(rnn),
          "a layer out of range");
  return all_places(rnn)[static_cast<size_t>(layer * parts_of(rnn) + part)];
}

int64_t weight_count(const RnnDescriptor& rnn) {
  int64_t count = 0;
  for (const WeightPlace& each : all_places(rnn)) count += size_of(each.matrix) + size_of(each.bias);
  return count;
}

size_t rnn_workspace(const RnnDescriptor& rnn, const RnnDataDescriptor& x) {
  return static_cast<size_t>(kSpaceBase + x.batch() * rnn.hidden * rnn.gates() * 4);
}

size_t rnn_reserve(const RnnDescriptor& rnn, const RnnDataDescriptor& x) {
  return static_cast<size_t>(kReserveBase + x.longest * x.batch() * rnn.hidden * rnn.layers * 4);
}

int cudnnGetRNNWeightSpaceSize(void* handle, void* rnn, size_t* size) {
  return dnn_call("cudnnGetRNNWeightSpaceSize", std::tuple(handle, rnn), [&](CallLine&) {
    object<DnnHandle>(handle);
    const auto one = rnn_of(rnn);
    *given(size) = static_cast<size_t>(weight_count(*one)) * width_of(one->type);
  });
}

int cudnnGetRNNTempSpaceSizes(void* handle, void* rnn, int mode, void* x, size_t* workspace_bytes,
                              size_t* reserve_bytes) {
  return dnn_call("cudnnGetRNNTempSpaceSizes", std::tuple(handle, rnn, mode, x), [&](CallLine&) {
    object<DnnHandle>(handle);
    require(mode == 0 || mode == 1, "no such mode");
    const auto one = rnn_of(rnn);
    const auto data = rnn_data_of(x);
    if (workspace_bytes) *workspace_bytes = rnn_workspace(*one, *data);
    if (reserve_bytes) *reserve_bytes = mode == 1 ? rnn_reserve(*one, *data) : 0;
  });
}

int cudnnGetRNNWeightParams(void* handle, void* rnn, int32_t layer, size_t weight_bytes, const void* weights,
                            int32_t part, void* matrix_descriptor, void** matrix, void* bias_descriptor,
                            void** bias) {
  const std::tuple shown(handle, rnn, layer, weight_bytes, weights, part, matrix_descriptor);
  return dnn_call("cudnnGetRNNWeightParams", shown, [&](CallLine& line) {
    object<DnnHandle>(handle);
    const auto one = rnn_of(rnn);
    const auto needed = static_cast<size_t>(weight_count(*one)) * width_of(one->type);
    require(weight_bytes >= needed, "a weight space that is too small");
    const WeightPlace place = weight_place(*one, layer, part);
    tell(line, "matrix", *one, place.matrix, weights, matrix_descriptor, matrix);
    tell(line, "bias", *one, place.bias, weights, bias_descriptor, bias);
  });
}

}  // namespace jitc::fakes
