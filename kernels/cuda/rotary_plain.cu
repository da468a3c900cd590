// Norm and rotation of heads that cannot be read in vectors: any strides and types. Entry point:
// run_plain_stretch.

#include "kernels/cuda/rotary_host.h"
#include "kernels/cuda/row_reduce.cuh"

namespace mindiesd::kernels::cuda {
namespace {

struct PlainOperand {
  void* data;
  DataType type;
  std::int64_t step;
  std::int64_t inner_stride;
};

struct PlainVector {
  const void* data;
  DataType type;
  std::int64_t step;
};

struct PlainParameters {
  RowMap<kRotaryOperands> map;
  PlainOperand operands[kRotaryOperands];
  PlainVector weight, bias;
  std::int64_t inner, width, matrix_row, matrix_column;
  std::uint32_t outer;
  float eps;
  bool neighbours, full_tables, matrix, norm, centered, rotates;
};

__device__ __forceinline__ float load_table(const void* base, DataType type, std::int64_t index) {
  if (type == DataType::kFloat64)
    return static_cast<float>(static_cast<const double*>(base)[index]);
  return load_one(base, type, index);
}

// The threads of one threadIdx.y, a warp or the block, have the rows of one outer index, which a
// norm takes together.
__global__ void __launch_bounds__(256) plain_stretch(const __grid_constant__ PlainParameters p) {
  __shared__ float memory[4][8];
  wait_for_previous_kernel();
  allow_next_kernel();
  const std::uint32_t outer = blockIdx.x * blockDim.y + threadIdx.y;
  if (outer >= p.outer) return;
  std::int64_t offsets[kRotaryOperands];
  for (int o = 0; o < kRotaryOperands; ++o) offsets[o] = p.map.offset(outer, o);
  const auto load = [&](RotaryOperand which, std::int64_t row, std::int64_t i) {
    const PlainOperand& operand = p.operands[which];
    const std::int64_t at = offsets[which] + row * operand.inner_stride + i * operand.step;
    return which == kRotaryInput ? load_one(operand.data, operand.type, at)
                                 : load_table(operand.data, operand.type, at);
  };

  float factor = 1.0F, down = 1.0F, mean = 0.0F;
  if (p.norm) {
    const float width = static_cast<float>(p.width * p.inner);
    const auto sum = [&](float* room, const auto& term) {
      float total[1] = {0.0F};
      for (std::int64_t row = 0; row < p.inner; ++row) {
        for (std::int64_t i = threadIdx.x; i < p.width; i += blockDim.x) {
          total[0] = term(load(kRotaryInput, row, i) * down, total[0]);
        }
      }
      reduce_row<Sum>(total, room);
      return total[0];
    };
    float eps = p.eps, squares = 0.0F;
    for (int round = 0;; ++round) {  // see norm_kernel
      if (p.centered) {
        mean = sum(memory[2 * round], [](float x, float total) { return total + x; }) / width;
      }
      squares = sum(memory[2 * round + 1],
                    [&](float x, float total) { return fmaf(x - mean, x - mean, total); });
      if (round == 1 || is_finite(squares)) break;
      down = kDown;
      eps = eps_down(eps);
    }
    factor = 1.0F / sqrtf(squares / width + eps);
    // Every thread has read what some thread will now write over.
    if (blockDim.x == 32) {
      __syncwarp();
    } else {
      __syncthreads();
    }
  }
  const auto value = [&](std::int64_t row, std::int64_t i) {
    float x = load(kRotaryInput, row, i);
    if (!p.norm) return x;
    x = (x * down - mean) * factor;
    const std::int64_t at = row * p.width + i;
    if (p.weight.data != nullptr) x *= load_one(p.weight.data, p.weight.type, at * p.weight.step);
    if (p.bias.data != nullptr) x += load_one(p.bias.data, p.bias.type, at * p.bias.step);
    return x;
  };

  const PlainOperand& out = p.operands[kRotaryOutput];
  for (std::int64_t row = 0; row < p.inner; ++row) {
    const std::int64_t place = offsets[kRotaryOutput] + row * out.inner_stride;
    if (!p.rotates) {
      for (std::int64_t i = threadIdx.x; i < p.width; i += blockDim.x) {
        store_one(out.data, out.type, place + i * out.step, value(row, i));
      }
      continue;
    }
    const std::int64_t half = p.width / 2;
    for (std::int64_t j = threadIdx.x; j < half; j += blockDim.x) {
      const std::int64_t first = p.neighbours ? 2 * j : j;
      const std::int64_t second = p.neighbours ? 2 * j + 1 : j + half;
      const float a = value(row, first), b = value(row, second);
      float turned_a, turned_b;
      if (p.matrix) {
        const PlainOperand& m = p.operands[kRotaryCos];
        const std::int64_t at = offsets[kRotaryCos] + row * m.inner_stride + j * m.step;
        const auto entry = [&](int r, int c) {
          return load_table(m.data, m.type, at + r * p.matrix_row + c * p.matrix_column);
        };
        turned_a = entry(0, 0) * a + entry(0, 1) * b;
        turned_b = entry(1, 0) * a + entry(1, 1) * b;
      } else {
        const std::int64_t ta = p.full_tables ? first : j;
        const std::int64_t tb = p.full_tables ? second : j;
        turned_a = load(kRotaryCos, row, ta) * a - load(kRotarySin, row, ta) * b;
        turned_b = load(kRotaryCos, row, tb) * b + load(kRotarySin, row, tb) * a;
      }
      store_one(out.data, out.type, place + first * out.step, turned_a);
      store_one(out.data, out.type, place + second * out.step, turned_b);
    }
  }
}

}  // namespace

LaunchStatus run_plain_stretch(const Stretch& stretch, const Device& device, void* stream) {
  const Rotary& rotary = stretch.rotary;
  const bool heads = stretch.norm == NormSpan::kHeads;
  const Split split = split_at(rotary, heads ? rotary.rows.rank - 1 : -1);
  PlainParameters p;
  p.weight = {stretch.weight, stretch.weight_type, stretch.weight_step};
  p.bias = {stretch.bias, stretch.bias_type, stretch.bias_step};
  p.inner = split.inner;
  p.width = rotary.width;
  p.matrix_row = split.matrix_row;
  p.matrix_column = split.matrix_column;
  p.eps = stretch.eps;
  p.neighbours = rotary.interleaved || rotary.has_matrix;
  p.full_tables = !rotary.half_width_tables;
  p.matrix = rotary.has_matrix;
  p.norm = stretch.norm != NormSpan::kNone;
  p.centered = stretch.kind == NormKind::kLayer;
  p.rotates = stretch.rotates;
  const bool warps = rotary.width <= 256 && !heads;
  const dim3 block = warps ? dim3(32, 8) : dim3(256);
  const auto body = [&](const RotaryRows& rows,
                        const std::array<std::int64_t, kRotaryOperands>& offsets) {
    p.map = map_of(rows);
    for (int o = 0; o < kRotaryOperands; ++o) {
      const RowOperand& operand = split.operands[o];
      p.operands[o] = {advance(operand.data, operand.type, offsets[o]), operand.type, operand.step,
                       split.strides[o]};
    }
    p.outer = static_cast<std::uint32_t>(rows.count());
    const dim3 grid(static_cast<unsigned>(ceil_div(rows.count(), block.y)));
    return launch(plain_stretch, grid, block, 0, device, stream, p);
  };
  return for_each_piece<kRotaryOperands>(merge_rows<kRotaryOperands>(split.outer, split.pointers()),
                                         1, std::cref(body));
}

}  // namespace mindiesd::kernels::cuda
