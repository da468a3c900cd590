// Attention of float16 and bfloat16 on tensor cores, for compute capability 8.0 and newer: the
// kernel template; attention.cu chooses among its instances.
//
// One block computes kRows queries of one head: FlashAttention's loop over tiles of kKeys keys with
// a running maximum (arXiv 2205.14135, 2307.08691), mma.m16n8k16 with float32 sums. Scores live in
// registers, where a warp owns 16 * kRowTiles whole rows; operands are in shared memory in chunks
// of 16 bytes, swizzled so that ldmatrix meets no bank twice. A tile of keys is fetched while the
// previous tile's weights meet its values, a tile of values and of the mask while the scores are
// computed. The sums are rescaled only when a maximum grows by more than 2^8 (as FlashAttention-4
// does), which rounding does not notice. Where a row's results fill more registers than a warp has,
// two warps share rows: each multiplies half of the columns, and they add up their scores.

#pragma once

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/attention_tiles.cuh"

namespace mindiesd::kernels::cuda {

// kSplit: warps that share rows.
template <int kWidthOf, int kRowsOf, int kKeysOf, int kWarpsOf, int kBlocksOf, int kSplitOf = 1>
struct MmaShape {
  static constexpr int kWidth = kWidthOf, kRows = kRowsOf, kKeys = kKeysOf, kSplit = kSplitOf;
  static constexpr int kWarps = kWarpsOf, kThreads = 32 * kWarps, kBlocks = kBlocksOf;
  static constexpr int kGroups = kWarps / kSplit;
  static constexpr int kRowTiles = kRows / (16 * kGroups);
  static constexpr int kKeyTiles = kKeys / 8;
  static constexpr int kColumns = kWidth / kSplit;  // of a warp
  static constexpr int kValueTiles = kColumns / 8;
  static constexpr int kQueryBytes = kRows * kWidth * 2;
  static constexpr int kKeyBytes = kKeys * kWidth * 2;
  static constexpr int kSumBytes = kSplit > 1 ? kSplit* kRows* kKeys * 4 : 0;
  static constexpr int kBytes = kQueryBytes + 2 * kKeyBytes + kSumBytes;
  static_assert(kRows % (16 * kGroups) == 0 && kWidth % 32 == 0);
  static_assert(kSplit == 1 || (kSplit == 2 && kColumns % 64 == 0));
  static_assert((kKeys & (kKeys - 1)) == 0 && kKeys >= 16);

  // Between rows of the mask, in bytes: 16 more than a row, so that rows begin in different banks.
  static __host__ __device__ constexpr int mask_pitch(int item) { return kKeys * item + 16; }
};

// A tile of the mask as it lies in memory, row by row; one row where all rows share it.
template <typename Shape>
__device__ __forceinline__ void load_mask(unsigned char* to, const unsigned char* from,
                                          const AttentionParameters& p, int item, int rows,
                                          int keys) {
  const int pitch = Shape::mask_pitch(item);
  const int unit = p.mask_unit;
  const int in_row = Shape::kKeys * item / unit;  // a power of two, as kKeys, item and unit are
  const int log = 31 - __clz(in_row);
  const int bytes = keys * item;
#pragma unroll 2
  for (int i = static_cast<int>(threadIdx.x); i < rows << log; i += Shape::kThreads) {
    const int row = i >> log;
    const int at = (i & (in_row - 1)) * unit;
    const int left = min(bytes - at, unit);
    if (left <= 0) continue;
    unsigned char* place = to + row * pitch + at;
    const unsigned char* source = from + row * p.mask_strides[2] * item;
    if (unit > item || (unit == 4 && p.mask_strides[3] == 1)) {
      source += at;
      if (unit == 16) {
        copy_async<16>(shared_address(place), source, left);
      } else if (unit == 8) {
        copy_async<8>(shared_address(place), source, left);
      } else {
        copy_async<4>(shared_address(place), source, left);
      }
      continue;
    }
    source += at * p.mask_strides[3];
    if (item == 1) {
      *place = *source;
    } else if (item == 2) {
      *reinterpret_cast<std::uint16_t*>(place) = *reinterpret_cast<const std::uint16_t*>(source);
    } else {
      *reinterpret_cast<std::uint32_t*>(place) = *reinterpret_cast<const std::uint32_t*>(source);
    }
  }
}

template <typename Shape>
using Scores = float[Shape::kRowTiles][Shape::kKeyTiles][4];

// Calls body(score of two neighbouring keys, row in the block, key in the tile) for what a thread
// has.
template <typename Shape, typename Body>
__device__ __forceinline__ void for_each_pair(Scores<Shape>& scores, int first_row, int first_key,
                                              const Body& body) {
#pragma unroll
  for (int t = 0; t < Shape::kRowTiles; ++t) {
#pragma unroll
    for (int n = 0; n < Shape::kKeyTiles; ++n) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        body(scores[t][n][2 * half], scores[t][n][2 * half + 1], first_row + t * 16 + half * 8,
             first_key + n * 8);
      }
    }
  }
}

