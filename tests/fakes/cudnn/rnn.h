// Recurrent networks of the fake cuDNN: what their descriptors tell. Used by rnn_descriptors, rnn_weights,
// rnn.
#pragma once
#include <optional>

#include "call.h"
#include "dropout.h"
#include "tensor.h"

namespace jitc::fakes {

enum RnnCell { kRnnRelu = 0, kRnnTanh = 1, kLstm = 2, kGru = 3 };
enum RnnBias { kNoBias = 0, kInputBias = 1, kBothBiases = 2, kRecurrentBias = 3 };
enum RnnLayout { kSequenceMajor = 0, kSequenceMajorPacked = 1, kBatchMajor = 2 };

struct RnnDescriptor : DnnObject {
  int cell = kRnnRelu, bias = kNoBias, type = kDnnFloat;
  bool both_ways = false, skips_input = false;
  int64_t input = 0, hidden = 0, projection = 0, layers = 0;
  float dropout_rate = 0;
  uint64_t dropout_states = 0;

  int64_t ways() const { return both_ways ? 2 : 1; }
  int64_t gates() const { return cell == kLstm ? 4 : cell == kGru ? 3 : 1; }
  /// Numbers of a step's output in one direction.
  int64_t output() const { return projection; }
};

struct RnnDataDescriptor : DnnObject {
  int type = kDnnFloat, layout = kSequenceMajor;
  int64_t longest = 0, vector = 0;
  std::vector<int64_t> lengths = {};
  double fill = 0;

  int64_t batch() const { return static_cast<int64_t>(lengths.size()); }
  /// The vectors, one a row.
  Shape shape() const;
  /// Which row a step of a sequence has.
  int64_t row(int64_t step, int64_t sequence) const;
};

/// A matrix or a vector of the weights.
struct Weight {
  int64_t offset = 0, rows = 0, columns = 0;  // the offset in numbers
};
/// Where a linear layer of a pseudo layer lies; no matrix for an input that is skipped, no bias without one.
struct WeightPlace {
  std::optional<Weight> matrix, bias;
};
/// Throws kDnnBadParam.
WeightPlace weight_place(const RnnDescriptor& rnn, int64_t layer, int64_t part);
/// How many numbers all weights are.
int64_t weight_count(const RnnDescriptor& rnn);

/// Bytes of the spaces that a run with this input needs.
size_t rnn_workspace(const RnnDescriptor& rnn, const RnnDataDescriptor& x);
size_t rnn_reserve(const RnnDescriptor& rnn, const RnnDataDescriptor& x);

/// Descriptors that were set.
std::shared_ptr<RnnDescriptor> rnn_of(const void* descriptor);
std::shared_ptr<RnnDataDescriptor> rnn_data_of(const void* descriptor);

}  // namespace jitc::fakes
