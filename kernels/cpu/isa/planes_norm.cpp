// LayerNorm over rows that lie side by side, as the channels of an image's places do in planes:
// many rows at once, a column of them at a time, so that memory is read in whole lines. Entry
// points: lies_in_planes, planes_norm. Traffic: each input element is read once, each result
// element written once.

#include <cmath>

#include "kernels/cpu/isa/kernels.h"
#include "kernels/cpu/isa/rows.h"
#include "kernels/cpu/isa/simd.h"

namespace mindiesd::kernels::cpu::MINDIESD_ISA {
namespace {

constexpr int64_t kLanes = 64;  // rows of a block
constexpr int64_t kFewest = 16;

// What is known of the rows of a block.
struct Lanes {
  double sums[kLanes];
  float means[kLanes], rests[kLanes];  // a mean as a float, and what is left of it
  float factors[kLanes];
};

// Column `c` of the block is at block + c * kLanes.
void take_means(Lanes* lanes, const float* block, int64_t width) {
  for (double& sum : lanes->sums) sum = 0.0;
  for (int64_t c = 0; c < width; ++c) {
    const float* column = block + c * kLanes;
#pragma omp simd
    for (int64_t l = 0; l < kLanes; ++l) lanes->sums[l] += static_cast<double>(column[l]);
  }
  for (int64_t l = 0; l < kLanes; ++l) {
    const double mean = lanes->sums[l] / static_cast<double>(width);
    lanes->means[l] = static_cast<float>(mean);
    lanes->rests[l] = static_cast<float>(mean - static_cast<double>(lanes->means[l]));
  }
}

// Leaves the deviations in the block.
void take_factors(Lanes* lanes, float* block, int64_t width, double eps) {
  for (double& sum : lanes->sums) sum = 0.0;
  for (int64_t c = 0; c < width; ++c) {
    float* column = block + c * kLanes;
#pragma omp simd
    for (int64_t l = 0; l < kLanes; ++l) {
      column[l] = (column[l] - lanes->means[l]) - lanes->rests[l];
      const double deviation = static_cast<double>(column[l]);
      lanes->sums[l] += deviation * deviation;
    }
  }
  for (int64_t l = 0; l < kLanes; ++l) {
    const double variance = lanes->sums[l] / static_cast<double>(width);
    lanes->factors[l] = static_cast<float>(1.0 / std::sqrt(variance + eps));
  }
}

// The offset of a line of rows: of all dimensions but the last.
int64_t offset_of(const RowSpace& rows, const RowOperand& operand, int64_t line) {
  int64_t offset = 0;
  for (int d = rows.rank - 2; d >= 0; --d) {
    offset += line % rows.sizes[d] * operand.strides[d];
    line /= rows.sizes[d];
  }
  return offset;
}

void norm_block(const FusedNorm& p, int64_t from, int64_t to, int64_t count, float* block,
                const float* weight, const float* bias) {
  Lanes lanes;
  for (int64_t c = 0; c < p.width; ++c) {
    float* column = block + c * kLanes;
    load_row(column, at(p.input.data, p.input.type, from + c * p.input.step), p.input.type, 1,
             count);
    for (int64_t l = count; l < kLanes; ++l) column[l] = 0.0F;
  }
  take_means(&lanes, block, p.width);
  take_factors(&lanes, block, p.width, static_cast<double>(p.eps));
  for (int64_t c = 0; c < p.width; ++c) {
    float* column = block + c * kLanes;
    const float gain = p.weight != nullptr ? weight[c] : 1.0F;
    const float offset = p.bias != nullptr ? bias[c] : 0.0F;
    if (p.bias != nullptr) {
#pragma omp simd
      for (int64_t l = 0; l < kLanes; ++l) column[l] = column[l] * lanes.factors[l] * gain + offset;
    } else {  // a sum with 0 would lose the sign of -0
#pragma omp simd
      for (int64_t l = 0; l < kLanes; ++l) column[l] = column[l] * lanes.factors[l] * gain;
    }
    void* place = at(p.output.data, p.output.type, to + c * p.output.step);
    store_row(place, column, p.output.type, 1, count);
  }
}

}  // namespace

bool lies_in_planes(const FusedNorm& p) {
  if (p.kind != NormKind::kLayer || p.has_branch || p.has_sum || p.has_scale || p.has_shift) {
    return false;
  }
  if (p.output.data == nullptr || p.rows.rank == 0) return false;
  const int last = p.rows.rank - 1;
  return p.rows.sizes[last] >= kFewest && p.input.strides[last] == 1 &&
         p.output.strides[last] == 1 && p.input.step != 1 && p.output.step != 1;
}

LaunchStatus planes_norm(const FusedNorm& p) {
  const int64_t length = p.rows.sizes[p.rows.rank - 1];
  const int64_t blocks = (length + kLanes - 1) / kLanes;
  OutOfMemory memory;
  parallel_for(p.rows.count() / length * blocks, row_grain(p.width * kLanes),
               [&](int64_t begin, int64_t end) {
                 float* slots =
                     scratch(ScratchSlot::kRow, static_cast<size_t>((kLanes + 2) * p.width));
                 if (slots == nullptr) return memory.set();
                 float *const weight = slots + kLanes * p.width, *const bias = weight + p.width;
                 if (p.weight != nullptr)
                   load_row(weight, p.weight, p.weight_type, p.weight_step, p.width);
                 if (p.bias != nullptr) load_row(bias, p.bias, p.bias_type, p.bias_step, p.width);
                 for (int64_t b = begin; b < end; ++b) {
                   const int64_t line = b / blocks, first = b % blocks * kLanes;
                   norm_block(p, offset_of(p.rows, p.input, line) + first,
                              offset_of(p.rows, p.output, line) + first,
                              min_of(kLanes, length - first), slots, weight, bias);
                 }
               });
  return memory.status();
}

}  // namespace mindiesd::kernels::cpu::MINDIESD_ISA
