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

struct HopperParameters {
  CUtensorMap query_map, key_map, value_map;
  AttentionParameters problem;
  float factor;        // scale * log2(e)
  int tiles, rounds;   // of all heads; tiles of a block of threads, at most
  bool longest_first;  // in sections of heads whose keys fit the cache together
  int sections;
  Divisor tiles_of_head, heads, heads_per_key;
  Divisor section, last_section;  // heads
  Divisor tiles_of_section;
  // By how much a coordinate grows with head and batch: 0 where the operand repeats itself.
  int query_head, query_batch, key_head, key_batch, value_head, value_batch;
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
};

// Tile `index` in the order in which tiles are computed; false: there is none (packed sequences
// fill fewer tiles than there may be). All lanes of a warp call it together, and one writes the
// tile.
template <typename Shape>
__device__ __forceinline__ bool locate(const HopperParameters& p, int index, HopperTile* tile) {
  const auto at = static_cast<std::uint32_t>(index);
  std::uint32_t number, head;  // of the tile in its head, of the head among those of all batches
  if (p.longest_first) {
    const std::uint32_t section = p.tiles_of_section.quotient(at);
    const std::uint32_t rest = at - section * p.tiles_of_section.value;
    const bool last = static_cast<int>(section) == p.sections - 1;
    const Divisor& heads = last ? p.last_section : p.section;
    const std::uint32_t before = heads.quotient(rest);
    number = p.tiles_of_head.value - 1 - before;
    head = section * p.section.value + rest - before * heads.value;
  } else {
    head = p.tiles_of_head.quotient(at);
    number = at - head * p.tiles_of_head.value;
  }
  AttentionTile part = {};
  part.query_length = p.problem.query_length;
  part.key_length = p.problem.key_length;
  part.row = static_cast<int>(number) * Shape::kRows;
  int batch = static_cast<int>(p.heads.quotient(head)), query_begin = 0, key_begin = 0;
  part.head = static_cast<int>(head) - batch * static_cast<int>(p.heads.value);
  if (p.problem.cu_query != nullptr) {
    batch = 0;
    if (!find_segment(p.problem, static_cast<int>(number), Shape::kRows, &part, &query_begin,
                      &key_begin)) {
      return false;
    }
  }
  if (threadIdx.x % 32 != 0) return true;
  const KeyBounds bounds(p.problem, part);
  const int end = min(part.row + Shape::kRows, part.query_length);
  tile->first_block = bounds.first(part.row) / Shape::kKeys;
  tile->last_block = max(bounds.last(end - 1) / Shape::kKeys, tile->first_block);
  tile->row = part.row;
  tile->rows = part.query_length - part.row;
  tile->low = bounds.low, tile->high = bounds.high, tile->key_length = bounds.length;
  tile->query = query_begin + part.row;
  tile->key = key_begin;
  tile->batch = batch;
  tile->head = part.head;
  tile->query_head = part.head * p.query_head, tile->query_batch = batch * p.query_batch;
  head = p.heads_per_key.quotient(static_cast<std::uint32_t>(part.head));
  const int key_head = static_cast<int>(head) * p.key_head;
  const int value_head = static_cast<int>(head) * p.value_head;
  const bool packed = p.problem.cu_query != nullptr;
  tile->key_fourth = packed ? kFar : key_head;
  tile->key_fifth = packed ? key_head : batch * p.key_batch;
  tile->value_fourth = packed ? kFar : value_head;
  tile->value_fifth = packed ? value_head : batch * p.value_batch;
  return true;
}

// The number of a block of threads' tile of a round. Every other round goes backwards where the
// longest come first, so that nobody always gets the longer ones.
__device__ __forceinline__ int tile_of_round(const HopperParameters& p, int round) {
  const bool back = p.longest_first && round % 2 != 0;
  const auto own = static_cast<int>(back ? gridDim.x - 1 - blockIdx.x : blockIdx.x);
  return round * static_cast<int>(gridDim.x) + own;
}

// Where the block of keys begins that begins with `key`.
__device__ __forceinline__ void place_keys(const HopperParameters& p, const HopperTile& tile,
                                           int key, Coordinates* at) {
  at->x = key;
  if (p.problem.cu_query != nullptr) {
    at->x = kFar - max(tile.key_length - key, 0);
    at->y = tile.key + tile.key_length;
  }
}

}  // namespace mindiesd::kernels::cuda::hopper
