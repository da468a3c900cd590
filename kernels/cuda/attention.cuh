// What the attention kernels share on the device: their parameters, the piece of the problem that a
// block computes, and which keys a query may see. No entry point of its own.

#pragma once

#include <climits>

#include "kernels/cuda/device.cuh"
#include "kernels/problem.h"

namespace mindiesd::kernels::cuda {

inline constexpr float kLog2e = 1.4426950408889634F;
inline constexpr float kLn2 = 0.6931471805599453F;
inline constexpr float kMinusInfinity = -__builtin_huge_valf();
// Beyond every length (host: kLongest), and sums of three do not overflow.
inline constexpr int kUnbounded = 1 << 29;

// kernels::Attention as the kernels read it; lengths and windows fit 29 bits. Strides are of
// [batch, head, position] and count elements.
struct AttentionParameters {
  const void* query;
  const void* key;
  const void* value;
  void* output;
  float* lse;  // null: not wanted
  const void* mask;
  const float* slopes;
  const void* cu_query;  // null: a dense batch
  const void* cu_key;
  std::int64_t query_strides[3], key_strides[3], value_strides[3], output_strides[3];
  std::int64_t lse_strides[3], mask_strides[4], slope_strides[2];
  int heads, heads_per_key, query_length, key_length, head_dim, value_dim;
  int sequences;  // packed
  int tiles;      // blocks of rows in a sequence, or in all packed ones together
  DataType type, mask_type;
  bool wide_cu;   // cu_query and cu_key are int64
  int mask_unit;  // bytes of the mask that are moved together
  float scale, softcap;
  CausalAlignment causal;
  int window_left, window_right;  // negative: none
  bool query_vectors, key_vectors, value_vectors, output_vectors;
};

// One block's piece: rows from `row` on of one head of one sequence, and a slice of value's width.
struct AttentionTile {
  int batch, head, row, slice;
  int query_length, key_length;
  std::int64_t query, key, value, output, lse;  // where the sequence and head begin, in elements
};

__device__ __forceinline__ int boundary(const void* cu, bool wide, int at, int tokens) {
  const std::int64_t value =
      wide ? static_cast<const std::int64_t*>(cu)[at] : static_cast<const std::int32_t*>(cu)[at];
  return static_cast<int>(value < 0 ? 0 : value > tokens ? tokens : value);
}

// The packed sequence that owns block `tile` of rows, found by every warp for itself. Boundaries
// are clamped to the tokens that there are, so that wrong ones read nothing else. The tokens before
// the first and after the last sequence are segments without keys: their rows are zeros.
__device__ __forceinline__ bool find_segment(const AttentionParameters& p, int tile, int rows,
                                             AttentionTile* t, int* begin, int* key_begin) {
  const int lane = static_cast<int>(threadIdx.x & 31);
  const int segments = p.sequences + 2;
  for (int base = 0; base < segments; base += 32) {
    const int i = base + lane;
    int from = 0, to = 0;
    if (i < segments) {
      from = i == 0 ? 0 : boundary(p.cu_query, p.wide_cu, i - 1, p.query_length);
      to = i > p.sequences ? p.query_length : boundary(p.cu_query, p.wide_cu, i, p.query_length);
    }
    const int own = to > from ? (to - from + rows - 1) / rows : 0;
    int sum = own;
#pragma unroll
    for (int offset = 1; offset < 32; offset *= 2) {
      const int other = __shfl_up_sync(0xffffffffU, sum, offset);
      if (lane >= offset) sum += other;
    }
    const unsigned found = __ballot_sync(0xffffffffU, tile < sum);
    if (found != 0) {
      const int owner = __ffs(static_cast<int>(found)) - 1;
      const int segment = base + owner;
      *begin = __shfl_sync(0xffffffffU, from, owner);
      t->query_length = __shfl_sync(0xffffffffU, to, owner) - *begin;
      t->row = (tile - __shfl_sync(0xffffffffU, sum - own, owner)) * rows;
      t->batch = segment == 0 ? 0 : segment > p.sequences ? p.sequences - 1 : segment - 1;
      *key_begin = 0;
      t->key_length = 0;
      if (segment >= 1 && segment <= p.sequences) {
        *key_begin = boundary(p.cu_key, p.wide_cu, segment - 1, p.key_length);
        t->key_length = max(boundary(p.cu_key, p.wide_cu, segment, p.key_length) - *key_begin, 0);
      }
      return true;
    }
    tile -= __shfl_sync(0xffffffffU, sum, 31);
  }
  return false;
}

// Blocks of one head follow each other, so that they share its keys in the cache. False: nothing to
// do (packed sequences fill fewer blocks than there may be).
__device__ __forceinline__ bool find_tile(const AttentionParameters& p, int rows, int slices,
                                          AttentionTile* t) {
  std::uint32_t index = blockIdx.x;
  int tile = static_cast<int>(index % static_cast<std::uint32_t>(p.tiles));
  index /= static_cast<std::uint32_t>(p.tiles);
  t->slice = static_cast<int>(index % static_cast<std::uint32_t>(slices));
  index /= static_cast<std::uint32_t>(slices);
  t->head = static_cast<int>(index % static_cast<std::uint32_t>(p.heads));
  t->batch = static_cast<int>(index / static_cast<std::uint32_t>(p.heads));
  int begin = 0, key_begin = 0;
  std::int64_t batch = t->batch;
  if (p.cu_query != nullptr) {
    if (!find_segment(p, tile, rows, t, &begin, &key_begin)) return false;
    batch = 0;
  } else {
    // Late rows see more keys where attention is causal: the longest first.
    if (p.causal != CausalAlignment::kNone) tile = p.tiles - 1 - tile;
    t->row = tile * rows;
    t->query_length = p.query_length;
    t->key_length = p.key_length;
  }
  const int key_head = t->head / p.heads_per_key;
  t->query = batch * p.query_strides[0] + t->head * p.query_strides[1] + begin * p.query_strides[2];
  t->key = batch * p.key_strides[0] + key_head * p.key_strides[1] + key_begin * p.key_strides[2];
  t->value =
      batch * p.value_strides[0] + key_head * p.value_strides[1] + key_begin * p.value_strides[2];
  t->output =
      batch * p.output_strides[0] + t->head * p.output_strides[1] + begin * p.output_strides[2];
  t->lse = batch * p.lse_strides[0] + t->head * p.lse_strides[1] + begin * p.lse_strides[2];
  return true;
}

// Row i sees the keys max(0, i + low) to min(key_length - 1, i + high).
struct KeyBounds {
  int low, high, length;

