// The CTC loss, with an arithmetic of its own: a label's probability at each step has its share in the cost
// and the gradient. Labels and lengths lie on the host and are read by the call, or on the device and are
// read by the work (v8).
#include <algorithm>
#include <numeric>

#include "../over_driver/stream_work.h"
#include "descriptors.h"
#include "functions.h"
#include "handle.h"

namespace jitc::fakes {
namespace {
constexpr size_t kSpacePerSequence = 64;
constexpr int64_t kMostSequences = 1 << 16, kLongestLabel = 256;

struct LossDescriptor : DnnObject {
  int type = -1, normalization = 0, gradients = 0, longest = 0;
};

struct Labels {
  std::vector<int64_t> labels, label_lengths, input_lengths;
};

/// Probabilities by step, sequence and class.
struct Loss {
  Shape probabilities, costs, gradients;
  int64_t steps() const { return probabilities.dims[0]; }
  int64_t sequences() const { return probabilities.dims[1]; }
  int64_t classes() const { return probabilities.dims[2]; }
  size_t space() const { return kSpacePerSequence * static_cast<size_t>(sequences()); }
};

Loss loss_of(const void* descriptor, int algorithm, const void* probabilities, const void* gradients) {
  const auto one = object<LossDescriptor>(descriptor);
  require(one->type >= 0, "a descriptor that was not set");
  require(algorithm == 0 || algorithm == 1, "no such algorithm");
  const Shape shape = tensor(probabilities);
  require(shape.dims.size() == 3 && shape.type == kDnnFloat, "no probabilities");
  require(shape.dims[1] <= kMostSequences, "too many sequences", kDnnNotSupported);
  const Shape slopes = gradients ? tensor(gradients) : shape;
  require(slopes.dims == shape.dims, "gradients of another size", kDnnShapeMismatch);
  return {shape, packed(shape.type, {shape.dims[1]}), slopes};
}

bool within(const std::vector<int64_t>& list, int64_t least, int64_t most) {
  return std::ranges::all_of(list, [=](int64_t each) { return each >= least && each <= most; });
}

/// Whether every number is one that the probabilities have a place for.
bool good(const Loss& loss, const Labels& what) {
  return within(what.labels, 0, loss.classes() - 1) && within(what.label_lengths, 1, kLongestLabel) &&
         within(what.input_lengths, 1, loss.steps());
}

/// Calls visit(step, sequence, the label of the step).
template <class Visit>
void each_step(const Loss& loss, const Labels& what, Visit&& visit) {
  int64_t first = 0;
  for (int64_t sequence = 0; sequence < loss.sequences(); ++sequence) {
    const auto at = static_cast<size_t>(sequence);
    for (int64_t step = 0; step < what.input_lengths[at]; ++step)
      visit(step, sequence, what.labels[static_cast<size_t>(first + step % what.label_lengths[at])]);
    first += what.label_lengths[at];
  }
}

void compute(const Loss& loss, const Labels& what, uint64_t from, uint64_t costs, uint64_t gradients) {
  const Numbers in = read_at(loss.probabilities, from);
  Numbers sums(loss.costs.count(), 0), slopes(in.size(), 0);
  each_step(loss, what, [&](int64_t step, int64_t sequence, int64_t label) {
    const auto row = static_cast<size_t>((step * loss.sequences() + sequence) * loss.classes());
    for (size_t each = row; each < row + static_cast<size_t>(loss.classes()); ++each) slopes[each] = in[each];
    slopes[row + static_cast<size_t>(label)] -= 1;
    sums[static_cast<size_t>(sequence)] += 1 - in[row + static_cast<size_t>(label)];
  });
  write_at(loss.costs, costs, sums);
  if (gradients) write_at(loss.gradients, gradients, slopes);
}

std::vector<int64_t> from_device(const int* address, int64_t count) {
  const Numbers values = read_at(packed(kDnnInt32, {count}), address_of(address));
  return {values.begin(), values.end()};
}

/// Throws what is wrong with them; the log has them.
Labels from_host(CallLine& line, const Loss& loss, const int* labels, const int* label_lengths,
                 const int* input_lengths) {
  const auto count = static_cast<int>(loss.sequences());
  Labels out;
  out.label_lengths = list_of(line, "label_lengths_bytes", label_lengths, count);
  out.input_lengths = list_of(line, "input_lengths_bytes", input_lengths, count);
  require(good(loss, out), "lengths out of range");
  const auto all = std::accumulate(out.label_lengths.begin(), out.label_lengths.end(), int64_t{0});
  out.labels = list_of(line, "labels_bytes", labels, static_cast<int>(all));
  require(good(loss, out), "labels out of range");
  return out;
}

int set(const char* name, void* descriptor, int type, int normalization, int gradients, int longest) {
  const std::tuple shown(descriptor, type, normalization);
  return dnn_call(name, shown, [&](CallLine& line) {
    line.add(argument("gradients", gradients));
    line.add(argument("longest", longest));
    const auto one = object<LossDescriptor>(descriptor);
    require(type == kDnnFloat, "a type that is not supported", kDnnNotSupported);
    require((normalization | gradients) >> 1 == 0 && longest >= 0, "no such mode");
    one->type = type;
    one->normalization = normalization;
    one->gradients = gradients;
    one->longest = longest;
  });
}
}  // namespace

int cudnnCreateCTCLossDescriptor(void** out) {
  return create<LossDescriptor>("cudnnCreateCTCLossDescriptor", out);
}
int cudnnDestroyCTCLossDescriptor(void* descriptor) {
  return destroy<LossDescriptor>("cudnnDestroyCTCLossDescriptor", descriptor);
}
int cudnnSetCTCLossDescriptorEx(void* descriptor, int type, int normalization, int nan) {
  return set("cudnnSetCTCLossDescriptorEx", descriptor, type, normalization, nan, 0);
}
int cudnnSetCTCLossDescriptor_v9(void* descriptor, int type, int normalization, int gradients, int longest) {
  return set("cudnnSetCTCLossDescriptor_v9", descriptor, type, normalization, gradients, longest);
}

int cudnnGetCTCLossWorkspaceSize(void* handle, void* probabilities, void* gradients, const int* labels,
                                 const int* label_lengths, const int* input_lengths, int algorithm,
                                 void* loss, size_t* size) {
  const std::tuple shown(handle, probabilities, gradients, labels, label_lengths, input_lengths, algorithm,
                         loss);
  return dnn_call("cudnnGetCTCLossWorkspaceSize", shown, [&](CallLine& line) {
    object<DnnHandle>(handle);
    const Loss what = loss_of(loss, algorithm, probabilities, gradients);
    from_host(line, what, labels, label_lengths, input_lengths);
    *given(size) = what.space();
  });
}

int cudnnGetCTCLossWorkspaceSize_v8(void* handle, int algorithm, void* loss, void* probabilities,
                                    void* gradients, size_t* size) {
  const std::tuple shown(handle, algorithm, loss, probabilities, gradients);
  return dnn_call("cudnnGetCTCLossWorkspaceSize_v8", shown, [&](CallLine&) {
    object<DnnHandle>(handle);
    *given(size) = loss_of(loss, algorithm, probabilities, gradients).space();
  });
}

int cudnnCTCLoss(void* handle, void* probabilities_descriptor, const void* probabilities, const int* labels,
                 const int* label_lengths, const int* input_lengths, void* costs, void* gradients_descriptor,
                 void* gradients, int algorithm, void* loss, void* workspace, size_t workspace_bytes) {
  const std::tuple shown(handle, probabilities_descriptor, probabilities, labels, label_lengths,
                         input_lengths, costs, gradients_descriptor, gradients, algorithm, loss, workspace,
                         workspace_bytes);
  return dnn_call("cudnnCTCLoss", shown, [&](CallLine& line) {
    const auto stream = object<DnnHandle>(handle);
    const Loss what = loss_of(loss, algorithm, probabilities_descriptor, gradients_descriptor);
    const Labels known = from_host(line, what, labels, label_lengths, input_lengths);
    require(given(workspace) && workspace_bytes >= what.space(), "a workspace that is too small");
    given(probabilities);
    given(costs);
    submit(line, *stream, [=] {
      use_workspace(address_of(workspace), what.space());
      compute(what, known, address_of(probabilities), address_of(costs), address_of(gradients));
    });
  });
}

int cudnnCTCLoss_v8(void* handle, int algorithm, void* loss, void* probabilities_descriptor,
                    const void* probabilities, const int* labels, const int* label_lengths,
                    const int* input_lengths, void* costs, void* gradients_descriptor, void* gradients,
                    size_t workspace_bytes, void* workspace) {
  const std::tuple shown(handle, algorithm, loss, probabilities_descriptor, probabilities, labels,
                         label_lengths, input_lengths, costs, gradients_descriptor, gradients,
                         workspace_bytes, workspace);
  return dnn_call("cudnnCTCLoss_v8", shown, [&](CallLine& line) {
    const auto stream = object<DnnHandle>(handle);
    const Loss what = loss_of(loss, algorithm, probabilities_descriptor, gradients_descriptor);
    require(given(workspace) && workspace_bytes >= what.space(), "a workspace that is too small");
    for (const void* each :
         {probabilities, static_cast<const void*>(costs), static_cast<const void*>(labels),
          static_cast<const void*>(label_lengths), static_cast<const void*>(input_lengths)})
      given(each);
    submit(line, *stream, [=] {
      use_workspace(address_of(workspace), what.space());
      Labels known{
          {}, from_device(label_lengths, what.sequences()), from_device(input_lengths, what.sequences())};
      if (!good(what, known)) return fail_launch();
      known.labels = from_device(
          labels, std::accumulate(known.label_lengths.begin(), known.label_lengths.end(), int64_t{0}));
      if (!good(what, known)) return fail_launch();
      compute(what, known, address_of(probabilities), address_of(costs), address_of(gradients));
    });
  });
}

}  // namespace jitc::fakes
