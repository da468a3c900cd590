// Masks as biases, and rows without a key; see mask_rows.h. A warp for each row of the mask.

#include "kernels/cuda/mask_rows.h"

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/host.h"

namespace mindiesd::kernels::cuda {
namespace {

constexpr unsigned kThreads = 256, kWarps = kThreads / 32;

struct MaskRows {
  Divisor sizes[3];  // of the mask's rows: [batch, head, query]
  std::int64_t mask_strides[4], bias_strides[3], output_strides[3];
  std::int64_t full[3];  // of the output's rows
  std::int64_t rows, key_length, bias_columns;
  int value_dim;
  const void* mask;
  DataType mask_type, type;
  bool vectors;  // rows of a boolean mask can be read, and those of the bias written, eight at a
                 // time
  void* bias;
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
    const std::int64_t from = row.mask + j * p.mask_strides[3];
    float value = -INFINITY;
    if (j < p.key_length && p.mask_type == DataType::kBool) {
      value = static_cast<const std::uint8_t*>(p.mask)[from] != 0 ? 0.0F : -INFINITY;
    } else if (j < p.key_length) {
      value = load_one(p.mask, p.mask_type, from);
    }
    store_one(p.bias, p.type, to + j, value);
  }
}

__device__ bool keeps(const MaskRows& p, std::int64_t at) {
  if (p.mask_type == DataType::kBool) return static_cast<const std::uint8_t*>(p.mask)[at] != 0;
  return load_one(p.mask, p.mask_type, at) != -INFINITY;
}

__global__ void __launch_bounds__(kThreads) clear_blind_kernel(const __grid_constant__ MaskRows p) {
  wait_for_previous_kernel();
  Row row;
  if (!find_row(p, &row)) return;
  const unsigned lane = threadIdx.x % 32;
  // The first keys answer for nearly every row.
  for (std::int64_t begin = 0; begin < p.key_length; begin += 32) {
    const std::int64_t j = begin + lane;
    if (__any_sync(~0U, j < p.key_length && keeps(p, row.mask + j * p.mask_strides[3]))) return;
  }
  std::int64_t count[3], first[3];
  for (int d = 0; d < 3; ++d) {
    const bool repeats = p.sizes[d].value == 1;
    first[d] = repeats ? 0 : row.at[d];
    count[d] = repeats ? p.full[d] : 1;
  }
  for (std::int64_t b = first[0]; b < first[0] + count[0]; ++b) {
    for (std::int64_t h = first[1]; h < first[1] + count[1]; ++h) {
      for (std::int64_t i = first[2]; i < first[2] + count[2]; ++i) {
        const std::int64_t to =
            b * p.output_strides[0] + h * p.output_strides[1] + i * p.output_strides[2];
        for (int c = static_cast<int>(lane); c < p.value_dim; c += 32) {
          store_one(p.output, p.type, to + c, 0.0F);
        }
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
    p.output_strides[d] = problem.output_strides[d];
  }
  for (std::size_t d = 0; d < 4; ++d) p.mask_strides[d] = problem.mask_strides[d];
  p.key_length = problem.key_length;
  p.value_dim = static_cast<int>(problem.value_dim);
  p.mask = problem.mask;
  p.mask_type = problem.mask_type;
  p.type = problem.type;
  p.output = problem.output;
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

LaunchStatus clear_blind_rows(const Attention& problem, const std::array<std::int64_t, 4>& sizes,
                              void* stream) {
  return launch_rows(clear_blind_kernel, rows_of(problem, sizes), stream);
}

}  // namespace mindiesd::kernels::cuda
