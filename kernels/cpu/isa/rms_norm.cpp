// RMSNorm on the CPU, one row at a time in float32. Entry point: rms_norm.
// Traffic: each input element is read once, each output element written once; a row stays in the
// first- or second-level cache between the two passes over it.

#include "kernels/cpu/isa/kernels.h"
#include "kernels/cpu/isa/rows.h"
#include "kernels/cpu/isa/simd.h"

namespace mindiesd::kernels::cpu::MINDIESD_ISA {

LaunchStatus rms_norm(const RmsNorm& problem) {
  const int64_t width = problem.width;
  const int64_t padded = round_up(width, 16);
  OutOfMemory memory;
  parallel_for(problem.rows.count(), row_grain(width), [&](int64_t begin, int64_t end) {
    float* row = scratch(ScratchSlot::kRow, static_cast<size_t>(3 * padded));
    if (row == nullptr) return memory.set();
    float* weight = row + padded;
    float* bias = weight + padded;
    if (problem.weight != nullptr) {
      load_row(weight, problem.weight, problem.weight_type, problem.weight_step, width);
    }
    if (problem.bias != nullptr) {
      load_row(bias, problem.bias, problem.bias_type, problem.bias_step, width);
    }
    const int64_t* const strides[2] = {problem.input.strides, problem.output.strides};
    RowWalk<2> walk(problem.rows, strides, begin);
    for (int64_t r = begin; r < end; ++r, walk.next()) {
      load_row(row, at(problem.input.data, problem.input.type, walk.offset(0)), problem.input.type,
               problem.input.step, width);
      const RowFactor root = root_of(row, width, problem.eps);
      const float factor = root.factor, rest = root.rest;
      const bool plain = problem.normalized == DataType::kFloat32 &&
                         problem.product == DataType::kFloat32 && problem.bias == nullptr;
      if (plain && problem.weight != nullptr) {
#pragma omp simd
        for (int64_t i = 0; i < width; ++i) row[i] = (row[i] * factor + row[i] * rest) * weight[i];
      } else {
        root.apply(row, width);
        round_row(row, problem.normalized, width);
        if (problem.weight != nullptr) {
#pragma omp simd
          for (int64_t i = 0; i < width; ++i) row[i] *= weight[i];
        }
        if (problem.bias != nullptr) {
          round_row(row, problem.product, width);
#pragma omp simd
          for (int64_t i = 0; i < width; ++i) row[i] += bias[i];
        }
      }
      store_row(at(problem.output.data, problem.output.type, walk.offset(1)), row,
                problem.output.type, problem.output.step, width);
    }
  });
  return memory.status();
}

}  // namespace mindiesd::kernels::cpu::MINDIESD_ISA