// Floating masks: score * factor + mask, in units of log2. `pitch`: bytes between the rows of the
// mask; 0 where they share one.
template <typename Shape>
__device__ __forceinline__ void apply_mask(Scores<Shape>& scores, const unsigned char* mask,
                                           DataType type, float factor, int pitch, int row,
                                           int key) {
  const auto place = [&](int r, int k, int item) { return mask + r * pitch + k * item; };
  switch (type) {
    case DataType::kBool:
      for_each_pair<Shape>(scores, row, key, [&](float& a, float& b, int r, int k) {
        const unsigned both = *reinterpret_cast<const std::uint16_t*>(place(r, k, 1));
        a = (both & 0xffU) != 0 ? a : kMinusInfinity;
        b = (both & 0xff00U) != 0 ? b : kMinusInfinity;
      });
      break;
    case DataType::kFloat16:
      for_each_pair<Shape>(scores, row, key, [&](float& a, float& b, int r, int k) {
        float x, y;
        unpack_word<__half>(*reinterpret_cast<const std::uint32_t*>(place(r, k, 2)), x, y);
        a = fmaf(a, factor, x * kLog2e);
        b = fmaf(b, factor, y * kLog2e);
      });
      break;
    case DataType::kBFloat16:
      for_each_pair<Shape>(scores, row, key, [&](float& a, float& b, int r, int k) {
        float x, y;
        unpack_word<__nv_bfloat16>(*reinterpret_cast<const std::uint32_t*>(place(r, k, 2)), x, y);
        a = fmaf(a, factor, mask_in_log2(x));
        b = fmaf(b, factor, mask_in_log2(y));
      });
      break;
    default:
      for_each_pair<Shape>(scores, row, key, [&](float& a, float& b, int r, int k) {
        const float2 both = *reinterpret_cast<const float2*>(place(r, k, 4));
        a = fmaf(a, factor, mask_in_log2(both.x));
        b = fmaf(b, factor, mask_in_log2(both.y));
      });
      break;
  }
}

// A boolean mask of one row, which is read once for all rows.
template <typename Shape>
__device__ __forceinline__ void hide_keys(Scores<Shape>& scores, const unsigned char* mask,
                                          int key) {
#pragma unroll
  for (int n = 0; n < Shape::kKeyTiles; ++n) {
    const unsigned both = *reinterpret_cast<const std::uint16_t*>(mask + key + n * 8);
#pragma unroll
    for (int t = 0; t < Shape::kRowTiles; ++t) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const unsigned keep = both & (i % 2 == 0 ? 0xffU : 0xff00U);
        scores[t][n][i] = keep != 0 ? scores[t][n][i] : kMinusInfinity;
      }
    }
  }
}

// Adds up the scores of the two warps that share rows.
template <typename Shape>
__device__ __forceinline__ void add_scores(Scores<Shape>& scores, float4* memory, int group,
                                           int part) {
  constexpr int kTiles = Shape::kRowTiles * Shape::kKeyTiles;
  const int lane = static_cast<int>(threadIdx.x & 31);
  float4* const own = memory + (group * 2 + part) * kTiles * 32 + lane;
  const float4* const other = memory + (group * 2 + 1 - part) * kTiles * 32 + lane;
#pragma unroll
  for (int i = 0; i < kTiles; ++i) {
    const float(&from)[4] = scores[i / Shape::kKeyTiles][i % Shape::kKeyTiles];
    own[i * 32] = make_float4(from[0], from[1], from[2], from[3]);
  }
  asm volatile("bar.sync %0, 64;" ::"r"(group + 1) : "memory");
#pragma unroll
  for (int i = 0; i < kTiles; ++i) {
    float(&to)[4] = scores[i / Shape::kKeyTiles][i % Shape::kKeyTiles];
    const float4 from = other[i * 32];
    to[0] += from.x, to[1] += from.y, to[2] += from.z, to[3] += from.w;
  }
}

