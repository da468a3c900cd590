// Weighted sums of whole tensors on the CPU, in float32, a block at a time. Entry point:
// weighted_sum.

#include "kernels/cpu/isa/kernels.h"
#include "kernels/cpu/isa/simd.h"

namespace mindiesd::kernels::cpu::MINDIESD_ISA {
namespace {

// What a block holds, its terms and its sum, stays in the nearest cache.
constexpr int64_t kBlock = 1024;

// `count` elements of a term from element `first` on, dense float32 where it lies.
const float* read(const WeightedSum& p, int term, int64_t first, int64_t count, float* room) {
  const void* from = at(p.terms[term], p.type, first);
  if (p.type == DataType::kFloat32) return static_cast<const float*>(from);
  load_row(room, from, p.type, 1, count);
  return room;
}

void sum_block(const WeightedSum& p, int64_t first, int64_t count) {
  alignas(64) float sum[kBlock];
  alignas(64) float room[kBlock];
  const float* term = read(p, 0, first, count, room);
  float weight = p.weights[0];
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) sum[i] = weight * term[i];
  for (int k = 1; k < p.term_count; ++k) {
    term = read(p, k, first, count, room);
    weight = p.weights[k];
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) sum[i] += weight * term[i];
  }
  const float scale = p.scale;
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) sum[i] *= scale;
  store_row(at(p.output, p.type, first), sum, p.type, 1, count);
}

}  // namespace

LaunchStatus weighted_sum(const WeightedSum& p) {
  const int64_t blocks = (p.count + kBlock - 1) / kBlock;
  parallel_for(blocks, row_grain(kBlock), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      sum_block(p, b * kBlock, min_of(kBlock, p.count - b * kBlock));
    }
  });
  return LaunchStatus::kOk;
}

}  // namespace mindiesd::kernels::cpu::MINDIESD_ISA
