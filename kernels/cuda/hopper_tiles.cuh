// The tiles of the attention kernel for compute capability 9.0: the parameters, which tile a block
// of threads computes when, and where its operands lie for the copy engine. No entry point of its
// own.

#pragma once

#include <cuda.h>

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/hopper_device.cuh"

namespace mindiesd::kernels::cuda::hopper {

// The maps have five dimensions. Of a dense batch: [column, position, 1, head, batch]. Of packed
// queries: the same without a batch. The keys of a packed sequence end anywhere, and what follows
// them has to read as zeros, which only the end of a dimension does. So packed keys have the
// dimensions [column, x, y, far, head]: x has kFar rows, and n keys before the end of a sequence at
// e begin at x = kFar - n, y = e, far = kFar, where the step of `far` brings the address, modulo
// 2^64, back by kFar rows.
inline constexpr int kFar = 1 << 30;

// What an instance does with a mask: nothing; adds one row of it to all rows of scores; adds it.
// Those for wide heads have no part for one row.
enum class Masking { kNone, kRow, kFull };

struct HopperParameters {
  CUtensorMap query_map, key_map, value_map, output_map, mask_map;
  AttentionParameters problem;
  // Scores are multiplied by `scale` before a floating mask is added, and by `factor` in the
  // exponent.
  float scale, factor;
  // Where later tiles of a head see more keys, a block of threads computes the first and the last
  // of them, the second and the last but one, ...: pairs, which take the same time.
  bool paired;
  // The map of values has their columns as two dimensions (make_pieces_map).
  bool value_pieces;
  int units, rounds;  // tiles or pairs of all heads; how many tiles a block of threads has at most
  int tiles;          // of a head
  Divisor units_of_head, heads, heads_per_key;
  // By how much a coordinate grows with head and batch: 0 where the operand repeats itself.
  int query_head, query_batch, key_head, key_batch, value_head, value_batch, mask_head, mask_batch;
};

// What a tile is: read by the warps that bring it and by the groups that compute it.
struct alignas(16) HopperTile {
  int first_block, last_block;  // of keys; one at least, of which no row may see a key
  int row, rows;                // the first row, and how many the sequence has from it on
  int low, high, key_length;    // KeyBounds
  int batch, head;
  int query, key;  // where the tile and the keys begin, of packed sequences
  // Coordinates of the last two dimensions.
  int query_head, query_batch, key_fourth, key_fifth, value_fourth, value_fifth;
  int mask_head, mask_batch;
};

// Packed sequences have no masks.
template <typename Shape>
__device__ __forceinline__ bool is_packed(const HopperParameters& p) {
  return Shape::kMasking == Masking::kNone && p.problem.cu_query != nullptr;
}

// Whether a mask of one row lets a block of keys be seen; by all lanes of a warp together.
__device__ __forceinline__ bool sees_block(const AttentionParameters& p, int batch, int head,
                                           int first, int keys) {
  const std::int64_t begin = batch * p.mask_strides[0] + head * p.mask_strides[1];
  bool seen = false;
#pragma unroll 1  // for want of registers
  for (int key = first + static_cast<int>(threadIdx.x % 32); key < min(first + keys, p.key_length);
       key += 32) {
    const std::int64_t at = begin + key * p.mask_strides[3];
    seen = seen ||
           (p.mask_type == DataType::kBool ? static_cast<const std::uint8_t*>(p.mask)[at] != 0
                                           : load_one(p.mask, p.mask_type, at) != kMinusInfinity);
  }
  return __any_sync(0xffffffffU, seen) != 0;
}

// Where the copy engine finds a head's operands.
template <typename Shape>
__device__ __forceinline__ void place_operands(const HopperParameters& p, int batch, int head,
                                               HopperTile* tile) {
  tile->batch = batch;
  tile->head = head;
  tile->query_head = head * p.query_head, tile->query_batch = batch * p.query_batch;
  tile->mask_head = head * p.mask_head, tile->mask_batch = batch * p.mask_batch;
  const auto shared = static_cast<int>(p.heads_per_key.quotient(static_cast<unsigned>(head)));
  const int key_head = shared * p.key_head, value_head = shared * p.value_head;
  const bool packed = is_packed<Shape>(p);
  tile->key_fourth = packed ? kFar : key_head;
  tile->key_fifth = packed ? key_head : batch * p.key_batch;
  tile->value_fourth = packed ? kFar : value_head;
  tile->value_fifth = packed ? value_head : batch * p.value_batch;
}

// The tile of a unit, of a pair the one that is `second` or the first; false: there is none (packed
// sequences fill fewer tiles than there may be). All lanes of a warp call it together, and one
// writes the tile.
template <typename Shape>
__device__ __forceinline__ bool locate(const HopperParameters& p, std::uint32_t unit, bool second,
                                       HopperTile* tile) {
  if (unit >= static_cast<std::uint32_t>(p.units)) return false;
  const std::uint32_t head = p.units_of_head.quotient(unit);  // among those of all batches
  auto number = static_cast<int>(unit - head * p.units_of_head.value);  // of the tile in its head
  if (p.paired) {
    const int last = p.tiles - 1 - number;
    if (!second) {
      number = last;
    } else if (number == last) {
      return false;
    }
  }
  const bool packed = is_packed<Shape>(p);
  AttentionTile part = {};
  part.query_length = p.problem.query_length;
  part.key_length = p.problem.key_length;
  part.row = number * Shape::kRows;
  int batch = static_cast<int>(p.heads.quotient(head)), query_begin = 0, key_begin = 0;
  part.head = static_cast<int>(head) - batch * static_cast<int>(p.heads.value);
  if (packed) {
    batch = 0;
    if (!find_segment(p.problem, number, Shape::kRows, &part, &query_begin, &key_begin)) {
      return false;
    }
  }
  const KeyBounds bounds(p.problem, part);
  const int end = min(part.row + Shape::kRows, part.query_length);
  int first = bounds.first(part.row) / Shape::kKeys;
  int last = max(bounds.last(end - 1) / Shape::kKeys, first);
  const bool writes = threadIdx.x % 32 == 0;
  if (writes) {
    tile->row = part.row;
    tile->rows = part.query_length - part.row;
    tile->low = bounds.low, tile->high = bounds.high, tile->key_length = bounds.length;
    tile->query = query_begin + part.row;
    tile->key = key_begin;
    place_operands<Shape>(p, batch, part.head, tile);
  }
  if constexpr (Shape::kMasking == Masking::kRow) {
    const auto sees = [&](int block) {
      return sees_block(p.problem, batch, part.head, block * Shape::kKeys, Shape::kKeys);
    };
#pragma unroll 1
    while (last > first && !sees(last)) --last;
#pragma unroll 1
    while (first < last && !sees(first)) ++first;
  }
  if (writes) tile->first_block = first, tile->last_block = last;
  return true;
}

// Where the rows that are `rows` behind the tile's first one go.
template <typename Shape>
__device__ __forceinline__ Coordinates place_rows(const HopperParameters& p, const HopperTile& tile,
                                                  int rows) {
  if (!is_packed<Shape>(p)) return {0, tile.row + rows, 0, tile.head, tile.batch};
  return {0, kFar - max(tile.rows - rows, 0), tile.query + tile.rows, kFar, tile.head};
}

// Where the block of keys begins that begins with `key`.
template <typename Shape>
__device__ __forceinline__ void place_keys(const HopperParameters& p, const HopperTile& tile,
                                           int key, Coordinates* at) {
  at->x = key;
  if (is_packed<Shape>(p)) {
    at->x = kFar - max(tile.key_length - key, 0);
    at->y = tile.key + tile.key_length;
  }
}

}  // namespace mindiesd::kernels::cuda::hopper
