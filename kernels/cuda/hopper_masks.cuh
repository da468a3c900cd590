// Masks of the attention kernel for compute capability 9.0: how they come to shared memory and what
// they do to scores. No entry point of its own.
//
// A mask whose rows are all the same comes as one row of float32: a boolean one as what scores may
// be at most, plus or minus infinity, a floating one as what is added. Any other comes as it is, by
// the copy engine, in pieces of 128 bytes of each row.

#pragma once

#include "kernels/cuda/hopper_shape.cuh"

namespace mindiesd::kernels::cuda::hopper {

// Blocks of a full mask in memory.
__device__ __forceinline__ int mask_stages(DataType type) {
  return type == DataType::kFloat32 ? 1 : kStages;
}
__device__ __forceinline__ int mask_item(DataType type) {
  return type == DataType::kBool ? 1 : type == DataType::kFloat32 ? 4 : 2;
}

// The buffer of the n-th block's mask, and the parity of how often it was used before.
template <typename Shape>
__device__ __forceinline__ int mask_buffer(const HopperParameters& p, int n) {
  return Shape::kMasking == Masking::kFull && mask_stages(p.problem.mask_type) == 1
             ? 0
             : buffer_of<kStages>(n);
}
template <typename Shape>
__device__ __forceinline__ std::uint32_t mask_parity(const HopperParameters& p, int n) {
  return Shape::kMasking == Masking::kFull && mask_stages(p.problem.mask_type) == 1
             ? parity_of<1>(n)
             : parity_of<kStages>(n);
}

// --- how they come -------------------------------------------------------------------------------

// By a warp: a row's part for one block of keys, and whether it has any effect.
template <typename Shape>
__device__ __forceinline__ void bring_mask_row(const HopperParameters& p, float* to,
                                               std::int64_t begin, int first, std::uint32_t emptied,
                                               std::uint32_t parity) {
  constexpr int kSteps = (Shape::kKeys + 31) / 32;
  const AttentionParameters& problem = p.problem;
  const bool boolean = problem.mask_type == DataType::kBool;
  const auto lane = static_cast<int>(threadIdx.x % 32);
  float values[kSteps];
  bool any = !boolean;
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    const int key = first + step * 32 + lane;
    values[step] = boolean ? -kMinusInfinity : 0.0F;
    if (key >= problem.key_length) continue;
    const std::int64_t at = begin + key * problem.mask_strides[3];
    if (!boolean) {
      values[step] = load_one(problem.mask, problem.mask_type, at);
    } else if (static_cast<const std::uint8_t*>(problem.mask)[at] == 0) {
      values[step] = kMinusInfinity;
      any = true;
    }
  }
  any = __any_sync(0xffffffffU, any) != 0;
  wait_for(emptied, parity);
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    if (step * 32 + lane < Shape::kKeys) to[step * 32 + lane] = values[step];
  }
  if (lane == 0) to[Shape::kKeys] = any ? 1.0F : 0.0F;
}

template <typename Shape>
__device__ __forceinline__ void bring_mask_rows(const HopperParameters& p, unsigned char* shared) {
  const std::uint32_t memory = shared_place(shared);
  int blocks = 0;
  for (int n = 0;; ++n) {
    const HopperTile& tile = wait_for_tile<Shape>(shared, n);
    const int last = tile.last_block;
    if (last < 0) return;
    const std::int64_t begin =
        tile.batch * p.problem.mask_strides[0] + tile.head * p.problem.mask_strides[1];
#pragma unroll 1  // for want of registers
    for (int block = tile.first_block; block <= last; ++block, ++blocks) {
      const int buffer = buffer_of<kStages>(blocks);
      auto* const to =
          reinterpret_cast<float*>(shared + Shape::kMaskPlace + buffer * Shape::kMaskRow);
      bring_mask_row<Shape>(p, to, begin, block * Shape::kKeys, empty<Shape>(memory, kMask, buffer),
                            parity_of<kStages>(blocks) ^ 1);
      __syncwarp();
      if (threadIdx.x % 32 == 0) arrive(full<Shape>(memory, kMask, buffer));
    }
    release<Shape>(memory, kTile, buffer_of<kTiles>(n));
  }
}

