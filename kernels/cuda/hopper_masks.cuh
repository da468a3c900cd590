// Masks of the attention kernel for compute capability 9.0: how they come to shared memory and what
// they do to scores. No entry point of its own.
//
// A mask whose rows are all the same comes as one row of float32: a boolean one as what scores may
// be at most, plus or minus infinity, a floating one as what is added. Any other comes as it is, by
// the copy engine, in pieces of 128 bytes of each row. Heads of more than 256 values leave no room
// for it: there each thread reads what its scores need.

#pragma once

#include <cstring>

#include "kernels/cuda/hopper_shape.cuh"

namespace mindiesd::kernels::cuda::hopper {

// Blocks of a full mask in memory.
__device__ __forceinline__ int mask_stages(DataType type) {
  return type == DataType::kFloat32 ? 1 : kStages;
}
__device__ __forceinline__ int mask_item(DataType type) {
  return type == DataType::kBool ? 1 : type == DataType::kFloat32 ? 4 : 2;
}

// Pieces of a block's mask: one at least, of which 64 booleans are a half.
template <typename Shape>
__device__ __forceinline__ int mask_pieces(DataType type) {
  return (Shape::kKeys * mask_item(type) + 127) / 128;
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
      arrive(full<Shape>(memory, kMask, buffer));
    }
    release<Shape>(memory, kTile, buffer_of<kTiles>(n));
  }
}

// By one lane: the rows of a tile's queries for one block of keys after the other.
template <typename Shape>
__device__ __forceinline__ void bring_masks(const HopperParameters& p, unsigned char* shared) {
  const std::uint32_t memory = shared_place(shared);
  const int columns = 128 / mask_item(p.problem.mask_type);  // of a piece
  const int pieces = mask_pieces<Shape>(p.problem.mask_type), bytes = pieces * Shape::kMaskPiece;
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
      from.column = block * Shape::kKeys / columns * columns;
#pragma unroll 1
      for (int piece = 0; piece < pieces; ++piece) {
        load_box(to, &p.mask_map, barrier, from);
        to += Shape::kMaskPiece;
        from.column += columns;
      }
    }
    arrive(empty<Shape>(memory, kTile, buffer_of<kTiles>(n)));
  }
}

// --- straight from memory ------------------------------------------------------------------------

// Where a thread's scores are: `row` and `key` of scores[0], and how many rows the sequence has
// from there on.
struct ScorePlace {
  int row, rows, key;
};

// Two neighbouring values of a mask.
template <typename Item>
struct alignas(2 * sizeof(Item)) MaskPair {
  Item first, second;
};

