// See attention_plain.cuh.

#include "kernels/cuda/attention_plain.cuh"

namespace mindiesd::kernels::cuda {
namespace {

constexpr int kChunk = 32;
constexpr int kPitch = kPlainRows + 4;  // a multiple of 4, so that four values can be read together

template <bool kFloat>
__device__ __forceinline__ float element(const void* data, DataType type, std::int64_t at) {
  if constexpr (kFloat) return static_cast<const float*>(data)[at];
  return load_one(data, type, at);
}

// columns [from, from + kChunk) of 64 rows, to[column][row]; zeros beyond `rows` and `width`.
template <bool kFloat>
__device__ __forceinline__ void load_columns(float (*to)[kPitch], const void* data, DataType type,
                                             std::int64_t begin, std::int64_t stride, int rows,
                                             int from, int width) {
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < kPlainRows * kChunk; i += kPlainThreads) {
    const int row = i / kChunk, column = i % kChunk;
    const bool inside = row < rows && from + column < width;
    to[column][row] =
        inside ? element<kFloat>(data, type, begin + row * stride + from + column) : 0.0F;
  }
}

__device__ __forceinline__ void four(const float* from, float (&to)[4]) {
  const float4 value = *reinterpret_cast<const float4*>(from);
  to[0] = value.x, to[1] = value.y, to[2] = value.z, to[3] = value.w;
}

template <bool kFloat>
__global__ void __launch_bounds__(kPlainThreads, 2)
    attention_plain(const __grid_constant__ AttentionParameters p) {
  union Operands {
    struct {
      float query[kChunk][kPitch], key[kChunk][kPitch];
    } chunk;
    float value[kChunk][kPlainSlice];
  };
  __shared__ __align__(16) Operands operands;
  __shared__ __align__(16) float weights[kPlainKeys][kPitch];
  wait_for_previous_kernel();

  AttentionTile tile;
  const int slices = (p.value_dim + kPlainSlice - 1) / kPlainSlice;
  if (!find_tile(p, kPlainRows, slices, &tile)) return;
  const int rows = min(tile.query_length - tile.row, kPlainRows);
  const int first_column = tile.slice * kPlainSlice;
  const int width = min(p.value_dim - first_column, kPlainSlice);
  const KeyBounds bounds(p, tile);
  const ScoreRule rule(p, tile);
  const int own_row = static_cast<int>(threadIdx.x / 16) * 4;
  const int own_column = static_cast<int>(threadIdx.x % 16) * 4;  // a key, or a column of value
  const std::int64_t query = tile.query + tile.row * p.query_strides[2];

  const bool shaped = p.slopes != nullptr || p.softcap > 0.0F || !(p.scale > 0.0F);
  const bool added = p.mask != nullptr && p.mask_type != DataType::kBool;
  const float factor = shaped || added ? 1.0F : p.scale * kLog2e;

  float output[4][8] = {};
  float largest[4], total[4];
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    largest[r] = kMinusInfinity;
    total[r] = 0.0F;
  }