// kGuarded: with a mask, slopes, softcap or a scale that is not positive. Otherwise scores stay
// plain products, and the scale goes into the multiplication of the exponent.
template <typename T, typename Shape, bool kGuarded>
__global__ void __launch_bounds__(Shape::kThreads, Shape::kBlocks)
    attention_mma(const __grid_constant__ AttentionParameters p) {
  constexpr int kRowTiles = Shape::kRowTiles, kKeyTiles = Shape::kKeyTiles;
  constexpr int kValueTiles = Shape::kValueTiles, kKeys = Shape::kKeys;
  extern __shared__ __align__(128) unsigned char memory[];
  wait_for_previous_kernel();

  AttentionTile tile;
  if (!find_tile(p, Shape::kRows, 1, &tile)) return;
  const int rows = min(tile.query_length - tile.row, Shape::kRows);
  const KeyBounds bounds(p, tile);
  int key = bounds.first(tile.row) / kKeys * kKeys;
  const int end = bounds.last(tile.row + rows - 1) + 1;

  const T* const query =
      static_cast<const T*>(p.query) + tile.query + tile.row * p.query_strides[2];
  const T* keys = static_cast<const T*>(p.key) + tile.key + key * p.key_strides[2];
  const T* values = static_cast<const T*>(p.value) + tile.value + key * p.value_strides[2];
  const std::uint32_t query_memory = shared_address(memory);
  const std::uint32_t key_memory = query_memory + Shape::kQueryBytes;
  const std::uint32_t value_memory = key_memory + Shape::kKeyBytes;
  float4* const sum_memory = reinterpret_cast<float4*>(memory + Shape::kBytes - Shape::kSumBytes);
  unsigned char* const mask_memory = memory + Shape::kBytes;
  const int item = p.mask_type == DataType::kBool ? 1 : p.mask_type == DataType::kFloat32 ? 4 : 2;
  const bool one_mask_row = p.mask_strides[2] == 0;

  const int lane = static_cast<int>(threadIdx.x & 31);
  const int group = static_cast<int>(threadIdx.x / 32) % Shape::kGroups;
  const int part = static_cast<int>(threadIdx.x / 32) / Shape::kGroups;
  const int warp_row = group * 16 * kRowTiles;
  const int own_row = warp_row + lane / 4;  // and every eighth row after it
  const int own_key = lane % 4 * 2;

  float output[kRowTiles][kValueTiles][4];
  float largest[kRowTiles][2], total[kRowTiles][2];  // the maximum times `factor`, a thread's sum
#pragma unroll
  for (int t = 0; t < kRowTiles; ++t) {
#pragma unroll
    for (int n = 0; n < kValueTiles; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) output[t][n][i] = 0.0F;
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      largest[t][i] = kMinusInfinity;
      total[t][i] = 0.0F;
    }
  }

  float factor = p.scale * kLog2e;
  bool shaped = false;
  if constexpr (kGuarded) {
    shaped = p.slopes != nullptr || p.softcap > 0.0F || !(p.scale > 0.0F);
    if (shaped || (p.mask != nullptr && p.mask_type != DataType::kBool)) factor = 1.0F;
  }

  if (key < end) {
    load_rows<T, Shape::kRows, Shape::kWidth, Shape::kThreads>(
        query_memory, query, p.query_strides[2], rows, p.head_dim, p.query_vectors);
    load_rows<T, kKeys, Shape::kWidth, Shape::kThreads>(key_memory, keys, p.key_strides[2],
                                                        end - key, p.head_dim, p.key_vectors);
    commit_copies();
  }
  using Lane = LaneAddress<Shape::kWidth>;
  const auto own_columns = static_cast<std::uint32_t>(part * Shape::kColumns * 2);
  const Lane query_at(query_memory + own_columns, warp_row + (lane & 15), lane >> 4);
  const Lane key_at(key_memory + own_columns, (lane >> 4) * 8 + (lane & 7), lane >> 3 & 1);
  const Lane value_at(value_memory + own_columns, lane & 15, lane >> 4);

  for (; key < end; key += kKeys) {
    wait_for_copies();
    __syncthreads();  // the keys are there; nobody reads the previous values and mask any more
    load_rows<T, kKeys, Shape::kWidth, Shape::kThreads>(value_memory, values, p.value_strides[2],
                                                        end - key, p.value_dim, p.value_vectors);
    if (kGuarded && p.mask != nullptr) {
      const unsigned char* mask = static_cast<const unsigned char*>(p.mask) +
                                  (tile.batch * p.mask_strides[0] + tile.head * p.mask_strides[1] +
                                   tile.row * p.mask_strides[2] + key * p.mask_strides[3]) *
                                      item;
      load_mask<Shape>(mask_memory, mask, p, item, one_mask_row ? 1 : rows, min(end - key, kKeys));
    }
    commit_copies();
    values += kKeys * p.value_strides[2];

    Scores<Shape> scores;
    for_each_pair<Shape>(scores, 0, 0, [](float& a, float& b, int, int) { a = b = 0.0F; });
#pragma unroll
    for (int step = 0; step < Shape::kColumns / 16; ++step) {
      std::uint32_t a[kRowTiles][4];
#pragma unroll
      for (int t = 0; t < kRowTiles; ++t) load_matrices(a[t], query_at(t * 16, step));
#pragma unroll
      for (int n = 0; n < kKeyTiles; n += 2) {
        std::uint32_t b[4];
        load_matrices(b, key_at(n * 8, step));
#pragma unroll
        for (int t = 0; t < kRowTiles; ++t) {
          multiply<T>(scores[t][n], a[t], b[0], b[1]);
          multiply<T>(scores[t][n + 1], a[t], b[2], b[3]);
        }
      }
    }

    if constexpr (Shape::kSplit > 1) add_scores<Shape>(scores, sum_memory, group, part);

    wait_for_copies();
    __syncthreads();  // the values and the mask are there; nobody reads the keys any more
    keys += kKeys * p.key_strides[2];
    if (key + kKeys < end) {
      load_rows<T, kKeys, Shape::kWidth, Shape::kThreads>(
          key_memory, keys, p.key_strides[2], end - key - kKeys, p.head_dim, p.key_vectors);
    }
    commit_copies();

    if constexpr (kGuarded) {
      if (shaped) {
        const ScoreRule rule(p, tile);
        for_each_pair<Shape>(scores, tile.row + own_row, key + own_key,
                             [&](float& a, float& b, int row, int k) {
                               a = rule(a, row, k);
                               b = rule(b, row, k + 1);
                             });
      }
      if (p.mask != nullptr && p.mask_type == DataType::kBool && one_mask_row) {
        hide_keys<Shape>(scores, mask_memory, own_key);
      } else if (p.mask != nullptr) {
        apply_mask<Shape>(scores, mask_memory, p.mask_type, shaped ? 1.0F : p.scale * kLog2e,
                          one_mask_row ? 0 : Shape::mask_pitch(item), own_row, own_key);
      }
    }
    // Only tiles that some row sees in part.
    if (key < bounds.first(tile.row + rows - 1) || key + kKeys - 1 > bounds.last(tile.row)) {
      for_each_pair<Shape>(scores, tile.row + own_row, key + own_key,
                           [&](float& a, float& b, int row, int k) {
                             const int first = bounds.first(row), last = bounds.last(row);
                             if (k < first || k > last) a = kMinusInfinity;
                             if (k + 1 < first || k + 1 > last) b = kMinusInfinity;
                           });
    }

    float maximum[kRowTiles][2];
    bool grew = false;
#pragma unroll
    for (int t = 0; t < kRowTiles; ++t) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        // A NaN need not be kept here: it reaches the sum.
        float high = kMinusInfinity;
#pragma unroll
        for (int n = 0; n < kKeyTiles; ++n) {
          high = fmaxf(high, fmaxf(scores[t][n][2 * half], scores[t][n][2 * half + 1]));
        }
        high = fmaxf(high, __shfl_xor_sync(0xffffffffU, high, 1));
        high = fmaxf(high, __shfl_xor_sync(0xffffffffU, high, 2));
        maximum[t][half] = fmaxf(high * factor, largest[t][half]);
        grew = grew || maximum[t][half] - largest[t][half] > 8.0F;
      }
    }
    if (__any_sync(0xffffffffU, grew)) {
#pragma unroll
      for (int t = 0; t < kRowTiles; ++t) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const float before = largest[t][half], now = maximum[t][half];
          const float shrink = before == now ? 1.0F : exp2_fast(before - now);
          largest[t][half] = now;
          total[t][half] *= shrink;
#pragma unroll
          for (int n = 0; n < kValueTiles; ++n) {
            output[t][n][2 * half] *= shrink;
            output[t][n][2 * half + 1] *= shrink;
          }
        }
      }
    }
    // Weights are made where they are needed, so that exponentials run beside multiplications.
    float base[kRowTiles][2];
