// Guarded softmax on the CPU, one row at a time in float32. Entry point: softmax.

#include "kernels/cpu/isa/kernels.h"
#include "kernels/cpu/isa/rows.h"
#include "kernels/cpu/isa/simd.h"

namespace mindiesd::kernels::cpu::MINDIESD_ISA {
namespace {

// The maximum as torch.amax has it: a NaN anywhere gives NaN.
[[gnu::always_inline]] inline float maximum(const float* row, int64_t width) {
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

// A row before and behind the softmax, and room for its powers, which may be either.
struct Rows {
  const float* from;
  float* room;
  float* to;
};

// Several rows at once, step by step: each step of a row waits for the one before.
constexpr int64_t kMostRows = 8;

template <typename Power>
void softmax_of_rows(const Rows* rows, int64_t count, int64_t width, Power power_of) {
  float largest[kMostRows];
  double sums[kMostRows];
  for (int64_t k = 0; k < count; ++k) largest[k] = maximum(rows[k].from, width);
  for (int64_t k = 0; k < count; ++k) {
    const float* from = rows[k].from;
    float* room = rows[k].room;
    const float most = largest[k];
    sums[k] = row_sum(width, [room, from, most, power_of](int64_t i) {
      const float power = power_of(from[i] - most);
      room[i] = power;
      return power;
    });
  }
  for (int64_t k = 0; k < count; ++k) {
    RowFactor(1.0 / sums[k]).apply(rows[k].to, rows[k].room, width);
  }
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
  const int64_t together = max_of(1, min_of(kMostRows, 1024 / max_of(width, 1)));
  float* memory_of_rows = scratch(ScratchSlot::kRow, static_cast<size_t>((together + 2) * padded));
  if (memory_of_rows == nullptr) return memory->set();
  float* mask = memory_of_rows + together * padded;
  SharedRow bias(problem.bias, width, mask + padded);
  // Nothing comes before the softmax: dense float32 is read where it lies.
  const bool bare = is_plain(problem.input) && problem.scale == 1.0F && !problem.has_bias &&
                    problem.subtract == Subtract::kNone && !problem.has_clamp_min &&
                    !problem.has_clamp_max && !problem.has_mask;
  const bool plain_output = is_plain(problem.output);
  const int64_t* const strides[4] = {problem.input.strides, problem.output.strides,
                                     problem.mask.strides, problem.bias.strides};
  RowWalk<4> walk(problem.rows, strides, begin);
  for (int64_t r = begin; r < end; r += together) {
    Rows rows[kMostRows];
    void* outputs[kMostRows];
    const int64_t count = min_of(together, end - r);
    for (int64_t k = 0; k < count; ++k, walk.next()) {
      float* row = memory_of_rows + k * padded;
      outputs[k] = at(problem.output.data, problem.output.type, walk.offset(1));
      rows[k] = {row, row, plain_output ? static_cast<float*>(outputs[k]) : row};
      if (bare) {
        rows[k].from =
            static_cast<const float*>(at(problem.input.data, problem.input.type, walk.offset(0)));
        continue;
      }
      read_row(row, problem, walk.offset(0),
               problem.has_bias ? bias.at_offset(walk.offset(3)) : nullptr);
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
    }
    softmax_of_rows(rows, count, width, power_of);
    for (int64_t k = 0; !plain_output && k < count; ++k) {
      store_row(outputs[k], rows[k].to, problem.output.type, problem.output.step, width);
    }
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
