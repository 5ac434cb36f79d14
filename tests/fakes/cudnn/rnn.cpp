// Recurrent networks run, with an arithmetic of their own: no real cell, but every input has its share in
// every output, sequences end at their lengths, and dropout moves its states on. What forward leaves in the
// reserve space tells of its output; backward faults when that is not there, or when it comes out of turn.
// See rnn.h.
#include "rnn.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "../over_driver/stream_work.h"
#include "descriptors.h"
#include "functions.h"
#include "handle.h"

namespace jitc::fakes {
namespace {
enum WeightMode { kAdd = 0, kSet = 1 };
enum ReserveWord { kMark, kOutput, kDataDone };
constexpr uint64_t kReserveMagic = 0x6a697463524e4e31;
using Reserve = std::array<uint64_t, 3>;

/// Where the caller's memory lies; 0: it is not there.
struct Places {
  uint64_t lengths = 0, x = 0, y = 0, hx = 0, cx = 0, weights = 0, workspace = 0, reserve = 0;
};

/// What the descriptors of a call tell.
struct Network {
  RnnDescriptor rnn;
  RnnDataDescriptor x, y;
  Shape h, c, weights;
  size_t workspace;
};

Shape state_shape(const void* descriptor, const RnnDescriptor& rnn, const RnnDataDescriptor& x,
                  int64_t size) {
  const Shape expected = packed(rnn.type, {rnn.layers * rnn.ways(), x.batch(), size});
  if (!descriptor) return expected;
  require(tensor(descriptor).count() == expected.count(), "a state of another size", kDnnShapeMismatch);
  return expected;
}

Network network(const void* rnn, const void* x, const void* y, const void* h, const void* c,
                size_t weight_bytes) {
  const auto one = rnn_of(rnn);
  const auto in = rnn_data_of(x), out = rnn_data_of(y);
  require(in->lengths == out->lengths && in->layout == out->layout, "other sequences", kDnnShapeMismatch);
  require(in->vector == one->input && out->vector == one->output() * one->ways(), "vectors of another size",
          kDnnShapeMismatch);
  const Shape weights = packed(one->type, {weight_count(*one)});
  require(weight_bytes >= weights.bytes(), "a weight space that is too small");
  return {*one,
          *in,
          *out,
          state_shape(h, *one, *in, one->output()),
          state_shape(c, *one, *in, one->hidden),
          weights,
          rnn_workspace(*one, *in)};
}

void check_space(const Network& net, bool training, size_t workspace, const void* at, size_t reserve,
                 const void* reserve_at) {
  given(at);
  require(workspace >= net.workspace, "a workspace that is too small");
  if (!training) return;
  given(reserve_at);
  require(reserve >= rnn_reserve(net.rnn, net.x), "a reserve space that is too small");
}

/// One number that every element has a share in.
double digest(const Numbers& values) {
  double sum = 0;
  for (size_t each = 0; each < values.size(); ++each)
    sum += values[each] * static_cast<double>(1 + each % 13);
  return rounded(sum / static_cast<double>(16 * values.size()), false);
}

Numbers state_at(const Shape& shape, uint64_t address) {
  return address ? read_at(shape, address) : Numbers(shape.count(), 0);
}

void write_state(const Shape& shape, uint64_t address, const Numbers& from, double with) {
  if (!address) return;
  Numbers out = from;
  for (size_t each = 0; each < out.size(); ++each)
    out[each] = std::tanh(out[each] / 2 + with + static_cast<double>(each % 7) / 8);
  write_at(shape, address, out);
}

/// The device's copy of the lengths, where there is one, is what the descriptor has.
bool lengths_agree(const Network& net, uint64_t address) {
  if (!address) return true;
  const Numbers there = read_at(packed(kDnnInt32, {net.x.batch()}), address);
  return std::equal(there.begin(), there.end(), net.x.lengths.begin(),
                    [](double each, int64_t length) { return static_cast<int64_t>(each) == length; });
}

/// Calls visit(row, step) for what the sequences have, and not for the padding.
template <class Visit>
void each_row(const RnnDataDescriptor& data, Visit&& visit) {
  for (int64_t sequence = 0; sequence < data.batch(); ++sequence)
    for (int64_t step = 0; step < data.lengths[static_cast<size_t>(sequence)]; ++step)
      visit(static_cast<size_t>(data.row(step, sequence)), step);
}

Numbers row_of(const RnnDataDescriptor& data, const Numbers& values, size_t row) {
  const auto size = static_cast<std::ptrdiff_t>(data.vector), from = static_cast<std::ptrdiff_t>(row) * size;
  return {values.begin() + from, values.begin() + from + size};
}

/// Vectors of which each element comes of the source's vector of the same row, and of a number.
Numbers vectors(const RnnDataDescriptor& source, const Numbers& values, const RnnDataDescriptor& target,
                double with, double times) {
  Numbers out(target.shape().count(), target.fill);
  each_row(target, [&](size_t row, int64_t step) {
    const double share = digest(row_of(source, values, row));
    for (size_t each = 0; each < static_cast<size_t>(target.vector); ++each)
      out[row * static_cast<size_t>(target.vector) + each] =
          times *
          std::tanh(share * static_cast<double>(1 + each % 5) + with + static_cast<double>(step) / 16);
  });
  return out;
}

Reserve read_reserve(uint64_t address) {
  Reserve out;
  std::memcpy(out.data(), touch(address, sizeof out), sizeof out);
  return out;
}
void write_reserve(uint64_t address, const Reserve& content) {
  std::memcpy(touch(address, sizeof content), content.data(), sizeof content);
}
uint64_t mark_of(const Numbers& y) { return std::bit_cast<uint64_t>(digest(y)); }

void forward(const Network& net, const Places& at, bool training, uint64_t hy, uint64_t cy) {
  use_workspace(at.workspace, net.workspace);
  if (!lengths_agree(net, at.lengths)) return fail_launch();
  const Numbers hx = state_at(net.h, at.hx), cx = state_at(net.c, at.cx);
  const double with = digest(read_at(net.weights, at.weights)) + digest(hx) + digest(cx) / 2;
  const bool drops = training && net.rnn.dropout_rate > 0;
  const double times = drops ? next_dropout(net.rnn.dropout_rate, net.rnn.dropout_states) : 1;
  const Shape y = net.y.shape();
  write_at(y, at.y, vectors(net.x, read_at(net.x.shape(), at.x), net.y, with, times));
  const Numbers written = read_at(y, at.y);
  write_state(net.h, hy, hx, digest(written));
  write_state(net.c, cy, cx, digest(written) / 2);
  if (training) write_reserve(at.reserve, {kReserveMagic, mark_of(written), 0});
}

struct DataGradients {
  uint64_t dy, dx, dhy, dhx, dcy, dcx;
};
void backward_data(const Network& net, const Places& at, const DataGradients& to) {
  use_workspace(at.workspace, net.workspace);
  Reserve reserve = read_reserve(at.reserve);
  const Numbers y = read_at(net.y.shape(), at.y);
  const bool good = reserve[kMark] == kReserveMagic && reserve[kOutput] == mark_of(y);
  if (!good || !lengths_agree(net, at.lengths)) return fail_launch();
  const double with = digest(read_at(net.weights, at.weights)) + digest(state_at(net.h, at.hx)) +
                      digest(state_at(net.c, at.cx)) / 2 + digest(y);
  const Numbers dy = read_at(net.y.shape(), to.dy), dhy = state_at(net.h, to.dhy),
                dcy = state_at(net.c, to.dcy);
  write_at(net.x.shape(), to.dx, vectors(net.y, dy, net.x, with + digest(dhy) + digest(dcy), 1));
  write_state(net.h, to.dhx, dhy, digest(dy) + with);
  write_state(net.c, to.dcx, dcy, digest(dy) - with);
  reserve[kDataDone] = 1;
  write_reserve(at.reserve, reserve);
}

void backward_weights(const Network& net, const Places& at, bool adds) {
  use_workspace(at.workspace, net.workspace);
  const Numbers y = read_at(net.y.shape(), at.y);
  if (read_reserve(at.reserve) != Reserve{kReserveMagic, mark_of(y), 1} || !lengths_agree(net, at.lengths))
    return fail_launch();
  const double with = digest(read_at(net.x.shape(), at.x)) + digest(state_at(net.h, at.hx)) + digest(y);
  Numbers out(net.weights.count());
  for (size_t each = 0; each < out.size(); ++each)
    out[each] = std::tanh(with + static_cast<double>(each % 11) / 8);
  write_at(net.weights, at.weights, out, {1, adds ? 1.0 : 0.0});
}
}  // namespace

int cudnnRNNForward(void* handle, void* rnn, int mode, const int32_t* lengths, void* x_descriptor,
                    const void* x, void* y_descriptor, void* y, void* h_descriptor, const void* hx, void* hy,
                    void* c_descriptor, const void* cx, void* cy, size_t weight_bytes, const void* weights,
                    size_t workspace_bytes, void* workspace, size_t reserve_bytes, void* reserve) {
  const std::tuple shown(handle, rnn, mode, lengths, x_descriptor, x, y_descriptor, y, h_descriptor, hx, hy,
                         c_descriptor, cx, cy, weight_bytes, weights, workspace_bytes, workspace,
                         reserve_bytes, reserve);
  return dnn_call("cudnnRNNForward", shown, [&](CallLine& line) {
    const auto stream = object<DnnHandle>(handle);
    require(mode == 0 || mode == 1, "no such mode");
    const Network net = network(rnn, x_descriptor, y_descriptor, h_descriptor, c_descriptor, weight_bytes);
    check_space(net, mode == 1, workspace_bytes, workspace, reserve_bytes, reserve);
    const Places at{address_of(lengths),   address_of(given(x)), address_of(given(y)),
                    address_of(hx),        address_of(cx),       address_of(given(weights)),
                    address_of(workspace), address_of(reserve)};
    submit(line, *stream,
           [=, to_h = address_of(hy), to_c = address_of(cy)] { forward(net, at, mode == 1, to_h, to_c); });
  });
}

int cudnnRNNBackwardData_v8(void* handle, void* rnn, const int32_t* lengths, void* y_descriptor,
                            const void* y, const void* dy, void* x_descriptor, void* dx, void* h_descriptor,
                            const void* hx, const void* dhy, void* dhx, void* c_descriptor, const void* cx,
                            const void* dcy, void* dcx, size_t weight_bytes, const void* weights,
                            size_t workspace_bytes, void* workspace, size_t reserve_bytes, void* reserve) {
  const std::tuple shown(handle, rnn, lengths, y_descriptor, y, dy, x_descriptor, dx, h_descriptor, hx, dhy,
                         dhx, c_descriptor, cx, dcy, dcx, weight_bytes, weights, workspace_bytes, workspace,
                         reserve_bytes, reserve);
  return dnn_call("cudnnRNNBackwardData_v8", shown, [&](CallLine& line) {
    const auto stream = object<DnnHandle>(handle);
    const Network net = network(rnn, x_descriptor, y_descriptor, h_descriptor, c_descriptor, weight_bytes);
    check_space(net, true, workspace_bytes, workspace, reserve_bytes, reserve);
    const Places at{address_of(lengths),   0,
                    address_of(given(y)),  address_of(hx),
                    address_of(cx),        address_of(given(weights)),
                    address_of(workspace), address_of(reserve)};
    const DataGradients to{address_of(given(dy)), address_of(given(dx)), address_of(dhy),
                           address_of(dhx),       address_of(dcy),       address_of(dcx)};
    submit(line, *stream, [=] { backward_data(net, at, to); });
  });
}

int cudnnRNNBackwardWeights_v8(void* handle, void* rnn, int mode, const int32_t* lengths, void* x_descriptor,
                               const void* x, void* h_descriptor, const void* hx, void* y_descriptor,
                               const void* y, size_t weight_bytes, void* dweights, size_t workspace_bytes,
                               void* workspace, size_t reserve_bytes, void* reserve) {
  const std::tuple shown(handle, rnn, mode, lengths, x_descriptor, x, h_descriptor, hx, y_descriptor, y,
                         weight_bytes, dweights, workspace_bytes, workspace, reserve_bytes, reserve);
  return dnn_call("cudnnRNNBackwardWeights_v8", shown, [&](CallLine& line) {
    const auto stream = object<DnnHandle>(handle);
    require(mode == kAdd || mode == kSet, "no such mode");
    const Network net = network(rnn, x_descriptor, y_descriptor, h_descriptor, nullptr, weight_bytes);
    check_space(net, true, workspace_bytes, workspace, reserve_bytes, reserve);
    const Places at{
        address_of(lengths),         address_of(given(x)),  address_of(given(y)), address_of(hx), 0,
        address_of(given(dweights)), address_of(workspace), address_of(reserve)};
    submit(line, *stream, [=] { backward_weights(net, at, mode == kAdd); });
  });
}

}  // namespace jitc::fakes
