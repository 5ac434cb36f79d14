// Descriptors of recurrent networks and of their sequences. See rnn.h.
#include <algorithm>
#include <numeric>

#include "descriptors.h"
#include "functions.h"
#include "rnn.h"

namespace jitc::fakes {
namespace {
constexpr int32_t kMostNumbers = 1 << 16, kMostLayers = 1 << 8;

double fill_value(int type, const void* fill) {
  return fill ? read_all(packed(type, {1}), static_cast<const std::byte*>(fill))[0] : 0;
}
}  // namespace

Shape RnnDataDescriptor::shape() const {
  const int64_t all = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
  return packed(type, {layout == kSequenceMajorPacked ? all : longest * batch(), vector});
}

int64_t RnnDataDescriptor::row(int64_t step, int64_t sequence) const {
  if (layout == kBatchMajor) return sequence * longest + step;
  if (layout == kSequenceMajor) return step * batch() + sequence;
  int64_t before = 0;
  for (const int64_t each : lengths) before += std::min(each, step);
  return before + sequence;
}

std::shared_ptr<RnnDescriptor> rnn_of(const void* descriptor) {
  auto one = object<RnnDescriptor>(descriptor);
  require(one->layers > 0, "a descriptor that was not set");
  return one;
}

std::shared_ptr<RnnDataDescriptor> rnn_data_of(const void* descriptor) {
  auto one = object<RnnDataDescriptor>(descriptor);
  require(!one->lengths.empty(), "a descriptor that was not set");
  return one;
}

int cudnnCreateRNNDescriptor(void** out) { return create<RnnDescriptor>("cudnnCreateRNNDescriptor", out); }
int cudnnDestroyRNNDescriptor(void* descriptor) {
  return destroy<RnnDescriptor>("cudnnDestroyRNNDescriptor", descriptor);
}

int cudnnSetRNNDescriptor_v8(void* descriptor, int algorithm, int cell, int bias, int direction,
                             int input_mode, int type, int precision, int math, int32_t input, int32_t hidden,
                             int32_t projection, int32_t layers, void* dropout, uint32_t flags) {
  const std::tuple shown(descriptor, algorithm, cell, bias, direction, input_mode, type, precision, math,
                         input, hidden, projection, layers, dropout, flags);
  return dnn_call("cudnnSetRNNDescriptor_v8", shown, [&](CallLine&) {
    const auto one = object<RnnDescriptor>(descriptor);
    require(cell >= kRnnRelu && cell <= kGru && bias >= kNoBias && bias <= kRecurrentBias, "no such cell");
    require(algorithm >= 0 && algorithm <= 3 && (direction | input_mode) >> 1 == 0 && math >= 0 && math <= 3,
            "no such mode");
    require(input > 0 && hidden > 0 && layers > 0 && projection > 0 && projection <= hidden, "an empty size");
    require(input <= kMostNumbers && hidden <= kMostNumbers && layers <= kMostLayers, "a network too large",
            kDnnNotSupported);
    require(width_of(type) && width_of(precision), "a type that is not supported", kDnnNotSupported);
    one->cell = cell;
    one->bias = bias;
    one->type = type;
    one->both_ways = direction == 1;
    one->skips_input = input_mode == 1;
    one->input = input;
    one->hidden = hidden;
    one->projection = projection;
    one->layers = layers;
    const auto drop = dropout ? object<DropoutDescriptor>(dropout) : std::make_shared<DropoutDescriptor>();
    one->dropout_rate = drop->rate;
    one->dropout_states = drop->states;
  });
}

int cudnnCreateRNNDataDescriptor(void** out) {
  return create<RnnDataDescriptor>("cudnnCreateRNNDataDescriptor", out);
}
int cudnnDestroyRNNDataDescriptor(void* descriptor) {
  return destroy<RnnDataDescriptor>("cudnnDestroyRNNDataDescriptor", descriptor);
}

int cudnnSetRNNDataDescriptor(void* descriptor, int type, int layout, int longest, int batch, int vector,
                              const int* lengths, void* fill) {
  const std::tuple shown(descriptor, type, layout, longest, batch, vector);
  return dnn_call("cudnnSetRNNDataDescriptor", shown, [&](CallLine& line) {
    const auto one = object<RnnDataDescriptor>(descriptor);
    require(width_of(type) != 0, "a type that is not supported", kDnnNotSupported);
    require(layout >= kSequenceMajor && layout <= kBatchMajor, "no such layout");
    require(longest > 0 && batch > 0 && vector > 0, "an empty size");
    const auto list = list_of(line, "lengths", lengths, batch);
    require(std::ranges::all_of(list, [&](int64_t each) { return each > 0 && each <= longest; }),
            "a length out of range");
    require(layout != kSequenceMajorPacked || std::ranges::is_sorted(list, std::greater<>()),
            "packed sequences that do not grow shorter");
    const double value = fill_value(type, fill);
    line.add(Field::real("fill", value));
    RnnDataDescriptor content;
    content.type = type;
    content.layout = layout;
    content.longest = longest;
    content.vector = vector;
    content.lengths = list;
    content.fill = value;
    content.shape().check();
    *one = content;
  });
}

}  // namespace jitc::fakes
