// Copies of masks, masks as biases, and rows that a bias does not do; see mask_rows.h. A warp for
// each row of the mask.

#include "kernels/cuda/mask_rows.h"

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/host.h"

namespace mindiesd::kernels::cuda {
namespace {

constexpr unsigned kThreads = 256, kWarps = kThreads / 32;

struct MaskRows {
  Divisor sizes[3];  // of the mask's rows: [batch, head, query]
  std::int64_t mask_strides[4], bias_strides[3], value_strides[3], output_strides[3];
  std::int64_t full[3];  // of the output's rows
  std::int64_t rows, key_length, bias_columns, heads_per_key;
  Band band;
  int value_dim;
  const void* mask;
  DataType mask_type, type;
  bool vectors;  // rows of a boolean mask can be read, and those of the bias written, eight at a
                 // time
  void* bias;
  const void* value;
  void* output;
};

struct Row {
  unsigned at[3];
  std::int64_t mask;  // where it begins, in elements
};

__device__ bool find_row(const MaskRows& p, Row* row) {
  const std::int64_t number = std::int64_t{blockIdx.x} * kWarps + threadIdx.x / 32;
  if (number >= p.rows) return false;
  unsigned rest = static_cast<unsigned>(number);
  row->mask = 0;
#pragma unroll
  for (int d = 2; d >= 0; --d) {
    const unsigned next = p.sizes[d].quotient(rest);
    row->at[d] = rest - next * p.sizes[d].value;
    rest = next;
    row->mask += row->at[d] * p.mask_strides[d];
  }
  return true;
}

__device__ float mask_value(const MaskRows& p, std::int64_t at) {
  if (p.mask_type != DataType::kBool) return load_one(p.mask, p.mask_type, at);
  return static_cast<const std::uint8_t*>(p.mask)[at] != 0 ? 0.0F : -INFINITY;
}

// 16 bytes of the copy by each lane.
template <typename Item>
__device__ void copy_row(const MaskRows& p, std::int64_t from, std::int64_t to) {
  constexpr int kItems = 16 / sizeof(Item);
  const Item* const mask = static_cast<const Item*>(p.mask) + from;
  for (std::int64_t j = threadIdx.x % 32 * kItems; j < p.bias_columns; j += 32 * kItems) {
    alignas(16) Item items[kItems];
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      items[i] = j + i < p.key_length ? mask[(j + i) * p.mask_strides[3]] : Item{};
    }
    *reinterpret_cast<uint4*>(static_cast<Item*>(p.bias) + to + j) =
        *reinterpret_cast<const uint4*>(items);
  }
}

__global__ void __launch_bounds__(kThreads) copy_mask_kernel(const __grid_constant__ MaskRows p) {
  wait_for_previous_kernel();
  Row row;
  if (!find_row(p, &row)) return;
  std::int64_t to = 0;
  for (int d = 0; d < 3; ++d) to += row.at[d] * p.bias_strides[d];
  if (p.mask_type == DataType::kBool) {
    copy_row<std::uint8_t>(p, row.mask, to);
  } else if (p.mask_type == DataType::kFloat32) {
    copy_row<std::uint32_t>(p, row.mask, to);
  } else {
    copy_row<std::uint16_t>(p, row.mask, to);
  }
}

// 0 for every byte that is not 0, else -infinity, in float16 or bfloat16.
__device__ uint4 eight_values(const uint2& keep, DataType type) {
  const unsigned minus_infinity = type == DataType::kFloat16 ? 0xfc00U : 0xff80U;
  unsigned words[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const unsigned two = (i < 2 ? keep.x : keep.y) >> (i % 2 * 16);
    words[i] = ((two & 0xffU) != 0 ? 0 : minus_infinity) |
               ((two & 0xff00U) != 0 ? 0 : minus_infinity << 16);
  }
  return {words[0], words[1], words[2], words[3]};
}

__global__ void __launch_bounds__(kThreads)
    mask_as_bias_kernel(const __grid_constant__ MaskRows p) {
  wait_for_previous_kernel();
  Row row;
  if (!find_row(p, &row)) return;
  std::int64_t to = 0;
  for (int d = 0; d < 3; ++d) to += row.at[d] * p.bias_strides[d];
  const std::int64_t lane = threadIdx.x % 32;
  const std::int64_t in_vectors = p.vectors ? p.key_length / 8 * 8 : 0;
  for (std::int64_t j = lane * 8; j < in_vectors; j += 32 * 8) {
    const uint2 keep =
        *reinterpret_cast<const uint2*>(static_cast<const char*>(p.mask) + row.mask + j);
    void* place = static_cast<std::uint16_t*>(p.bias) + to + j;
    *static_cast<uint4*>(place) = eight_values(keep, p.type);
  }
  // Up to the next row: what reads whole vectors finds no key there.
  for (std::int64_t j = in_vectors + lane; j < p.bias_columns; j += 32) {
    const float value =
        j < p.key_length ? mask_value(p, row.mask + j * p.mask_strides[3]) : -INFINITY;
    store_one(p.bias, p.type, to + j, value);
  }
}

// What cuDNN's products with log2(e) leave finite.
constexpr float kLowest = -2e38F;

// The mean of the values whose keys have the mask's value `wanted`: one this low swallows every
// score that it is added to, so that such keys weigh the same. Nothing where it is -infinity.
__device__ void write_mean(const MaskRows& p, const Row& row, std::int64_t begin, std::int64_t end,
                           float wanted, std::int64_t batch, std::int64_t head,
                           std::int64_t query) {
  const std::int64_t to =
      batch * p.output_strides[0] + head * p.output_strides[1] + query * p.output_strides[2];
  const std::int64_t from =
      batch * p.value_strides[0] + head / p.heads_per_key * p.value_strides[1];
  for (int c = static_cast<int>(threadIdx.x % 32); c < p.value_dim; c += 32) {
    float sum = 0.0F;
    int count = 0;
    for (std::int64_t j = begin; wanted != -INFINITY && j < end; ++j) {
      if (mask_value(p, row.mask + j * p.mask_strides[3]) != wanted) continue;
      sum += load_one(p.value, p.type, from + j * p.value_strides[2] + c);
      ++count;
    }
    store_one(p.output, p.type, to + c, count > 0 ? sum / static_cast<float>(count) : 0.0F);
  }
}

__global__ void __launch_bounds__(kThreads) mend_rows_kernel(const __grid_constant__ MaskRows p) {
  wait_for_previous_kernel();
  Row row;
  if (!find_row(p, &row)) return;
  const unsigned lane = threadIdx.x % 32;
  const std::int64_t query = row.at[2];
  const std::int64_t first = max(query - p.band.before, std::int64_t{0});
  const std::int64_t end = min(p.key_length, query + p.band.after + 1);
  // The first keys answer for nearly every row.
  float largest = -INFINITY;
  for (std::int64_t begin = first; begin < end; begin += 32) {
    const std::int64_t j = begin + lane;
    const float value = j < end ? mask_value(p, row.mask + j * p.mask_strides[3]) : -INFINITY;
    if (__any_sync(~0U, !(value < kLowest))) return;
    largest = fmaxf(largest, value);
  }
  for (int step = 16; step > 0; step /= 2) {
    largest = fmaxf(largest, __shfl_xor_sync(~0U, largest, step));
  }
  std::int64_t count[3], start[3];
  for (int d = 0; d < 3; ++d) {
    const bool repeats = p.sizes[d].value == 1;
    start[d] = repeats ? 0 : row.at[d];
    count[d] = repeats ? p.full[d] : 1;
  }
  for (std::int64_t b = start[0]; b < start[0] + count[0]; ++b) {
    for (std::int64_t h = start[1]; h < start[1] + count[1]; ++h) {
      for (std::int64_t i = start[2]; i < start[2] + count[2]; ++i) {
        write_mean(p, row, first, end, largest, b, h, i);
      }
    }
  }
}

MaskRows rows_of(const Attention& problem, const std::array<std::int64_t, 4>& sizes) {
  MaskRows p = {};
  p.rows = sizes[0] * sizes[1] * sizes[2];
  const std::int64_t full[] = {problem.batch, problem.query_heads, problem.query_length};
  for (std::size_t d = 0; d < 3; ++d) {
    p.sizes[d] = divisor_of(static_cast<std::uint32_t>(sizes[d]));
    p.full[d] = full[d];
    p.value_strides[d] = problem.value_strides[d];
    p.output_strides[d] = problem.output_strides[d];
  }
  for (std::size_t d = 0; d < 4; ++d) p.mask_strides[d] = problem.mask_strides[d];
  p.key_length = problem.key_length;
  p.value_dim = static_cast<int>(problem.value_dim);
  p.mask = problem.mask;
  p.mask_type = problem.mask_type;
  p.type = problem.type;
  p.value = problem.value;
  p.output = problem.output;
  p.heads_per_key = problem.query_heads / problem.key_heads;
  return p;
}

LaunchStatus launch_rows(void (*kernel)(MaskRows), const MaskRows& p, void* stream) {
  const Device* device = current_device();
  if (device == nullptr) return LaunchStatus::kFailed;
  if (p.rows > std::int64_t{1} << 30) return LaunchStatus::kUnsupported;
  const auto blocks = static_cast<unsigned>(ceil_div(p.rows, kWarps));
  return launch(kernel, blocks, kThreads, 0, *device, stream, p);
}

}  // namespace

