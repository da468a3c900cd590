// The shape of an instance of the attention kernel for compute capability 9.0, where its tiles lie
// in shared memory, and the barriers that hand them over. No entry point of its own.

#pragma once

#include <cstdint>

#include "kernels/cuda/hopper_device.cuh"
#include "kernels/cuda/hopper_tiles.cuh"

namespace mindiesd::kernels::cuda::hopper {

// Tiles whose description is in memory: one that is stored, one under work, the next ones.
inline constexpr int kTiles = 4;
// Blocks of keys, and of values.
inline constexpr int kStages = 2;

// kWidth: columns of a head; kKeys: keys of a block; kGroups: warpgroups that compute 64 queries
// each; kQueryBuffers: tiles of queries in memory. Where there are several, results lie in the
// queries' place on their way out.
template <int kWidthOf, int kKeysOf, int kGroupsOf, int kQueryBuffersOf,
          Masking kMaskingOf = Masking::kNone>
struct Shape {
  static constexpr Masking kMasking = kMaskingOf;
  static constexpr int kWidth = kWidthOf, kKeys = kKeysOf, kGroups = kGroupsOf;
  static constexpr int kQueryBuffers = kQueryBuffersOf;
  static constexpr int kRows = 64 * kGroups, kThreads = 128 * (kGroups + 1);
  // Rows lie in memory in pieces of 64 columns.
  static constexpr int kPieces = (kWidth + 63) / 64;
  static constexpr int kQueryPiece = kRows * 128, kQueryBytes = kPieces * kQueryPiece;
  static constexpr int kKeyPiece = kKeys * 128, kKeyBytes = kPieces * kKeyPiece;
  static constexpr int kKeyPlace = kQueryBuffers * kQueryBytes;
  static constexpr int kValuePlace = kKeyPlace + kStages * kKeyBytes;
  // A row of a mask as float32, with a flag; or rows of at most 4 bytes a key, in pieces of 128
  // bytes. Booleans of 64 keys come as the piece that holds them.
  static constexpr int kMaskPiece = kRows * 128;
  static constexpr int kMaskPlace = kValuePlace + kStages * kKeyBytes;
  static constexpr int kMaskRow = kKeys * 4 + 16;
  static constexpr int kMaskBytes = kMasking == Masking::kNone  ? 0
                                    : kMasking == Masking::kRow ? kStages * kMaskRow
                                                                : kRows * kKeys * 4;
  static constexpr int kTilePlace = kMaskPlace + kMaskBytes;
  static constexpr int kBarrierPlace = kTilePlace + kTiles * static_cast<int>(sizeof(HopperTile));
  static constexpr int kBytes = kBarrierPlace + 5 * 64;
  static constexpr bool kStoresByQueries = kQueryBuffers > 1;
  // All together the 64 Ki registers of a multiprocessor.
  static constexpr int kBringerRegisters = kGroups == 2 ? 40 : 32;
  static constexpr int kGroupRegisters = kGroups == 2 ? 232 : 160;
  static_assert(kWidth % 16 == 0 && kKeys % 16 == 0 && (kGroups == 2 || kGroups == 3));
  static_assert(kMasking != Masking::kFull || kKeys == 128 || kKeys == 64);  // whole pieces
  static_assert(kQueryBuffers <= 3 && kBytes <= 227 * 1024);
};

enum Buffer { kQuery = 0, kKey = 1, kValue = 2, kTile = 3, kMask = 4 };

// The buffer of the n-th tile or block, and the parity of how often it was used before.
template <int kBuffers>
__device__ __forceinline__ int buffer_of(int n) {
  return static_cast<int>(static_cast<unsigned>(n) % kBuffers);
}
template <int kBuffers>
__device__ __forceinline__ std::uint32_t parity_of(int n) {
  return static_cast<unsigned>(n) / kBuffers % 2;
}

// The barrier that a buffer's arrival completes, and the one that its last use completes.
template <typename Shape>
__device__ __forceinline__ std::uint32_t full(std::uint32_t memory, Buffer kind, int buffer) {
  return memory + static_cast<std::uint32_t>(Shape::kBarrierPlace + kind * 64 + buffer * 16);
}
template <typename Shape>
__device__ __forceinline__ std::uint32_t empty(std::uint32_t memory, Buffer kind, int buffer) {
  return full<Shape>(memory, kind, buffer) + 8;
}

template <typename Shape>
__device__ __forceinline__ void make_barriers(std::uint32_t memory) {
  constexpr int kWarps = 4 * Shape::kGroups;
  for (int buffer = 0; buffer < 4; ++buffer) {
    for (const Buffer kind : {kQuery, kKey, kValue, kTile, kMask}) {
      // Tiles are read by the warps that bring operands and masks, too; queries are given back by
      // every warp, or by the thread of a group that stores results from their place.
      int users = kWarps;
      if (kind == kTile) users += Shape::kMasking == Masking::kNone ? 2 : 3;
      if (kind == kQuery && Shape::kStoresByQueries) users = Shape::kGroups;
      if (kind == kMask && Shape::kMasking == Masking::kRow) users *= 32;
      // The row of a mask is written by a warp, of which every lane arrives.
      const int writers = kind == kMask && Shape::kMasking == Masking::kRow ? 32 : 1;
      make_barrier(full<Shape>(memory, kind, buffer), writers);
      make_barrier(empty<Shape>(memory, kind, buffer), users);
    }
  }
  publish_barriers();
}

// One arrival a warp, when all its lanes are done.
template <typename Shape>
__device__ __forceinline__ void release(std::uint32_t memory, Buffer kind, int buffer) {
  if (threadIdx.x % 32 == 0) arrive(empty<Shape>(memory, kind, buffer));
}

template <typename Shape>
__device__ __forceinline__ HopperTile* tile_at(unsigned char* shared, int n) {
  return reinterpret_cast<HopperTile*>(shared + Shape::kTilePlace) + buffer_of<kTiles>(n);
}
// The n-th tile, once it is there; last_block < 0: there are no more tiles.
template <typename Shape>
__device__ __forceinline__ const HopperTile& wait_for_tile(unsigned char* shared, int n) {
  wait_for(full<Shape>(shared_place(shared), kTile, buffer_of<kTiles>(n)), parity_of<kTiles>(n));
  return *tile_at<Shape>(shared, n);
}

}  // namespace mindiesd::kernels::cuda::hopper
