// Checks on tensor views; see view.h.

#include "view.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace mindiesd::runtime {

using kernels::DataType;

namespace {

[[gnu::cold]] std::string text(std::int64_t value) { return std::to_string(value); }

// The bytes that a view touches, relative to its data pointer: [low, high).
struct Extent {
  std::int64_t low = 0, high = 0;
};

Extent extent_of(const View& view) {
  Extent extent;
  const auto item = static_cast<std::int64_t>(bytes_of(view.type));
  for (int d = 0; d < view.rank; ++d) {
    const std::int64_t reach = (view.sizes[d] - 1) * view.strides[d] * item;
    (reach < 0 ? extent.low : extent.high) += reach;
  }
  extent.high += item;
  return extent;
}

bool same_view(const View& a, const View& b) {
  if (a.data != b.data || a.type != b.type || a.rank != b.rank) return false;
  for (int d = 0; d < a.rank; ++d) {
    if (a.sizes[d] != b.sizes[d]) return false;
    if (a.sizes[d] > 1 && a.strides[d] != b.strides[d]) return false;
  }
  return true;
}

// The dimensions of more than one element, smallest stride first.
struct ByStride {
  int dims[MINDIESD_MAX_NDIM];
  int count = 0;
};

ByStride by_stride(const View& view) {
  ByStride order;
  for (int d = 0; d < view.rank; ++d) {
    if (view.sizes[d] <= 1) continue;
    int place = order.count++;
    for (; place > 0 && std::abs(view.strides[order.dims[place - 1]]) > std::abs(view.strides[d]);
         --place) {
      order.dims[place] = order.dims[place - 1];
    }
    order.dims[place] = d;
  }
  return order;
}

// Folds the dimensions that lie without gaps into a tooth of `length` bytes, and the rest into a
// common divisor of their strides: every byte of the view lies at low + n * period + [0, length).
struct Comb {
  std::int64_t period = 0, length = 0;
};

Comb comb_of(const View& view) {
  const auto item = static_cast<std::int64_t>(bytes_of(view.type));
  Comb comb{0, item};
  const ByStride order = by_stride(view);
  for (int i = 0; i < order.count; ++i) {
    const int d = order.dims[i];
    const std::int64_t stride = std::abs(view.strides[d]) * item;
    if (comb.period == 0 && stride <= comb.length) {
      comb.length += (view.sizes[d] - 1) * stride;
    } else {
      comb.period = std::gcd(comb.period, stride);
    }
  }
  return comb;
}

bool provably_apart(const View& a, const View& b) {
  const auto a_base = reinterpret_cast<std::intptr_t>(a.data);
  const auto b_base = reinterpret_cast<std::intptr_t>(b.data);
  const Extent a_extent = extent_of(a), b_extent = extent_of(b);
  if (a_base + a_extent.high <= b_base + b_extent.low) return true;
  if (b_base + b_extent.high <= a_base + a_extent.low) return true;
  const Comb a_comb = comb_of(a), b_comb = comb_of(b);
  const std::int64_t period = std::gcd(a_comb.period, b_comb.period);
  if (period == 0) return false;
  // Modulo the period, b's teeth begin `offset` behind a's.
  const std::int64_t distance = b_base + b_extent.low - (a_base + a_extent.low);
  const std::int64_t offset = (distance % period + period) % period;
  return offset >= a_comb.length && offset + b_comb.length <= period;
}

}  // namespace

Failure invalid(std::string text) { return {MINDIESD_INVALID_ARGUMENT, std::move(text)}; }

bool View::empty() const {
  return std::any_of(sizes, sizes + rank, [](std::int64_t size) { return size == 0; });
}

std::string name_of(DataType type) {
  switch (type) {
    case DataType::kFloat32:
      return "float32";
    case DataType::kFloat16:
      return "float16";
    case DataType::kBFloat16:
      return "bfloat16";
    case DataType::kBool:
      return "bool";
    case DataType::kInt32:
      return "int32";
    case DataType::kInt64:
      return "int64";
    case DataType::kFloat64:
      return "float64";
    case DataType::kInt8:
      return "int8";
  }
  return "unknown";
}

