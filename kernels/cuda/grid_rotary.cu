// Rotation by places in a grid. Entry point: grid_rotary.
//
// Traffic: each token once, and the table's rows of its place from the second-level cache, 1 KB of
// float64 for 128 values beside the 30 KB of a token of 40 heads that is read in half precision and
// written in float32. A block takes a token; the table's pairs of its place are brought to float32
// once, in shared memory, for all heads.

#include "kernels/cuda/grid_rotary.h"

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/host.h"

namespace mindiesd::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kMostPairs = 256;
constexpr int kMostSamples = 8;  // of one launch

struct Grid {
  std::uint32_t cells = 0;
  Divisor rows, columns;
};

struct Parameters {
  const void* input;
  void* output;
  DataType output_type;
  std::int64_t input_strides[3], output_strides[3];
  const void* table;
  std::int64_t table_stride;
  int heads, width;
  int by_frame, by_row;  // pairs
  Grid grids[kMostSamples];
};

// blockIdx.x is the position, blockIdx.y the sample.
template <typename T, typename Table>
__global__ void __launch_bounds__(kThreads) grid_kernel(const __grid_constant__ Parameters p) {
  constexpr int kCount = 16 / sizeof(T);
  __shared__ float2 turns[kMostPairs];
  wait_for_previous_kernel();
  allow_next_kernel();
  const Grid& grid = p.grids[blockIdx.y];
  const std::uint32_t position = blockIdx.x;
  const std::uint32_t line = grid.columns.quotient(position);
  const std::uint32_t frame = grid.rows.quotient(line);
  const std::uint32_t row = line - frame * grid.rows.value;
  const std::uint32_t column = position - line * grid.columns.value;
  for (int j = static_cast<int>(threadIdx.x); j < p.width / 2; j += kThreads) {
    float2 turn = make_float2(1.0F, 0.0F);
    if (position < grid.cells) {
      const std::uint32_t place = j < p.by_frame ? frame : j < p.by_frame + p.by_row ? row : column;
      const Table* pair = static_cast<const Table*>(p.table) + place * p.table_stride + 2 * j;
      turn = make_float2(static_cast<float>(__ldg(pair)), static_cast<float>(__ldg(pair + 1)));
    }
    turns[j] = turn;
  }
  __syncthreads();
  const bool turned = position < grid.cells;
  const int vectors = p.width / kCount;
  const T* from = static_cast<const T*>(p.input) + blockIdx.y * p.input_strides[0] +
                  position * p.input_strides[1];
  const std::int64_t to = blockIdx.y * p.output_strides[0] + position * p.output_strides[1];
  for (int i = static_cast<int>(threadIdx.x); i < p.heads * vectors; i += kThreads) {
    const int head = i / vectors, first = (i - head * vectors) * kCount;
    float x[kCount];
    unpack<T>(load_operand<16>(from + head * p.input_strides[2] + first), x);
    if (turned) {  // a copy keeps the bits of infinities
#pragma unroll
      for (int k = 0; k < kCount; k += 2) {
        const float2 turn = turns[(first + k) / 2];
        const float a = x[k], b = x[k + 1];
        x[k] = a * turn.x - b * turn.y;
        x[k + 1] = a * turn.y + b * turn.x;
      }
    }
    store_vector<T, false>(p.output, p.output_type, to + head * p.output_strides[2] + first, x);
  }
}

using Kernel = void (*)(Parameters);

template <typename Table>
Kernel kernel_of(DataType type) {
  switch (type) {
    case DataType::kFloat16:
      return grid_kernel<__half, Table>;
    case DataType::kBFloat16:
      return grid_kernel<__nv_bfloat16, Table>;
    default:
      return grid_kernel<float, Table>;
  }
}

bool in_vectors(const void* data, DataType type, const std::int64_t (&strides)[3],
                const GridRotary& p, std::int64_t count) {
  const std::int64_t sizes[3] = {p.samples, p.positions, p.heads};
  RowOperand operand;
  operand.data = const_cast<void*>(data);
  operand.type = type;
  std::copy(strides, strides + 3, operand.strides);
  return aligned(operand, 3, sizes, static_cast<int>(count));
}

bool takes(const GridRotary& p) {
  const std::int64_t count = 16 / bytes_of(p.input_type);
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  return p.width % count == 0 && p.width / 2 <= kMostPairs && mixes(p.input_type, p.output_type) &&
         p.positions <= kMost && p.heads <= kMost / p.width &&
         in_vectors(p.input, p.input_type, p.input_strides, p, count) &&
         in_vectors(p.output, p.output_type, p.output_strides, p, count);
}

Grid grid_of(const std::int64_t* sizes) {
  Grid grid;
  grid.cells = static_cast<std::uint32_t>(sizes[0] * sizes[1] * sizes[2]);
  if (grid.cells == 0) return grid;
  grid.rows = divisor_of(static_cast<std::uint32_t>(sizes[1]));
  grid.columns = divisor_of(static_cast<std::uint32_t>(sizes[2]));
  return grid;
}

}  // namespace

LaunchStatus grid_rotary(const GridRotary& problem, void* stream) {
  if (problem.samples * problem.positions * problem.heads * problem.width == 0) {
    return LaunchStatus::kOk;
  }
  if (!takes(problem)) return LaunchStatus::kUnsupported;
  const Device* device = current_device();
  if (device == nullptr) return LaunchStatus::kFailed;
  const Kernel kernel = problem.table_type == DataType::kFloat64
                            ? kernel_of<double>(problem.input_type)
                            : kernel_of<float>(problem.input_type);
  Parameters p;
  p.output_type = problem.output_type;
  std::copy(problem.input_strides, problem.input_strides + 3, p.input_strides);
  std::copy(problem.output_strides, problem.output_strides + 3, p.output_strides);
  p.table = problem.table;
  p.table_stride = problem.table_stride;
  p.heads = static_cast<int>(problem.heads);
  p.width = static_cast<int>(problem.width);
  p.by_frame = static_cast<int>(problem.pairs[0]);
  p.by_row = static_cast<int>(problem.pairs[1]);
  for (std::int64_t first = 0; first < problem.samples; first += kMostSamples) {
    const std::int64_t samples = std::min<std::int64_t>(kMostSamples, problem.samples - first);
    p.input = advance(const_cast<void*>(problem.input), problem.input_type,
                      first * problem.input_strides[0]);
    p.output = advance(problem.output, problem.output_type, first * problem.output_strides[0]);
    for (std::int64_t i = 0; i < samples; ++i) {
      p.grids[i] = grid_of(problem.grids + (first + i) * 3);
    }
    const dim3 blocks(static_cast<unsigned>(problem.positions), static_cast<unsigned>(samples));
    const LaunchStatus status = launch(kernel, blocks, kThreads, 0, *device, stream, p);
    if (status != LaunchStatus::kOk) return status;
  }
  return LaunchStatus::kOk;
}

}  // namespace mindiesd::kernels::cuda
