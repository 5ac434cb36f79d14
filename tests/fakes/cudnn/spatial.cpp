// Spatial transformers: grids as cuDNN makes them of an affine map; the sampler has an arithmetic of its own,
// in which the grid's place weighs the element of the same place.
#include "descriptors.h"
#include "functions.h"
#include "handle.h"

namespace jitc::fakes {
namespace {
constexpr int64_t kMap = 6;  // numbers of an affine map

struct TransformerDescriptor : DnnObject {
  int type = kDnnFloat;
  std::vector<int64_t> dims = {};  // items, channels, height, width

  size_t area() const { return static_cast<size_t>(dims[2] * dims[3]); }
  Shape maps() const { return packed(type, {dims[0], kMap}); }
  Shape grid() const { return packed(type, {dims[0], dims[2] * dims[3], 2}); }
};

std::shared_ptr<TransformerDescriptor> transformer_of(const void* descriptor) {
  auto one = object<TransformerDescriptor>(descriptor);
  require(!one->dims.empty(), "a descriptor that was not set");
  return one;
}

/// -1 to 1 along an axis.
double coordinate(int64_t at, int64_t size) {
  return size > 1 ? 2 * static_cast<double>(at) / static_cast<double>(size - 1) - 1 : 0;
}

/// Calls visit(item, point, {x, y, 1}).
template <class Visit>
void each_point(const TransformerDescriptor& one, Visit&& visit) {
  for (int64_t item = 0; item < one.dims[0]; ++item)
    for (int64_t point = 0; point < one.dims[2] * one.dims[3]; ++point) {
      const double x = coordinate(point % one.dims[3], one.dims[3]);
      const double base[] = {x, coordinate(point / one.dims[3], one.dims[2]), 1};
      visit(static_cast<size_t>(item), static_cast<size_t>(item) * one.area() + static_cast<size_t>(point),
            base);
    }
}

Numbers grid_of(const TransformerDescriptor& one, const Numbers& maps) {
  Numbers out(one.grid().count(), 0);
  each_point(one, [&](size_t item, size_t point, const double* base) {
    for (size_t each = 0; each < kMap; ++each)
      out[point * 2 + each / 3] += maps[item * kMap + each] * base[each % 3];
  });
  return out;
}

Numbers map_slopes(const TransformerDescriptor& one, const Numbers& slopes) {
  Numbers out(one.maps().count(), 0);
  each_point(one, [&](size_t item, size_t point, const double* base) {
    for (size_t each = 0; each < kMap; ++each)
      out[item * kMap + each] += slopes[point * 2 + each / 3] * base[each % 3];
  });
  return out;
}

/// The output has the descriptor's size. The input may be another size: its rows and columns come again.
struct Sampler {
  TransformerDescriptor one;
  Shape x, y;

