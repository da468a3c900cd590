// Rotary position embedding on the CPU, with the norm of query and key before it where asked.
// Entry points: rotary, joint_heads. One group of rows at a time in float32: a row, or where the
// norm goes over all heads, the rows of a position. A table row that several input rows share
// (heads, batch) is converted once while it is shared.

#include "kernels/cpu/isa/kernels.h"
#include "kernels/cpu/isa/rows.h"
#include "kernels/cpu/isa/simd.h"

namespace mindiesd::kernels::cpu::MINDIESD_ISA {
namespace {

// Halves: row[j] and row[j + pairs] are a pair. The table values of its two elements lie
// `second` apart: `pairs` for full-width tables, 0 for half-width ones.
void rotate_halves(float* row, const float* cos, const float* sin, int64_t pairs, int64_t second) {
#pragma omp simd
  for (int64_t j = 0; j < pairs; ++j) {
    const float a = row[j];
    const float b = row[j + pairs];
    row[j] = a * cos[j] - b * sin[j];
    row[j + pairs] = b * cos[j + second] + a * sin[j + second];
  }
}

void rotate_neighbours(float* row, const float* cos, const float* sin, int64_t pairs) {
#pragma omp simd
  for (int64_t j = 0; j < pairs; ++j) {
    const float a = row[2 * j];
    const float b = row[2 * j + 1];
    row[2 * j] = a * cos[2 * j] - b * sin[2 * j];
    row[2 * j + 1] = b * cos[2 * j + 1] + a * sin[2 * j + 1];
  }
}

void rotate_neighbours_half_width(float* row, const float* cos, const float* sin, int64_t pairs) {
#pragma omp simd
  for (int64_t j = 0; j < pairs; ++j) {
    const float a = row[2 * j];
    const float b = row[2 * j + 1];
    row[2 * j] = a * cos[j] - b * sin[j];
    row[2 * j + 1] = b * cos[j] + a * sin[j];
  }
}

// m: the four entries of the pairs' matrices, each `pairs` long. Pairs are `second` apart and begin
// every `step`: (pairs, 1) for halves, (1, 2) for neighbours.
void multiply_pairs(float* row, const float* m, int64_t pairs, int64_t second, int64_t step) {
#pragma omp simd
  for (int64_t j = 0; j < pairs; ++j) {
    const float a = row[j * step];
    const float b = row[j * step + second];
    row[j * step] = m[j] * a + m[pairs + j] * b;
    row[j * step + second] = m[2 * pairs + j] * a + m[3 * pairs + j] * b;
  }
}

// The current row of a table of matrices, entry by entry as multiply_pairs wants them.
class MatrixRow {
 public:
  MatrixRow(const Rotary& problem, float* memory) : problem_(problem), memory_(memory) {}

  const float* at_offset(int64_t offset) {
    if (loaded_ && offset == offset_) return memory_;
    const RowOperand& matrix = problem_.matrix;
    const int64_t pairs = problem_.width / 2;
    for (int64_t entry = 0; entry < 4; ++entry) {
      const int64_t place =
          offset + entry / 2 * problem_.matrix_row + entry % 2 * problem_.matrix_column;
      load_row(memory_ + entry * pairs, at(matrix.data, matrix.type, place), matrix.type,
               matrix.step, pairs);
    }
    offset_ = offset;
    loaded_ = true;
    return memory_;
  }