LaunchStatus copy_mask(const Attention& problem, void* copy,
                       const std::array<std::int64_t, 3>& sizes,
                       const std::array<std::int64_t, 3>& strides, void* stream) {
  MaskRows p = rows_of(problem, {sizes[0], sizes[1], sizes[2], problem.key_length});
  for (std::size_t d = 0; d < 3; ++d) p.bias_strides[d] = strides[d];
  p.bias = copy;
  p.bias_columns = strides[2];
  return launch_rows(copy_mask_kernel, p, stream);
}

LaunchStatus mask_as_bias(const Attention& problem, void* bias, DataType type,
                          const std::array<std::int64_t, 4>& sizes,
                          const std::array<std::int64_t, 4>& strides, void* stream) {
  MaskRows p = rows_of(problem, sizes);
  for (std::size_t d = 0; d < 3; ++d) p.bias_strides[d] = strides[d];
  p.bias = bias;
  p.bias_columns = strides[2];
  p.type = type;
  p.vectors = p.mask_type == DataType::kBool && type != DataType::kFloat32 &&
              p.mask_strides[3] == 1 && reinterpret_cast<std::uintptr_t>(p.mask) % 8 == 0;
  for (std::size_t d = 0; d < 3; ++d) {
    p.vectors = p.vectors && (sizes[d] == 1 || p.mask_strides[d] % 8 == 0) && strides[d] % 8 == 0;
  }
  return launch_rows(mask_as_bias_kernel, p, stream);
}

Band band_of(const Attention& problem) {
  const std::int64_t shift = problem.key_length - problem.query_length;
  Band band;
  if (problem.causal == CausalAlignment::kTopLeft) band.after = 0;
  if (problem.causal == CausalAlignment::kBottomRight) band.after = shift;
  // The lengths bound what a window can add: past them it is none.
  if (problem.window_right >= 0 && problem.window_right < problem.query_length) {
    band.after = std::min(band.after, shift + problem.window_right);
  }
  if (problem.window_left >= 0 && problem.window_left < problem.key_length) {
    band.before = problem.window_left - shift;
  }
  return band;
}

LaunchStatus mend_rows(const Attention& problem, const std::array<std::int64_t, 4>& sizes,
                       void* stream) {
  const Band band = band_of(problem);
  std::array<std::int64_t, 4> rows = sizes;
  if (band.begins() || band.ends()) rows[2] = problem.query_length;
  MaskRows p = rows_of(problem, rows);
  p.band = band;
  return launch_rows(mend_rows_kernel, p, stream);
}

}  // namespace mindiesd::kernels::cuda