#pragma unroll
    for (int t = 0; t < kRowTiles; ++t) {
#pragma unroll
      for (int i = 0; i < 2; ++i)
        base[t][i] = largest[t][i] == kMinusInfinity ? 0.0F : largest[t][i];
    }
#pragma unroll
    for (int step = 0; step < kKeys / 16; ++step) {
      std::uint32_t a[kRowTiles][4];
#pragma unroll
      for (int t = 0; t < kRowTiles; ++t) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float* pair = &scores[t][2 * step + i / 2][i % 2 * 2];
          const float left = exp2_fast(fmaf(pair[0], factor, -base[t][i % 2]));
          const float right = exp2_fast(fmaf(pair[1], factor, -base[t][i % 2]));
          total[t][i % 2] += left + right;
          a[t][i] = pack_word<T>(left, right);
        }
      }
#pragma unroll
      for (int n = 0; n < kValueTiles; n += 2) {
        std::uint32_t b[4];
        load_transposed(b, value_at(step * 16, n / 2));
#pragma unroll
        for (int t = 0; t < kRowTiles; ++t) {
          multiply<T>(output[t][n], a[t], b[0], b[1]);
          multiply<T>(output[t][n + 1], a[t], b[2], b[3]);
        }
      }
    }
  }
  allow_next_kernel();

  // Through the shared memory of the warp's own queries, so that rows are stored in vectors.
  using Layout = Swizzled<Shape::kWidth>;
  T* const result = static_cast<T*>(p.output) + tile.output + tile.row * p.output_strides[2];
  __syncwarp();