  Sampler(const void* descriptor, const void* x_descriptor, const void* y_descriptor)
      : one(*transformer_of(descriptor)), x(tensor(x_descriptor)), y(tensor(y_descriptor)) {
    require(y.dims == one.dims && x.dims.size() == 4 && x.dims[0] == y.dims[0] && x.dims[1] == y.dims[1],
            "tensors of another size", kDnnShapeMismatch);
  }
  /// Of an element of the output: the element of the input, and the point of the grid.
  size_t source(size_t element) const {
    const auto plane = static_cast<int64_t>(element / one.area()),
               place = static_cast<int64_t>(element % one.area());
    const int64_t row = place / one.dims[3] % x.dims[2], column = place % one.dims[3] % x.dims[3];
    return static_cast<size_t>((plane * x.dims[2] + row) * x.dims[3] + column);
  }
  size_t point(size_t element) const {
    const auto channels = static_cast<size_t>(one.dims[1]);
    return element / one.area() / channels * one.area() + element % one.area();
  }
  double weight(const Numbers& grid, size_t element) const {
    return 1 + grid[point(element) * 2] / 2 + grid[point(element) * 2 + 1] / 4;
  }
};

struct Slopes {
  Numbers x, grid;
};
Slopes slopes_of(const Sampler& sampler, const Numbers& grid, const Numbers& x, const Numbers& dy) {
  Slopes out{Numbers(x.size(), 0), Numbers(grid.size(), 0)};
  for (size_t each = 0; each < dy.size(); ++each) {
    const size_t from = sampler.source(each), point = sampler.point(each);
    out.grid[point * 2] += dy[each] * x[from] / 2;
    out.grid[point * 2 + 1] += dy[each] * x[from] / 4;
    out.x[from] += dy[each] * sampler.weight(grid, each);
  }
  return out;
}
}  // namespace

int cudnnCreateSpatialTransformerDescriptor(void** out) {
  return create<TransformerDescriptor>("cudnnCreateSpatialTransformerDescriptor", out);
}
int cudnnDestroySpatialTransformerDescriptor(void* descriptor) {
  return destroy<TransformerDescriptor>("cudnnDestroySpatialTransformerDescriptor", descriptor);
}
int cudnnSetSpatialTransformerNdDescriptor(void* descriptor, int sampler, int type, int rank,
                                           const int* dims) {
  const std::tuple shown(descriptor, sampler, type, rank);
  return dnn_call("cudnnSetSpatialTransformerNdDescriptor", shown, [&](CallLine& line) {
    const auto one = object<TransformerDescriptor>(descriptor);
    require(sampler == 0, "no such sampler");
    require(rank == 4, "a rank that is not supported", kDnnNotSupported);
    const auto list = list_of(line, "dims", dims, rank);
    packed(type, list).check();
    one->type = type;
    one->dims = list;
  });
}

int cudnnSpatialTfGridGeneratorForward(void* handle, void* transformer, const void* theta, void* grid) {
  return dnn_call("cudnnSpatialTfGridGeneratorForward", std::tuple(handle, transformer, theta, grid),
                  [&](CallLine& line) {
                    const auto stream = object<DnnHandle>(handle);
                    const auto from = address_of(given(theta)), to = address_of(given(grid));
                    submit(line, *stream, [=, one = *transformer_of(transformer)] {
                      write_at(one.grid(), to, grid_of(one, read_at(one.maps(), from)));
                    });
                  });
}

int cudnnSpatialTfGridGeneratorBackward(void* handle, void* transformer, const void* dgrid, void* dtheta) {
  return dnn_call("cudnnSpatialTfGridGeneratorBackward", std::tuple(handle, transformer, dgrid, dtheta),
                  [&](CallLine& line) {
                    const auto stream = object<DnnHandle>(handle);
                    const auto from = address_of(given(dgrid)), to = address_of(given(dtheta));
                    submit(line, *stream, [=, one = *transformer_of(transformer)] {
                      write_at(one.maps(), to, map_slopes(one, read_at(one.grid(), from)));
                    });
                  });
}

int cudnnSpatialTfSamplerForward(void* handle, void* transformer, const void* alpha, void* x_descriptor,
                                 const void* x, const void* grid, const void* beta, void* y_descriptor,
                                 void* y) {
  const std::tuple shown(handle, transformer, alpha, x_descriptor, x, grid, beta, y_descriptor, y);
  return dnn_call("cudnnSpatialTfSamplerForward", shown, [&](CallLine& line) {
    const auto stream = object<DnnHandle>(handle);
    const Sampler sampler(transformer, x_descriptor, y_descriptor);
    const Blend blend = blend_of(sampler.y, alpha, beta);
    for (const void* each : {x, grid, static_cast<const void*>(y)}) given(each);
    submit(line, *stream, [=] {
      const Numbers places = read_at(sampler.one.grid(), address_of(grid));
      const Numbers in = read_at(sampler.x, address_of(x));
      Numbers out(sampler.y.count());
      for (size_t each = 0; each < out.size(); ++each)
        out[each] = in[sampler.source(each)] * sampler.weight(places, each);
      write_at(sampler.y, address_of(y), out, blend);
    });
  });
}

int cudnnSpatialTfSamplerBackward(void* handle, void* transformer, const void* alpha, void* x_descriptor,
                                  const void* x, const void* beta, void* dx_descriptor, void* dx,
                                  const void* alpha_grid, void* dy_descriptor, const void* dy,
                                  const void* grid, const void* beta_grid, void* dgrid) {
  const std::tuple shown(handle, transformer, alpha, x_descriptor, x, beta, dx_descriptor, dx, alpha_grid,
                         dy_descriptor, dy, grid, beta_grid, dgrid);
  return dnn_call("cudnnSpatialTfSamplerBackward", shown, [&](CallLine& line) {
    const auto stream = object<DnnHandle>(handle);
    const Sampler sampler(transformer, x_descriptor, dy_descriptor);
    const Shape dx_shape = tensor(dx_descriptor);
    require(dx_shape.dims == sampler.x.dims, "tensors of another size", kDnnShapeMismatch);
    const Blend blend = blend_of(dx_shape, alpha, beta),
                grid_blend = blend_of(dx_shape, alpha_grid, beta_grid);
    for (const void* each : {x, dy, grid, static_cast<const void*>(dx), static_cast<const void*>(dgrid)})
      given(each);
    submit(line, *stream, [=] {
      const Slopes slopes = slopes_of(sampler, read_at(sampler.one.grid(), address_of(grid)),
                                      read_at(sampler.x, address_of(x)), read_at(sampler.y, address_of(dy)));
      write_at(dx_shape, address_of(dx), slopes.x, blend);
      write_at(sampler.one.grid(), address_of(dgrid), slopes.grid, grid_blend);
    });
  });
}

}  // namespace jitc::fakes