  KeyBounds() = default;
  __device__ __forceinline__ KeyBounds(const AttentionParameters& p, const AttentionTile& t)
      : low(-kUnbounded), high(kUnbounded), length(t.key_length) {
    const int shift = t.key_length - t.query_length;
    if (p.causal == CausalAlignment::kTopLeft) high = 0;
    if (p.causal == CausalAlignment::kBottomRight) high = shift;
    if (p.window_right >= 0) high = min(high, shift + p.window_right);
    if (p.window_left >= 0) low = shift - p.window_left;
  }
  __device__ __forceinline__ int first(int row) const { return max(row + low, 0); }
  __device__ __forceinline__ int last(int row) const { return min(row + high, length - 1); }
};

// A floating mask in units of log2, where finite numbers stay finite: the lowest number of a type
// is a usual way to say "hardly", and a row that has nothing else is an average, not a row without
// keys.
__device__ __forceinline__ float mask_in_log2(float value) {
  constexpr float kLargest = 3.402823466e38F;
  const float scaled = min_nan(max_nan(value * kLog2e, -kLargest), kLargest);
  return isinf(value) ? value : scaled;
}

// The logarithm of a row's sum of exponentials, of its weights' total and the score that they are
// relative to, `unit` being what that is counted in. A total of 0: no key.
__device__ __forceinline__ float log_of_sum(float base, float unit, float total) {
  return total == 0.0F ? kMinusInfinity : fmaf(base, unit, logf(total));
}

// What softcap and slopes make of a score; in units of log2.
struct ScoreRule {
  float factor, cap, slope;
  int shift;

  __device__ __forceinline__ ScoreRule(const AttentionParameters& p, const AttentionTile& t)
      : factor(p.scale * kLog2e), cap(p.softcap * kLog2e), slope(0.0F) {
    if (p.softcap > 0.0F) factor = p.scale / p.softcap;
    if (p.slopes != nullptr && t.key_length > 0) {
      slope = p.slopes[t.batch * p.slope_strides[0] + t.head * p.slope_strides[1]] * kLog2e;
    }
    shift = t.key_length - t.query_length;
  }
  // tanh(x) = 1 - 2 / (e^(2x) + 1), within 2e-7 of it.
  __device__ __forceinline__ float capped(float x) const {
    if (cap <= 0.0F) return x;
    return cap * (1.0F - 2.0F * reciprocal_fast(exp2_fast(2.0F * kLog2e * x) + 1.0F));
  }
  __device__ __forceinline__ float operator()(float product, int row, int key) const {
    return capped(product * factor) - slope * fabsf(static_cast<float>(row + shift - key));
  }
};

}  // namespace mindiesd::kernels::cuda