std::size_t bytes_of(DataType type) {
  switch (type) {
    case DataType::kFloat32:
    case DataType::kInt32:
      return 4;
    case DataType::kFloat16:
    case DataType::kBFloat16:
      return 2;
    case DataType::kBool:
    case DataType::kInt8:
      return 1;
    case DataType::kInt64:
    case DataType::kFloat64:
      return 8;
  }
  return 1;
}

bool is_floating(DataType type) {
  return type == DataType::kFloat32 || type == DataType::kFloat16 || type == DataType::kBFloat16;
}

std::string shape_of(const View& view) {
  std::string shape = "[";
  for (int d = 0; d < view.rank; ++d) shape += (d == 0 ? "" : ", ") + text(view.sizes[d]);
  return shape + "]";
}

Check read_view(const mindiesd_tensor* tensor, const char* name, View* view) {
  if (tensor == nullptr) return invalid(std::string(name) + " must be a tensor, but is null");
  if (tensor->ndim < 0 || tensor->ndim > MINDIESD_MAX_NDIM) {
    return invalid(std::string(name) + " must have 0 to " + text(MINDIESD_MAX_NDIM) +
                   " dimensions, but has " + text(tensor->ndim));
  }
  if (tensor->ndim > 0 && tensor->sizes == nullptr) {
    return invalid(std::string(name) + " has " + text(tensor->ndim) +
                   " dimensions, but its sizes are null");
  }
  if (tensor->dtype < MINDIESD_FLOAT32 || tensor->dtype > MINDIESD_INT8) {
    return invalid(std::string(name) + " has the unknown dtype " + text(tensor->dtype));
  }
  view->name = name;
  view->data = tensor->data;
  view->type = static_cast<DataType>(tensor->dtype);
  view->rank = tensor->ndim;
  view->device_type = tensor->device_type;
  view->device_id = tensor->device_id;
  // Byte offsets must fit 64 bits, so that no later sum overflows.
  constexpr std::int64_t kLargest = std::int64_t{1} << 56;
  std::int64_t dense = 1;
  std::int64_t reach = 0;
  for (int d = tensor->ndim - 1; d >= 0; --d) {
    const std::int64_t size = tensor->sizes[d];
    if (size < 0) return invalid(std::string(name) + " has the negative size " + text(size));
    view->sizes[d] = size;
    view->strides[d] = tensor->strides != nullptr ? tensor->strides[d] : dense;
    std::int64_t extent = 0;
    if (__builtin_mul_overflow(dense, std::max<std::int64_t>(size, 1), &dense) ||
        __builtin_mul_overflow(std::max<std::int64_t>(size - 1, 0), view->strides[d], &extent) ||
        dense > kLargest || extent > kLargest || extent < -kLargest ||
        (reach += std::abs(extent)) > kLargest) {
      return invalid(std::string(name) + " is larger than memory can be: " + shape_of(*view));
    }
  }
  if (view->data == nullptr && !view->empty()) {
    return invalid(std::string(name) + " has shape " + shape_of(*view) +
                   ", but its data pointer is null");
  }
  if (reinterpret_cast<std::uintptr_t>(view->data) % bytes_of(view->type) != 0) {
    return invalid(std::string(name) + " must be aligned to its element, " +
                   text(bytes_of(view->type)) + " bytes");
  }
  return {};
}

Check expect_rank(const View& view, int rank, const char* dimensions) {
  if (view.rank == rank) return {};
  return invalid(std::string(view.name) + " must have " + text(rank) + " dimensions " + dimensions +
                 ", but has shape " + shape_of(view));
}

Check expect_floating(const View& view) {
  if (is_floating(view.type)) return {};
  return invalid(std::string(view.name) + " must be float32, float16 or bfloat16, but is " +
                 name_of(view.type));
}

