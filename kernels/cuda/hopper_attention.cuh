// Attention of float16 and bfloat16 for compute capability 9.0: the kernel template;
// hopper_attention.cu chooses among its instances.
//
// FlashAttention's loop over blocks of keys (arXiv 2205.14135), arranged as FlashAttention-3 does
// (arXiv 2407.08608). One warpgroup brings queries, keys and values by TMA; two or three others own
// 64 queries each and multiply by wgmma, scores and results in their registers. A multiprocessor
// keeps its block of threads for all of its tiles and goes through their key blocks without a stop:
// the first scores of a tile are begun before the previous tile's result is stored. Maxima are
// looked for only where weights would grow too large (hopper_softmax.cuh).

#pragma once

#include "kernels/cuda/hopper_groups.cuh"
#include "kernels/cuda/hopper_instances.h"

namespace mindiesd::kernels::cuda::hopper {

// A block of keys or values.
template <typename Shape, Buffer kKind>
__device__ __forceinline__ void bring_block(const HopperParameters& p, std::uint32_t memory,
                                            const Coordinates& place, int buffer) {
  constexpr int kPlace = kKind == kKey ? Shape::kKeyPlace : Shape::kValuePlace;
  const std::uint32_t barrier = full<Shape>(memory, kKind, buffer);
  arrive_and_expect(barrier, Shape::kKeyBytes);
  std::uint32_t to = memory + static_cast<std::uint32_t>(kPlace + buffer * Shape::kKeyBytes);
  Coordinates from = place;
#pragma unroll
  for (int piece = 0; piece < Shape::kPieces; ++piece) {
    load_box(to, kKind == kKey ? &p.key_map : &p.value_map, barrier, from);
    to += Shape::kKeyPiece;
    from.column += 64;
  }
}

template <typename Shape>
__device__ __forceinline__ void bring_queries(const HopperParameters& p, std::uint32_t memory,
                                              const HopperTile& tile, int buffer) {
  const std::uint32_t barrier = full<Shape>(memory, kQuery, buffer);
  arrive_and_expect(barrier, Shape::kQueryBytes);
  Coordinates from = {0, tile.query, 0, tile.query_head, tile.query_batch};
  std::uint32_t to = memory + static_cast<std::uint32_t>(buffer * Shape::kQueryBytes);
#pragma unroll
  for (int piece = 0; piece < Shape::kPieces; ++piece) {
    load_box(to, &p.query_map, barrier, from);
    to += Shape::kQueryPiece;
    from.column += 64;
  }
}

// One lane brings keys and queries, one of another warp values.
template <typename Shape, Buffer kKind>
__device__ __forceinline__ void bring_operands(const HopperParameters& p, unsigned char* shared) {
  const std::uint32_t memory = shared_place(shared);
  int blocks = 0;
  for (int n = 0;; ++n) {
    const HopperTile& tile = wait_for_tile<Shape>(shared, n);
    const int first = tile.first_block, last = tile.last_block;
    if (last < 0) return;
    Coordinates from = {0, 0, 0, kKind == kKey ? tile.key_fourth : tile.value_fourth,
                        kKind == kKey ? tile.key_fifth : tile.value_fifth};
#pragma unroll 1  // for want of registers
    for (int block = first; block <= last; ++block, ++blocks) {
      const int buffer = buffer_of<kStages>(blocks);
      place_keys<Shape>(p, tile, block * Shape::kKeys, &from);
      wait_for(empty<Shape>(memory, kKind, buffer), parity_of<kStages>(blocks) ^ 1);
      bring_block<Shape, kKind>(p, memory, from, buffer);
      if (kKind != kKey || block != first) continue;
      const int place = buffer_of<Shape::kQueryBuffers>(n);
      wait_for(empty<Shape>(memory, kQuery, place), parity_of<Shape::kQueryBuffers>(n) ^ 1);
      bring_queries<Shape>(p, memory, tile, place);
    }
    arrive(empty<Shape>(memory, kTile, buffer_of<kTiles>(n)));
  }
}

// A warp finds the tiles.
template <typename Shape>
__device__ __forceinline__ void find_tiles(const HopperParameters& p, unsigned char* shared) {
  const std::uint32_t memory = shared_place(shared);
  int n = 0;
  const auto publish = [&] {
    if (threadIdx.x % 32 == 0) arrive(full<Shape>(memory, kTile, buffer_of<kTiles>(n)));
    ++n;
    wait_for(empty<Shape>(memory, kTile, buffer_of<kTiles>(n)), parity_of<kTiles>(n) ^ 1);
  };
  for (int round = 0; round < p.rounds; ++round) {
    const int turn = p.paired ? round / 2 : round;
    const std::uint32_t unit = static_cast<std::uint32_t>(turn) * gridDim.x + blockIdx.x;
    if (locate<Shape>(p, unit, round % 2 != 0, tile_at<Shape>(shared, n))) publish();
  }
  if (threadIdx.x % 32 == 0) tile_at<Shape>(shared, n)->last_block = -1;
  publish();
}

template <typename T, typename Shape>
__global__ void __launch_bounds__(Shape::kThreads, 1)
    attention_kernel(const __grid_constant__ HopperParameters p) {
  extern __shared__ __align__(1024) unsigned char shared[];
  if (threadIdx.x == 0) {
    make_barriers<Shape>(shared_place(shared));
    prefetch_map(&p.query_map);
    prefetch_map(&p.key_map);
    prefetch_map(&p.value_map);
    if (Shape::kStoresByQueries) prefetch_map(&p.output_map);
    if (Shape::kMasking == Masking::kFull) prefetch_map(&p.mask_map);
  }
  __syncthreads();
  wait_for_previous_kernel();
  if (threadIdx.x < 128) {
    give_registers_back<Shape::kBringerRegisters>();
    if (threadIdx.x == 0) {
      bring_operands<Shape, kKey>(p, shared);
    } else if (threadIdx.x == 32) {
      bring_operands<Shape, kValue>(p, shared);
    } else if (threadIdx.x / 32 == 2) {
      find_tiles<Shape>(p, shared);
    } else if (Shape::kMasking == Masking::kRow && threadIdx.x / 32 == 3) {
      bring_mask_rows<Shape>(p, shared);
    } else if (Shape::kMasking == Masking::kFull && threadIdx.x == 96) {
      bring_masks<Shape>(p, shared);
    }
  } else {
    take_registers<Shape::kGroupRegisters>();
    compute_tiles<T, Shape>(p, shared);
  }
  allow_next_kernel();
}

template <typename T, typename Of>
Instance instance(float block_time, float ragged_time) {
  return {Of::kWidth, Of::kRows,   Of::kKeys, Of::kThreads, Of::kBytes,
          block_time, ragged_time, false,     Of::kMasking, attention_kernel<T, Of>};
}
// Those that read at most a row of a mask. The times were measured on an H200.
template <typename T, Masking kMasking>
Instances narrow_instances() {
  return {
      instance<T, Shape<48, 128, 3, 3, kMasking>>(1.22F, 1.22F),
      instance<T, Shape<64, 128, 3, 3, kMasking>>(1.35F, 1.35F),
      instance<T, Shape<64, 128, 2, 3, kMasking>>(1.10F, 1.10F),
      instance<T, Shape<80, 160, 2, 2, kMasking>>(1.47F, 2.00F),
      instance<T, Shape<80, 112, 3, 2, kMasking>>(1.50F, 1.47F),
      instance<T, Shape<96, 160, 2, 2, kMasking>>(1.50F, 1.50F),
      instance<T, Shape<128, 160, 2, 2, kMasking>>(1.84F, 1.84F),
      instance<T, Shape<128, 128, 2, kMasking == Masking::kNone ? 3 : 2, kMasking>>(1.56F, 1.56F),
      instance<T, Shape<160, 112, 2, 1, kMasking>>(1.60F, 1.60F),
      instance<T, Shape<192, 112, 2, 1, kMasking>>(1.80F, 1.80F),
      instance<T, Shape<256, 80, 2, 1, kMasking>>(1.80F, 1.80F),
  };
}

}  // namespace mindiesd::kernels::cuda::hopper