// What a mask has for a thread's scores, of any strides, as it lies in memory: so that nobody waits
// for it before apply_words. Words 2 n and 2 n + 1 are of scores 2 n and 2 n + 1. `begin`: of the
// head's mask, in elements.
template <typename Item, int kScores>
__device__ __forceinline__ void read_words(const AttentionParameters& p, std::int64_t begin,
                                           const ScorePlace& place,
                                           std::uint32_t (&words)[kScores]) {
  using Pair = MaskPair<Item>;
  const Item* const from = static_cast<const Item*>(p.mask) + begin +
                           place.row * p.mask_strides[2] + place.key * p.mask_strides[3];
  const bool pairs = p.mask_unit >= static_cast<int>(sizeof(Pair)) && place.rows > 8 &&
                     place.key + 8 * (kScores / 4 - 1) + 2 <= p.key_length;
  const auto keep = [&](int n, int half, const Pair& pair) {
    std::uint32_t* const two = words + 4 * n + 2 * half;
    if constexpr (sizeof(Pair) == 8) {
      two[0] = __float_as_uint(pair.first);
      two[1] = __float_as_uint(pair.second);
    } else {
      two[0] = 0;
      memcpy(two, &pair, sizeof(pair));
    }
  };
  // One branch for all of them: loads behind branches of their own wait for each other.
  if (__all_sync(0xffffffffU, pairs) != 0) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const Item* const line = from + 8 * half * p.mask_strides[2];
#pragma unroll
      for (int n = 0; n < kScores / 4; ++n) {
        keep(n, half, *reinterpret_cast<const Pair*>(line + 8 * n));
      }
    }
    return;
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const Item* const line = from + 8 * half * p.mask_strides[2];
#pragma unroll
    for (int n = 0; n < kScores / 4; ++n) {
      const int left = 8 * half < place.rows ? p.key_length - place.key - 8 * n : 0;
      Pair pair = {};
      if (left > 0) pair.first = line[8 * n * p.mask_strides[3]];
      if (left > 1) pair.second = line[(8 * n + 1) * p.mask_strides[3]];
      keep(n, half, pair);
    }
  }
}
template <int kScores>
__device__ __forceinline__ void read_words(const AttentionParameters& p, std::int64_t begin,
                                           const ScorePlace& place,
                                           std::uint32_t (&words)[kScores]) {
  if (p.mask_type == DataType::kBool) {
    read_words<std::uint8_t>(p, begin, place, words);
  } else if (p.mask_type == DataType::kFloat32) {
    read_words<float>(p, begin, place, words);
  } else {
    read_words<std::uint16_t>(p, begin, place, words);
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

// The words of read_words. What lies outside of a mask changes nothing that is not hidden later.
template <int kScores>
__device__ __forceinline__ void apply_words(float (&scores)[kScores],
                                            const std::uint32_t (&words)[kScores], DataType type,
                                            float scale) {
#pragma unroll
  for (int n = 0; n < kScores; n += 2) {
    const std::uint32_t word = words[n];
    float& a = scores[n];
    float& b = scores[n + 1];
    float x = __uint_as_float(word), y = __uint_as_float(words[n + 1]);
    if (type == DataType::kBool) {
      a = (word & 0xffU) != 0 ? a : kMinusInfinity;
      b = (word & 0xff00U) != 0 ? b : kMinusInfinity;
      continue;
    }
    if (type == DataType::kFloat16) unpack_word<__half>(word, x, y);
    if (type == DataType::kBFloat16) unpack_word<__nv_bfloat16>(word, x, y);
    a = fmaf(a, scale, x);
    b = fmaf(b, scale, y);
  }
}

// Where a thread's part of a full mask begins: its first row in the first piece, and by what the
// copy engine has exchanged the 16 bytes of a row. In an odd block of 64 booleans the halves of a
// row are exchanged as well.
struct MaskPlace {
  const unsigned char* first;
  unsigned swizzle;
};

// The bytes of a full mask that belong to a thread's two neighbouring scores 8 n columns after its
// first ones, in its first or its second row.
template <int kItem, int kPiece>
__device__ __forceinline__ const unsigned char* mask_place(const MaskPlace& place, int n,
                                                           int half) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned byte = static_cast<unsigned>(n) * 8 * kItem + lane % 4 * 2 * kItem;
  return place.first + half * 8 * 128 + byte / 128 * kPiece +
         ((byte % 128 / 16 ^ place.swizzle) << 4) + byte % 16;
}

// Calls body(two neighbouring scores, where their values of the mask are).
template <int kItem, typename Shape, typename Body>
__device__ __forceinline__ void for_each_pair(float (&scores)[Shape::kKeys / 2],
                                              const MaskPlace& place, const Body& body) {
#pragma unroll
  for (int n = 0; n < Shape::kKeys / 8; ++n) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      body(scores[4 * n + 2 * half], scores[4 * n + 2 * half + 1],
           mask_place<kItem, Shape::kMaskPiece>(place, n, half));
    }
  }
}

// `first`: of the thread's first row in the first piece.
template <typename Shape>
__device__ __forceinline__ void apply_mask(float (&scores)[Shape::kKeys / 2],
                                           const unsigned char* first, int block, DataType type,
                                           float scale) {
  MaskPlace place = {first, threadIdx.x % 32 / 4};
  switch (type) {
    case DataType::kBool:
      if (Shape::kKeys == 64) place.swizzle ^= static_cast<unsigned>(block) % 2 * 4;
      for_each_pair<1, Shape>(scores, place, [](float& a, float& b, const unsigned char* at) {
        const unsigned both = *reinterpret_cast<const std::uint16_t*>(at);
        a = (both & 0xffU) != 0 ? a : kMinusInfinity;
        b = (both & 0xff00U) != 0 ? b : kMinusInfinity;
      });
      break;
    case DataType::kFloat16:
      for_each_pair<2, Shape>(scores, place, [&](float& a, float& b, const unsigned char* at) {
        float x, y;
        unpack_word<__half>(*reinterpret_cast<const std::uint32_t*>(at), x, y);
        a = fmaf(a, scale, x);
        b = fmaf(b, scale, y);
      });
      break;
    case DataType::kBFloat16:
      for_each_pair<2, Shape>(scores, place, [&](float& a, float& b, const unsigned char* at) {
        float x, y;
        unpack_word<__nv_bfloat16>(*reinterpret_cast<const std::uint32_t*>(at), x, y);
        a = fmaf(a, scale, x);
        b = fmaf(b, scale, y);
      });
      break;
    default:
      for_each_pair<4, Shape>(scores, place, [&](float& a, float& b, const unsigned char* at) {
        const float2 both = *reinterpret_cast<const float2*>(at);
        a = fmaf(a, scale, both.x);
        b = fmaf(b, scale, both.y);
      });
      break;
  }
}

}  // namespace mindiesd::kernels::cuda::hopper