Check expect_same_type(const View& view, const View& reference) {
  if (view.type == reference.type) return {};
  return invalid(std::string(view.name) + " must have the type of " + reference.name + ", " +
                 name_of(reference.type) + ", but is " + name_of(view.type));
}

Check expect_same_device(const View& view, const View& reference) {
  if (view.device_type == reference.device_type && view.device_id == reference.device_id) return {};
  return invalid(std::string(view.name) + " must be on the device of " + reference.name +
                 ", type " + text(reference.device_type) + " number " + text(reference.device_id) +
                 ", but is on type " + text(view.device_type) + " number " + text(view.device_id));
}

Check expect_dense_last(const View& view) {
  const int last = view.rank - 1;
  // Nothing is read of a tensor without elements, and torch keeps its strides through contiguous().
  const bool empty = std::find(view.sizes, view.sizes + view.rank, 0) != view.sizes + view.rank;
  if (empty || view.sizes[last] <= 1 || view.strides[last] == 1) return {};
  return invalid(std::string(view.name) + " must be dense in its last dimension, but has stride " +
                 text(view.strides[last]) + " there; make it contiguous");
}

Check expect_size(const View& view, int dim, std::int64_t size, const char* what) {
  if (view.sizes[dim] == size) return {};
  return invalid(std::string(view.name) + " must have " + what + " " + text(size) +
                 " in dimension " + text(dim) + ", but has shape " + shape_of(view));
}

Check broadcast_to(View* view, const std::int64_t* sizes, int rank, const char* what) {
  View wide = *view;
  wide.rank = rank;
  const int missing = rank - view->rank;
  bool fits = missing >= 0;
  for (int d = 0; fits && d < rank; ++d) {
    const std::int64_t size = d < missing ? 1 : view->sizes[d - missing];
    fits = size == sizes[d] || size == 1;
    wide.sizes[d] = sizes[d];
    wide.strides[d] = d < missing || size == 1 ? 0 : view->strides[d - missing];
  }
  if (!fits) {
    std::string target = "[";
    for (int d = 0; d < rank; ++d) target += (d == 0 ? "" : ", ") + text(sizes[d]);
    return invalid(std::string(view->name) + " must broadcast to " + what + " " + target +
                   "], but has shape " + shape_of(*view));
  }
  *view = wide;
  return {};
}

Check expect_no_overlap(const View& output) {
  if (output.empty()) return {};
  // Sorted by stride, every dimension must step over all that the smaller ones cover.
  const ByStride order = by_stride(output);
  std::int64_t covered = 1;
  for (int i = 0; i < order.count; ++i) {
    const std::int64_t stride = std::abs(output.strides[order.dims[i]]);
    if (stride < covered) {
      return invalid(std::string(output.name) +
                     " must not overlap itself, but several of its elements share memory");
    }
    covered += (output.sizes[order.dims[i]] - 1) * stride;
  }
  return {};
}

Check expect_no_overlap(const View& output, const View& input, bool allow_same) {
  if (output.empty() || input.empty() || output.device_type != input.device_type ||
      output.device_id != input.device_id) {
    return {};
  }
  if (allow_same && same_view(output, input)) return {};
  if (provably_apart(output, input)) return {};
  return invalid(std::string(output.name) + " must not share memory with " + input.name +
                 ", but overlaps it; give it memory of its own");
}

kernels::RowSpace rows_of(const View& view) {
  kernels::RowSpace rows;
  rows.rank = view.rank - 1;
  for (int d = 0; d < rows.rank; ++d) rows.sizes[d] = view.sizes[d];
  return rows;
}

kernels::RowOperand operand_of(const View& view) {
  kernels::RowOperand operand;
  operand.data = view.data;
  operand.type = view.type;
  for (int d = 0; d < view.rank - 1; ++d) operand.strides[d] = view.strides[d];
  operand.step = view.strides[view.rank - 1];
  return operand;
}

}  // namespace mindiesd::runtime
