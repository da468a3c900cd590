// Guarded softmax on the CPU, one row at a time in float32. Entry point: softmax.

#include "kernels/cpu/isa/kernels.h"
#include "kernels/cpu/isa/rows.h"
#include "kernels/cpu/isa/simd.h"

namespace mindiesd::kernels::cpu::MINDIESD_ISA {
namespace {

// The maximum as torch.amax has it: a NaN anywhere gives NaN.
float maximum(const float* row, int64_t width) {
  float largest = -kInfinity;
  int nans = 0;
#pragma omp simd reduction(max : largest) reduction(+ : nans)
  for (int64_t i = 0; i < width; ++i) {
    largest = row[i] > largest ? row[i] : largest;
    nans += row[i] != row[i] ? 1 : 0;
  }
  return nans != 0 ? __builtin_nanf("") : largest;
}

float nan_or_larger(float a, float b) { return a != a ? a : (b > a || b != b ? b : a); }

// scale * input + bias of one row; `bias` is null or the bias row as float32.
void read_row(float* row, const Softmax& problem, int64_t offset, const float* bias) {
  const int64_t width = problem.width;
  load_row(row, at(problem.input.data, problem.input.type, offset), problem.input.type,
           problem.input.step, width);
  const float scale = problem.scale;
  if (bias != nullptr) {
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) row[i] = row[i] * scale + bias[i];
  } else if (scale != 1.0F) {
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) row[i] *= scale;
  }
}

LaunchStatus global_maximum(const Softmax& problem, float* result) {
  OutOfMemory memory;
  float shared = -kInfinity;
  parallel_for(problem.rows.count(), row_grain(problem.width), [&](int64_t begin, int64_t end) {
    const int64_t padded = round_up(problem.width, 16);
    float* row = scratch(ScratchSlot::kRow, static_cast<size_t>(2 * padded));
    if (row == nullptr) return memory.set();
    SharedRow bias(problem.bias, problem.width, row + padded);
    float largest = -kInfinity;
    const int64_t* const strides[2] = {problem.input.strides, problem.bias.strides};
    RowWalk<2> walk(problem.rows, strides, begin);
    for (int64_t r = begin; r < end; ++r, walk.next()) {
      read_row(row, problem, walk.offset(0),
               problem.has_bias ? bias.at_offset(walk.offset(1)) : nullptr);
      largest = nan_or_larger(largest, maximum(row, problem.width));
    }
    float seen;
    __atomic_load(&shared, &seen, __ATOMIC_RELAXED);
    float merged;
    do {
      merged = nan_or_larger(seen, largest);
    } while (!__atomic_compare_exchange(&shared, &seen, &merged, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
  });
  *result = shared;
  return memory.status();
}

// to = softmax of from; `row` is room for the powers, and may be either.
template <typename Power>
void softmax_row(float* to, float* row, const float* from, int64_t width, Power power_of) {
  const float largest = maximum(from, width);
  const double sum = row_sum(width, [row, from, largest, power_of](int64_t i) {
    const float power = power_of(from[i] - largest);
    row[i] = power;
    return power;
  });
  RowFactor(1.0 / sum).apply(to, row, width);
}

// Comparisons rather than fmin and fmax: torch.clamp keeps a NaN, and gives the upper bound where
// the bounds cross.
void clamp_row(float* row, int64_t width, const Softmax& problem) {
  if (problem.has_clamp_min) {
    const float bound = problem.clamp_min;
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) row[i] = row[i] < bound ? bound : row[i];
  }
  if (problem.has_clamp_max) {
    const float bound = problem.clamp_max;
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) row[i] = row[i] > bound ? bound : row[i];
  }
}

void mask_row(float* row, const float* mask, int64_t width, const Softmax& problem) {
  if (problem.mask.type == DataType::kBool) {
    const float fill = problem.mask_value;
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) row[i] = mask[i] != 0.0F ? row[i] : fill;
  } else {
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) row[i] += mask[i];
  }
}

template <typename Power>
void softmax_rows(const Softmax& problem, int64_t begin, int64_t end, float global,
                  OutOfMemory* memory, Power power_of) {
  const int64_t width = problem.width;
  const int64_t padded = round_up(width, 16);
  float* row = scratch(ScratchSlot::kRow, static_cast<size_t>(3 * padded));
  if (row == nullptr) return memory->set();
  float* mask = row + padded;
  SharedRow bias(problem.bias, width, mask + padded);
  // Nothing comes before the softmax: dense float32 is read where it lies.
  const bool bare = is_plain(problem.input) && problem.scale == 1.0F && !problem.has_bias &&
                    problem.subtract == Subtract::kNone && !problem.has_clamp_min &&
                    !problem.has_clamp_max && !problem.has_mask;
  const int64_t* const strides[4] = {problem.input.strides, problem.output.strides,
                                     problem.mask.strides, problem.bias.strides};
  RowWalk<4> walk(problem.rows, strides, begin);
  for (int64_t r = begin; r < end; ++r, walk.next()) {
    const float* from = row;
    if (bare) {
      from = static_cast<const float*>(at(problem.input.data, problem.input.type, walk.offset(0)));
    } else {
      read_row(row, problem, walk.offset(0),
               problem.has_bias ? bias.at_offset(walk.offset(3)) : nullptr);
    }
    if (problem.subtract != Subtract::kNone) {
      const float shift = problem.subtract == Subtract::kRow ? maximum(row, width) : global;
#pragma omp simd
      for (int64_t i = 0; i < width; ++i) row[i] -= shift;
    }
    clamp_row(row, width, problem);
    if (problem.has_mask) {
      load_row(mask, at(problem.mask.data, problem.mask.type, walk.offset(2)), problem.mask.type,
               problem.mask.step, width);
      mask_row(row, mask, width, problem);
    }
    void* output = at(problem.output.data, problem.output.type, walk.offset(1));
    float* to = is_plain(problem.output) ? static_cast<float*>(output) : row;
    softmax_row(to, row, from, width, power_of);
    if (to == row) store_row(output, row, problem.output.type, problem.output.step, width);
  }
}

}  // namespace

LaunchStatus softmax(const Softmax& problem) {
  float global = 0.0F;
  if (problem.subtract == Subtract::kGlobal) {
    const LaunchStatus status = global_maximum(problem, &global);
    if (status != LaunchStatus::kOk) return status;
  }
  // Results of half precision round away what the exact exponential takes its time for.
  const bool exact = problem.output.type == DataType::kFloat32;
  OutOfMemory memory;
  parallel_for(problem.rows.count(), row_grain(problem.width), [&](int64_t begin, int64_t end) {
    if (exact) {
      softmax_rows(problem, begin, end, global, &memory, [](float x) { return exp_of(x); });
    } else {
      softmax_rows(problem, begin, end, global, &memory, [](float x) { return decay(x); });
    }
  });
  return memory.status();
}

}  // namespace mindiesd::kernels::cpu::MINDIESD_ISA