  const int end = bounds.last(tile.row + rows - 1) + 1;
  for (int key = bounds.first(tile.row) / kPlainKeys * kPlainKeys; key < end; key += kPlainKeys) {
    float scores[4][4] = {};
    for (int from = 0; from < p.head_dim; from += kChunk) {
      __syncthreads();
      load_columns<kFloat>(operands.chunk.query, p.query, p.type, query, p.query_strides[2], rows,
                           from, p.head_dim);
      load_columns<kFloat>(operands.chunk.key, p.key, p.type, tile.key + key * p.key_strides[2],
                           p.key_strides[2], end - key, from, p.head_dim);
      __syncthreads();
      // Eight products at a time are summed up by themselves: a long chain of additions rounds each
      // at the size of the whole sum, and a large score gives its error to its weight.
#pragma unroll 2
      for (int begin = 0; begin < kChunk; begin += 8) {
        float part[4][4] = {};
#pragma unroll
        for (int d = begin; d < begin + 8; ++d) {
          float a[4], b[4];
          four(&operands.chunk.query[d][own_row], a);
          four(&operands.chunk.key[d][own_column], b);
#pragma unroll
          for (int r = 0; r < 4; ++r) {
#pragma unroll
            for (int c = 0; c < 4; ++c) part[r][c] = fmaf(a[r], b[c], part[r][c]);
          }
        }
#pragma unroll
        for (int r = 0; r < 4; ++r) {
#pragma unroll
          for (int c = 0; c < 4; ++c) scores[r][c] += part[r][c];
        }
      }
    }

#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const int row = tile.row + own_row + r;
      const int first = bounds.first(row), last = bounds.last(row);
      float high = kMinusInfinity;
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        const int k = key + own_column + c;
        float score = kMinusInfinity;
        if (own_row + r < rows && k >= first && k <= last) {
          score = shaped ? rule(scores[r][c], row, k) : scores[r][c];
          if (p.mask != nullptr) {
            const std::int64_t at = tile.batch * p.mask_strides[0] + tile.head * p.mask_strides[1] +
                                    row * p.mask_strides[2] + k * p.mask_strides[3];
            const float mask = load_one(p.mask, p.mask_type, at);
            if (p.mask_type != DataType::kBool) {
              score = fmaf(score, shaped ? 1.0F : p.scale * kLog2e, mask_in_log2(mask));
            } else if (mask == 0.0F) {
              score = kMinusInfinity;
            }
          }
        }
        scores[r][c] = score;
        high = fmaxf(high, score);  // a NaN reaches the sum without being the maximum
      }
#pragma unroll
      for (int offset = 1; offset < 16; offset *= 2) {
        high = fmaxf(high, __shfl_xor_sync(0xffffffffU, high, offset));
      }
      high = fmaxf(high * factor, largest[r]);
      const float shrink = largest[r] == high ? 1.0F : exp2f(largest[r] - high);
      const float base = high == kMinusInfinity ? 0.0F : high;
      largest[r] = high;
      total[r] *= shrink;
#pragma unroll
      for (int c = 0; c < 8; ++c) output[r][c] *= shrink;
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        // One rounding from the product to the exponent: the error is that of their difference.
        scores[r][c] = exp2f(fmaf(scores[r][c], factor, -base));
      }
      total[r] += (scores[r][0] + scores[r][1]) + (scores[r][2] + scores[r][3]);
    }
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      *reinterpret_cast<float4*>(&weights[own_column + c][own_row]) =
          make_float4(scores[0][c], scores[1][c], scores[2][c], scores[3][c]);
    }

    for (int from = 0; from < kPlainKeys && key + from < end; from += kChunk) {
      __syncthreads();
#pragma unroll 4
      for (int i = static_cast<int>(threadIdx.x); i < kChunk * kPlainSlice; i += kPlainThreads) {
        const int row = i / kPlainSlice, column = i % kPlainSlice;
        const int k = key + from + row;
        operands.value[row][column] =
            k < end && column < width
                ? element<kFloat>(p.value, p.type,
                                  tile.value + k * p.value_strides[2] + first_column + column)
                : 0.0F;
      }
      __syncthreads();
      // Summed up by themselves first: one long chain of additions would round as often as there
      // are keys.
      float part[4][8] = {};
#pragma unroll 8
      for (int k = 0; k < kChunk; ++k) {
        float a[4], b[4];
        four(&weights[from + k][own_row], a);
        four(&operands.value[k][own_column], b);
#pragma unroll
        for (int r = 0; r < 4; ++r) {
#pragma unroll
          for (int c = 0; c < 4; ++c) part[r][c] = fmaf(a[r], b[c], part[r][c]);
        }
        if (width <= 64) continue;
        four(&operands.value[k][own_column + 64], b);
#pragma unroll
        for (int r = 0; r < 4; ++r) {
#pragma unroll
          for (int c = 0; c < 4; ++c) part[r][c + 4] = fmaf(a[r], b[c], part[r][c + 4]);
        }
      }
#pragma unroll
      for (int r = 0; r < 4; ++r) {
#pragma unroll
        for (int c = 0; c < 8; ++c) output[r][c] += part[r][c];
      }
    }
  }
  allow_next_kernel();

#pragma unroll
  for (int r = 0; r < 4; ++r) {
    float sum = total[r];
#pragma unroll
    for (int offset = 1; offset < 16; offset *= 2) {
      sum += __shfl_xor_sync(0xffffffffU, sum, offset);
    }
    if (own_row + r >= rows) continue;
    const std::int64_t at =
        tile.output + (tile.row + own_row + r) * p.output_strides[2] + first_column;
    const float inverse = 1.0F / sum;
    if (p.lse != nullptr && tile.slice == 0 && own_column == 0) {
      p.lse[tile.lse + (tile.row + own_row + r) * p.lse_strides[2]] =
          log_of_sum(largest[r], kLn2, sum);
    }
#pragma unroll
    for (int c = 0; c < 8; ++c) {
      const int column = own_column + c % 4 + c / 4 * 64;
      // A sum of nothing: no key.
      if (column < width) {
        store_one(p.output, p.type, at + column, sum == 0.0F ? 0.0F : output[r][c] * inverse);
      }
    }
  }
}

}  // namespace

AttentionKernel attention_plain_kernel(DataType type) {
  return type == DataType::kFloat32 ? attention_plain<true> : attention_plain<false>;
}

}  // namespace mindiesd::kernels::cuda
