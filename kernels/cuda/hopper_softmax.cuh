// What a warpgroup does with scores and results in its registers: the bounds of rows, the running
// softmax, the store of a finished tile. No entry point of its own.

#pragma once

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/hopper_tiles.cuh"

namespace mindiesd::kernels::cuda::hopper {

// Scores of the keys outside of a row's bounds become -infinity. `row`, `key`: of scores[0].
template <int kScores>
__device__ __forceinline__ void hide(float (&scores)[kScores], const KeyBounds& bounds, int row,
                                     int key) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int first = bounds.first(row + 8 * half) - key;
    const int last = bounds.last(row + 8 * half) - key;
#pragma unroll
    for (int n = 0; n < kScores / 4; ++n) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float& score = scores[4 * n + 2 * half + i];
        if (8 * n + i < first || 8 * n + i > last) score = kMinusInfinity;
      }
    }
  }
}

// The sum of what the four threads of a row hold.
__device__ __forceinline__ float sum_of_row(float part) {
  part += __shfl_xor_sync(0xffffffffU, part, 1);
  return part + __shfl_xor_sync(0xffffffffU, part, 2);
}

// The running softmax of a thread's two rows. Their maxima only keep the weights in range, so
// further scores are weighed by the maxima that are known, without a look at their own; the sum of
// what comes out tells when one of them was too large. Then, and for the first scores of a row,
// there is a look.
// kPlain: `largest` is the maximum times `factor`, which goes into the multiplication. Else it is
// the maximum, which is subtracted first: a floating mask may hold the lowest number there is.
template <bool kPlain>
struct Softmax {
  float largest[2];
  float total[2];  // of the weights that this thread holds
  bool settled;    // all rows of the warp have seen a key

  __device__ __forceinline__ void restart() {
    largest[0] = largest[1] = kMinusInfinity;
    total[0] = total[1] = 0.0F;
    settled = false;
  }

  // Makes weights of scores, rounded to T as the products with values want them. True where earlier
  // sums must be multiplied by `shrink`, which the first scores of a tile leave as it is.
  template <typename T, int kScores>
  __device__ __forceinline__ bool update(const float (&scores)[kScores], float factor, bool first,
                                         std::uint32_t (&weights)[kScores / 2],
                                         float (&shrink)[2]) {
    // So many times the largest weight before; float16 holds four times as much.
    constexpr float kMost = 16384.0F;
    float part[2];
    bool look = !settled;
    if (!look) {
      weigh<T>(scores, factor, weights, part);
      look = __any_sync(0xffffffffU, fmaxf(part[0], part[1]) > kMost) != 0;
    }
    bool grew = false;
    if (look) {
      grew = look_at(scores, factor, first, shrink);
      weigh<T>(scores, factor, weights, part);
    }
    total[0] += part[0];
    total[1] += part[1];
    return grew;
  }

  // Stores the logarithms of a finished tile's sums. `rows`: from the thread's first one on, whose
  // logarithm goes to `place`.
  __device__ __forceinline__ void store_logarithms(float factor, int rows, float* place,
                                                   std::int64_t stride) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float sum = sum_of_row(total[half]);
      if (threadIdx.x % 4 != 0 || 8 * half >= rows) continue;
      place[8 * half * stride] = log_of_sum(largest[half], kPlain ? kLn2 : factor * kLn2, sum);
    }
  }

  // Takes in the maxima of scores.
  template <int kScores>
  __device__ __forceinline__ bool look_at(const float (&scores)[kScores], float factor, bool first,
                                          float (&shrink)[2]) {
    bool grew = false, seen = true;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      // A NaN need not be kept here: it reaches the sum.
      float even = scores[2 * half], odd = scores[2 * half + 1];
#pragma unroll
      for (int n = 1; n < kScores / 4; ++n) {
        even = fmaxf(even, scores[4 * n + 2 * half]);
        odd = fmaxf(odd, scores[4 * n + 2 * half + 1]);
      }
      float high = fmaxf(even, odd);
      high = fmaxf(high, __shfl_xor_sync(0xffffffffU, high, 1));
      high = fmaxf(high, __shfl_xor_sync(0xffffffffU, high, 2));
      const float now = fmaxf(kPlain ? high * factor : high, largest[half]);
      const float change = (largest[half] - now) * (kPlain ? 1.0F : factor);
      const float less = largest[half] == now ? 1.0F : exp2_fast(change);
      grew = grew || largest[half] != now;
      if (!first) shrink[half] = less;
      largest[half] = now;
      total[half] *= less;
      seen = seen && now != kMinusInfinity;
    }
    settled = __all_sync(0xffffffffU, seen) != 0;
    return __any_sync(0xffffffffU, grew) != 0;
  }

  template <typename T, int kScores>
  __device__ __forceinline__ void weigh(const float (&scores)[kScores], float factor,
                                        std::uint32_t (&weights)[kScores / 2],
                                        float (&part)[2]) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float base = largest[half] == kMinusInfinity ? 0.0F : largest[half];
      float even = 0.0F, odd = 0.0F;