 private:
  const Rotary& problem_;
  float* memory_;
  int64_t offset_ = 0;
  bool loaded_ = false;
};

void rotate_row(float* row, const Rotary& p, const float* cos, const float* sin) {
  const int64_t pairs = p.width / 2;
  if (!p.interleaved) {
    rotate_halves(row, cos, sin, pairs, p.half_width_tables ? 0 : pairs);
  } else if (p.half_width_tables) {
    rotate_neighbours_half_width(row, cos, sin, pairs);
  } else {
    rotate_neighbours(row, cos, sin, pairs);
  }
}

// Normalises the values of a group, with weights and bias of as many values or of one row's.
void normalise(float* group, const Stretch& stretch, const float* weight, const float* bias,
               int64_t values) {
  if (stretch.kind == NormKind::kRms) {
    root_of(group, values, stretch.eps).apply(group, values);
  } else {
    auto eps = static_cast<double>(stretch.eps);
    Deviations deviations;
    for (int round = 0;; ++round) {
      const double mean =
          row_sum(values, [group](int64_t i) { return group[i]; }) / static_cast<double>(values);
      const auto pivot = static_cast<float>(mean);
      deviations = deviations_of(group, pivot, values);
      const double left = deviations.sum / static_cast<double>(values);
      const auto rest = static_cast<float>(left);
      deviations.squares -= left * deviations.sum;
      if (__builtin_isfinite(deviations.squares) || round == 1) {
#pragma omp simd
        for (int64_t i = 0; i < values; ++i) group[i] = (group[i] - pivot) - rest;
        break;
      }
      bring_down(group, group, values);
      eps *= kDown * kDown;
    }
    inverse_root(deviations.squares / static_cast<double>(values), eps).apply(group, values);
  }
  if (weight != nullptr) {
#pragma omp simd
    for (int64_t i = 0; i < values; ++i) group[i] *= weight[i];
  }
  if (bias != nullptr) {
#pragma omp simd
    for (int64_t i = 0; i < values; ++i) group[i] += bias[i];
  }
}

LaunchStatus compute(const Stretch& stretch) {
  const Rotary& p = stretch.rotary;
  const bool together = stretch.norm == NormSpan::kHeads;
  RowSpace groups = p.rows;
  int64_t heads = 1;
  if (together) heads = groups.sizes[--groups.rank];
  // Strides from head to head inside a group.
  const auto head_stride = [&](const RowOperand& rows) {
    return together ? rows.strides[groups.rank] : 0;
  };
  const int64_t width = p.width;
  const int64_t values = heads * width;
  const int64_t padded = round_up(values, 16), padded_row = round_up(width, 16);
  const int64_t table_width = p.half_width_tables ? width / 2 : width;
  OutOfMemory memory;
  parallel_for(groups.count(), row_grain(values), [&](int64_t begin, int64_t end) {
    float* group = scratch(ScratchSlot::kRow, static_cast<size_t>(3 * padded + 2 * padded_row));
    if (group == nullptr) return memory.set();
    float* weight = stretch.weight != nullptr ? group + padded : nullptr;
    float* bias = stretch.bias != nullptr ? group + 2 * padded : nullptr;
    float* tables = group + 3 * padded;
    if (weight != nullptr) {
      load_row(weight, stretch.weight, stretch.weight_type, stretch.weight_step, values);
    }
    if (bias != nullptr) load_row(bias, stretch.bias, stretch.bias_type, stretch.bias_step, values);
    SharedRow cos_row(p.cos, table_width, tables);
    SharedRow sin_row(p.sin, table_width, tables + padded_row);
    MatrixRow matrix_row(p, tables);
    const int64_t* const strides[5] = {p.input.strides, p.cos.strides, p.sin.strides,
                                       p.matrix.strides, p.output.strides};
    RowWalk<5> walk(groups, strides, begin);
    for (int64_t g = begin; g < end; ++g, walk.next()) {
      for (int64_t h = 0; h < heads; ++h) {
        const int64_t offset = walk.offset(0) + h * head_stride(p.input);
        load_row(group + h * width, at(p.input.data, p.input.type, offset), p.input.type,
                 p.input.step, width);
      }
      if (stretch.norm != NormSpan::kNone) normalise(group, stretch, weight, bias, values);
      for (int64_t h = 0; h < heads; ++h) {
        float* row = group + h * width;
        if (p.has_matrix) {
          const float* m = matrix_row.at_offset(walk.offset(3) + h * head_stride(p.matrix));
          const int64_t pairs = width / 2;
          multiply_pairs(row, m, pairs, p.interleaved ? 1 : pairs, p.interleaved ? 2 : 1);
        } else if (stretch.rotates) {
          rotate_row(row, p, cos_row.at_offset(walk.offset(1) + h * head_stride(p.cos)),
                     sin_row.at_offset(walk.offset(2) + h * head_stride(p.sin)));
        }
        const int64_t offset = walk.offset(4) + h * head_stride(p.output);
        store_row(at(p.output.data, p.output.type, offset), row, p.output.type, p.output.step,
                  width);
      }
    }
  });
  return memory.status();
}

}  // namespace

LaunchStatus rotary(const RotaryQk& problem) {
  for (int operand = 0; operand < problem.count; ++operand) {
    Stretch stretch;
    stretch.rotary = problem.operands[operand];
    stretch.rotates = true;
    stretch.norm = problem.norm;
    stretch.weight = problem.weight[operand];
    stretch.weight_type = problem.weight_type[operand];
    stretch.weight_step = problem.weight_step[operand];
    stretch.eps = problem.eps;
    const LaunchStatus status = compute(stretch);
    if (status != LaunchStatus::kOk) return status;
  }
  return LaunchStatus::kOk;
}

LaunchStatus joint_heads(const JointHeads& problem) {
  for (int i = 0; i < problem.count; ++i) {
    const LaunchStatus status = compute(problem.stretches[i]);
    if (status != LaunchStatus::kOk) return status;
  }
  return LaunchStatus::kOk;
}

}  // namespace mindiesd::kernels::cpu::MINDIESD_ISA