#pragma unroll
  for (int t = 0; t < kRowTiles; ++t) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float sum = total[t][half];
      sum += __shfl_xor_sync(0xffffffffU, sum, 1);
      sum += __shfl_xor_sync(0xffffffffU, sum, 2);
      const bool nothing = sum == 0.0F;  // no key
      const float inverse = nothing ? 0.0F : 1.0F / sum;
      const int row = own_row + t * 16 + half * 8;
      if (p.lse != nullptr && part == 0 && lane % 4 == 0 && row < rows) {
        p.lse[tile.lse + (tile.row + row) * p.lse_strides[2]] =
            log_of_sum(largest[t][half], kLn2, sum);
      }
#pragma unroll
      for (int n = 0; n < kValueTiles; ++n) {
        const float a = nothing ? 0.0F : output[t][n][2 * half] * inverse;
        const float b = nothing ? 0.0F : output[t][n][2 * half + 1] * inverse;
        *reinterpret_cast<std::uint32_t*>(memory + Layout::offset(row, part * kValueTiles + n) +
                                          own_key * 2) = pack_word<T>(a, b);
      }
    }
  }
  __syncwarp();
#pragma unroll 4
  for (int i = lane; i < 16 * kRowTiles * kValueTiles; i += 32) {
    const int row = warp_row + i / kValueTiles, chunk = part * kValueTiles + i % kValueTiles;
    if (row >= rows || chunk * 8 >= p.value_dim) continue;
    T* const place = result + row * p.output_strides[2] + chunk * 8;
    const uint4 packed = *reinterpret_cast<const uint4*>(memory + Layout::offset(row, chunk));
    if (p.output_vectors) {
      *reinterpret_cast<uint4*>(place) = packed;
      continue;
    }
    const std::uint32_t words[4] = {packed.x, packed.y, packed.z, packed.w};
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      if (chunk * 8 + j >= p.value_dim) break;
      reinterpret_cast<std::uint16_t*>(place)[j] =
          static_cast<std::uint16_t>(words[j / 2] >> (j % 2 * 16));
    }
  }
}

// Found on an H200 among the shapes that fit. The small ones are for devices with less shared
// memory (99 KB at 8.6 and 8.9).
using Mma64 = MmaShape<64, 128, 64, 4, 2>;
using Mma96 = MmaShape<96, 128, 64, 4, 2>;
using Mma128 = MmaShape<128, 128, 64, 4, 2>;
using Mma192 = MmaShape<192, 128, 64, 8, 1>;
using Mma256 = MmaShape<256, 128, 64, 8, 1>;
using Mma256Small = MmaShape<256, 64, 32, 4, 2>;
using Mma512 = MmaShape<512, 32, 32, 4, 2, 2>;
using Mma512Small = MmaShape<512, 32, 16, 4, 2, 2>;

using AttentionKernel = void (*)(AttentionParameters);

// The instances for one element type and shape, made in attention_*.cu.
template <typename T, typename Shape>
AttentionKernel attention_mma_kernel(bool guarded);

#define MINDIESD_ATTENTION_INSTANCE(T, Shape)                                        \
  template <>                                                                        \
  AttentionKernel attention_mma_kernel<T, Shape>(bool guarded) {                     \
    return guarded ? attention_mma<T, Shape, true> : attention_mma<T, Shape, false>; \
  }

}  // namespace mindiesd::kernels::cuda