// By one lane: the rows of a tile's queries for one block of keys after the other.
template <typename Shape>
__device__ __forceinline__ void bring_masks(const HopperParameters& p, unsigned char* shared) {
  const std::uint32_t memory = shared_place(shared);
  const int item = mask_item(p.problem.mask_type);
  const int bytes = Shape::kRows * Shape::kKeys * item, columns = 128 / item;
  int blocks = 0;
  for (int n = 0;; ++n) {
    const HopperTile& tile = wait_for_tile<Shape>(shared, n);
    const int first = tile.first_block, last = tile.last_block;
    if (last < 0) return;
    Coordinates from = {0, tile.row, 0, tile.mask_head, tile.mask_batch};
#pragma unroll 1
    for (int block = first; block <= last; ++block, ++blocks) {
      const int buffer = mask_buffer<Shape>(p, blocks);
      wait_for(empty<Shape>(memory, kMask, buffer), mask_parity<Shape>(p, blocks) ^ 1);
      const std::uint32_t barrier = full<Shape>(memory, kMask, buffer);
      arrive_and_expect(barrier, bytes);
      auto to = memory + static_cast<std::uint32_t>(Shape::kMaskPlace + buffer * bytes);
      from.column = block * Shape::kKeys;
#pragma unroll 1
      for (int piece = 0; piece < item; ++piece) {  // kKeys values of `item` bytes
        load_box(to, &p.mask_map, barrier, from);
        to += Shape::kMaskPiece;
        from.column += columns;
      }
    }
    arrive(empty<Shape>(memory, kTile, buffer_of<kTiles>(n)));
  }
}

// --- what they do --------------------------------------------------------------------------------

// One row's part for the block. `row`: of the key that scores[0] belongs to.
template <int kScores>
__device__ __forceinline__ void apply_mask_row(float (&scores)[kScores], const float* row,
                                               bool boolean, float scale) {
#pragma unroll
  for (int n = 0; n < kScores / 4; ++n) {
    const float2 both = *reinterpret_cast<const float2*>(row + 8 * n);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float value = i % 2 == 0 ? both.x : both.y;
      float& score = scores[4 * n + i];
      // The smaller one is the number where one is NaN: what a key that nobody sees holds is lost.
      score = boolean ? fminf(score, value) : fmaf(score, scale, value);
    }
  }
}

// The bytes of a full mask that belong to a thread's two neighbouring scores 8 n columns after its
// first ones. `first`: of its row in the first piece.
template <int kItem, int kPiece>
__device__ __forceinline__ const unsigned char* mask_place(const unsigned char* first, int n) {
  const unsigned lane = threadIdx.x % 32, swizzle = lane / 4;
  const unsigned byte = static_cast<unsigned>(n) * 8 * kItem + lane % 4 * 2 * kItem;
  return first + byte / 128 * kPiece + ((byte % 128 / 16 ^ swizzle) << 4) + byte % 16;
}

// Calls body(two neighbouring scores, where their values of the mask are).
template <int kItem, typename Shape, typename Body>
__device__ __forceinline__ void for_each_pair(float (&scores)[Shape::kKeys / 2],
                                              const unsigned char* first, const Body& body) {
#pragma unroll
  for (int n = 0; n < Shape::kKeys / 8; ++n) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      body(scores[4 * n + 2 * half], scores[4 * n + 2 * half + 1],
           mask_place<kItem, Shape::kMaskPiece>(first + half * 8 * 128, n));
    }
  }
}

// `first`: of the thread's first row in the first piece.
template <typename Shape>
__device__ __forceinline__ void apply_mask(float (&scores)[Shape::kKeys / 2],
                                           const unsigned char* first, DataType type, float scale) {
  switch (type) {
    case DataType::kBool:
      for_each_pair<1, Shape>(scores, first, [](float& a, float& b, const unsigned char* at) {
        const unsigned both = *reinterpret_cast<const std::uint16_t*>(at);
        a = (both & 0xffU) != 0 ? a : kMinusInfinity;
        b = (both & 0xff00U) != 0 ? b : kMinusInfinity;
      });
      break;
    case DataType::kFloat16:
      for_each_pair<2, Shape>(scores, first, [&](float& a, float& b, const unsigned char* at) {
        float x, y;
        unpack_word<__half>(*reinterpret_cast<const std::uint32_t*>(at), x, y);
        a = fmaf(a, scale, x);
        b = fmaf(b, scale, y);
      });
      break;
    case DataType::kBFloat16:
      for_each_pair<2, Shape>(scores, first, [&](float& a, float& b, const unsigned char* at) {
        float x, y;
        unpack_word<__nv_bfloat16>(*reinterpret_cast<const std::uint32_t*>(at), x, y);
        a = fmaf(a, scale, x);
        b = fmaf(b, scale, y);
      });
      break;
    default:
      for_each_pair<4, Shape>(scores, first, [&](float& a, float& b, const unsigned char* at) {
        const float2 both = *reinterpret_cast<const float2*>(at);
        a = fmaf(a, scale, both.x);
        b = fmaf(b, scale, both.y);
      });
      break;
  }
}

}  // namespace mindiesd::kernels::cuda::hopper
