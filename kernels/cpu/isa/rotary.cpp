// Rotary position embedding on the CPU, one row at a time in float32. Entry point: rotary.
// A table row that several input rows share (heads, batch) is converted once while it is shared.

#include "kernels/cpu/isa/kernels.h"
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

// A table's current row as float32.
class TableRow {
 public:
  TableRow(const RowOperand& table, int64_t width, float* memory)
      : table_(table), width_(width), memory_(memory) {}

  const float* at_offset(int64_t offset) {
    if (table_.type == DataType::kFloat32 && table_.step == 1) {
      return static_cast<const float*>(at(table_.data, table_.type, offset));
    }
    if (!loaded_ || offset != offset_) {
      load_row(memory_, at(table_.data, table_.type, offset), table_.type, table_.step, width_);
      offset_ = offset;
      loaded_ = true;
    }
    return memory_;
  }

 private:
  const RowOperand& table_;
  int64_t width_;
  float* memory_;
  int64_t offset_ = 0;
  bool loaded_ = false;
};

}  // namespace

LaunchStatus rotary(const Rotary& problem) {
  const int64_t width = problem.width;
  const int64_t pairs = width / 2;
  const int64_t table_width = problem.half_width_tables ? pairs : width;
  const int64_t padded = round_up(width, 16);
  OutOfMemory memory;
  parallel_for(problem.rows.count(), row_grain(width), [&](int64_t begin, int64_t end) {
    float* row = scratch(ScratchSlot::kRow, static_cast<size_t>(3 * padded));
    if (row == nullptr) return memory.set();
    TableRow cos_row(problem.cos, table_width, row + padded);
    TableRow sin_row(problem.sin, table_width, row + 2 * padded);
    const int64_t* const strides[4] = {problem.input.strides, problem.cos.strides,
                                       problem.sin.strides, problem.output.strides};
    RowWalk<4> walk(problem.rows, strides, begin);
    for (int64_t r = begin; r < end; ++r, walk.next()) {
      const float* cos = cos_row.at_offset(walk.offset(1));
      const float* sin = sin_row.at_offset(walk.offset(2));
      load_row(row, at(problem.input.data, problem.input.type, walk.offset(0)), problem.input.type,
               problem.input.step, width);
      if (!problem.interleaved) {
        rotate_halves(row, cos, sin, pairs, problem.half_width_tables ? 0 : pairs);
      } else if (problem.half_width_tables) {
        rotate_neighbours_half_width(row, cos, sin, pairs);
      } else {
        rotate_neighbours(row, cos, sin, pairs);
      }
      store_row(at(problem.output.data, problem.output.type, walk.offset(3)), row,
                problem.output.type, problem.output.step, width);
    }
  });
  return memory.status();
}

}  // namespace mindiesd::kernels::cpu::MINDIESD_ISA