#pragma unroll
      for (int n = 0; n < kScores / 4; ++n) {
        const float* const pair = scores + 4 * n + 2 * half;
        const float a =
            exp2_fast(kPlain ? fmaf(pair[0], factor, -base) : (pair[0] - base) * factor);
        const float b =
            exp2_fast(kPlain ? fmaf(pair[1], factor, -base) : (pair[1] - base) * factor);
        even += a;
        odd += b;
        weights[2 * n + half] = pack_word<T>(a, b);
      }
      part[half] = even + odd;
    }
  }
};

// What a row's sums are multiplied by in the end; 0: it saw no key.
__device__ __forceinline__ float inverse_of(float total) {
  total = sum_of_row(total);
  return total == 0.0F ? 0.0F : reciprocal_fast(total);
}
template <typename T>
__device__ __forceinline__ std::uint32_t result_word(const float* pair, float inverse) {
  const std::uint32_t word = pack_word<T>(pair[0] * inverse, pair[1] * inverse);
  return inverse == 0.0F ? 0 : word;
}

// Brings a group's results of a finished tile to its queries' place, in their layout. `place`: of
// the group's first row.
template <typename T, int kPiece, int kSums>
__device__ __forceinline__ void write_rows(std::uint32_t place, const float (&sums)[kSums],
                                           const float (&totals)[2]) {
  const std::uint32_t lane = threadIdx.x % 32, matrix = lane / 8;
  const std::uint32_t row = threadIdx.x / 32 % 4 * 16 + matrix % 2 * 8 + lane % 8;
  const std::uint32_t chunk = matrix / 2 ^ lane % 8;  // of 16 bytes, swizzled
  const float upper = inverse_of(totals[0]), lower = inverse_of(totals[1]);
#pragma unroll
  for (int n = 0; n < kSums / 4; n += 2) {
    const float* const pairs = sums + 4 * n;
    store_matrices(place + n / 8 * kPiece + row * 128 + ((chunk ^ n % 8) << 4),
                   result_word<T>(pairs, upper), result_word<T>(pairs + 2, lower),
                   result_word<T>(pairs + 4, upper), result_word<T>(pairs + 6, lower));
  }
}

// Stores a thread's results of a finished tile. `own_row`: its first one in the tile.
template <typename T, int kSums>
__device__ __forceinline__ void store_rows(const HopperParameters& p, const HopperTile& tile,
                                           int own_row, const float (&sums)[kSums],
                                           const float (&totals)[2]) {
  const int q = static_cast<int>(threadIdx.x % 4);
  const bool odd = q % 2 != 0;
  const std::int64_t* const strides = p.problem.output_strides;
  const int rows = tile.rows - own_row;
  const int column = 8 * (q % 2) + 4 * (q / 2), columns = p.problem.value_dim - column;
  T* const place = static_cast<T*>(p.problem.output) + tile.batch * strides[0] +
                   tile.head * strides[1] + (tile.query + own_row) * strides[2] + column;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    T* const row = place + 8 * half * strides[2];
    const float inverse = inverse_of(totals[half]);
    // Of two times 8 columns a lane has 2 each: with its neighbour's it has 4 of one of them.
#pragma unroll
    for (int n = 0; n < kSums / 4; n += 2) {
      const float* const pairs = sums + 4 * n + 2 * half;
      const std::uint32_t left = result_word<T>(pairs, inverse);
      const std::uint32_t right = result_word<T>(pairs + 4, inverse);
      const std::uint32_t other = __shfl_xor_sync(0xffffffffU, odd ? left : right, 1);
      const uint2 four = odd ? make_uint2(other, right) : make_uint2(left, other);
      if (8 * half < rows && 8 * n < columns) *reinterpret_cast<uint2*>(row + 8 * n) = four;
    }
  }
}

}  // namespace mindiesd::kernels::cuda::hopper
