// Attention of float16 and bfloat16 for compute capability 9.0 with heads of more than 256 values,
// as the middle of an autoencoder has them, and with fewer tiles than the device computes at once,
// as decoding has them: the kernel template; hopper_attention.cu chooses among its instances.
//
// A block of threads computes 64 queries. Two warpgroups hold half of the columns of the results
// each, and each computes the scores of half of the keys, so that no score is computed twice: the
// maxima of rows and the weights go from one group to the other through shared memory. Keys and
// values come in pieces of at most 16 KiB, through one ring: a block's keys by groups of 64
// columns, then its values by groups of 16 to 64 keys.
//
// Where tiles are too few for the device, the blocks of a cluster take a part of the keys each, and
// each puts together a part of the columns, read from the shared memory of all.

#pragma once

#include "kernels/cuda/hopper_cluster.cuh"
#include "kernels/cuda/hopper_instances.h"
#include "kernels/cuda/hopper_masks.cuh"
#include "kernels/cuda/hopper_products.cuh"
#include "kernels/cuda/hopper_softmax.cuh"

namespace mindiesd::kernels::cuda::hopper {

// Masking::kFull: any mask, of one row too.
template <int kWidthOf, Masking kMaskingOf>
struct WideShape {
  static constexpr Masking kMasking = kMaskingOf;
  static constexpr bool kPlain = kMasking == Masking::kNone;
  static constexpr int kWidth = kWidthOf, kRows = kWideRows, kKeys = kWideKeys, kThreads = 384;
  static constexpr int kColumns = kWidth / 2;  // of a group's results
  static constexpr int kPieces = kWidth / 64;
  static constexpr int kQueryPiece = kRows * 128, kQueryBytes = kPieces * kQueryPiece;
  // The ring: pieces of keys, and of values.
  static constexpr int kSlots = 8, kSlotBytes = 16 * 1024;
  static constexpr int kValueRows = wide_value_rows(kWidth), kValuePieces = kKeys / kValueRows;
  static constexpr int kKeyBytes = kKeys * 128, kValueBytes = kValueRows * kWidth * 2;
  static constexpr int kValuePiece = kValueRows * 128;  // of 64 columns
  static constexpr int kRingPlace = kQueryBytes;
  // Weights in two pieces of 64 keys.
  static constexpr int kWeightPiece = kRows * 128;
  static constexpr int kWeightPlace = kRingPlace + kSlots * kSlotBytes;
  // In the end the sums as float32, in the place of ring and weights; `kPitch` values lie from one
  // row to the next, so that the rows of a warp meet different banks.
  static constexpr int kPitch = kWidth + 8;
  static constexpr int kSumPlace = kRingPlace;
  static constexpr int kMaximaPlace = kWeightPlace + 2 * kWeightPiece;  // [group][row]
  static constexpr int kTotalPlace = kMaximaPlace + 2 * kRows * 4;      // [group][row]
  static constexpr int kTilePlace = kTotalPlace + 2 * kRows * 4;
  static constexpr int kBarrierPlace = kTilePlace + static_cast<int>(sizeof(HopperTile));
  static constexpr int kBytes = kBarrierPlace + 16 + kSlots * 16;
  static_assert(kWidth % 128 == 0 && kValueBytes <= kSlotBytes && kKeyBytes <= kSlotBytes);
  static_assert(kSumPlace + kRows * kPitch * 4 <= kMaximaPlace && kBytes <= 227 * 1024);
};

// The barriers of the queries, and of a slot of the ring: its arrival, and its last use.
template <typename Shape>
__device__ __forceinline__ std::uint32_t queries_full(std::uint32_t memory) {
  return memory + static_cast<std::uint32_t>(Shape::kBarrierPlace);
}
template <typename Shape>
__device__ __forceinline__ std::uint32_t slot_full(std::uint32_t memory, int slot) {
  return memory + static_cast<std::uint32_t>(Shape::kBarrierPlace + 16 + slot * 16);
}
template <typename Shape>
__device__ __forceinline__ std::uint32_t slot_empty(std::uint32_t memory, int slot) {
  return slot_full<Shape>(memory, slot) + 8;
}
template <typename Shape>
__device__ __forceinline__ int slot_of(int piece) {
  return static_cast<int>(static_cast<unsigned>(piece) % Shape::kSlots);
}
template <typename Shape>
__device__ __forceinline__ std::uint32_t turn_of(int piece) {
  return static_cast<unsigned>(piece) / Shape::kSlots % 2;
}

// The blocks of keys of a tile that this block of its cluster computes; the last one may come
// before the first.
struct BlockRange {
  int first, last;

  __device__ __forceinline__ explicit BlockRange(const HopperTile& tile) {
    const int parts = blocks_of_cluster(), count = tile.last_block - tile.first_block + 1;
    const int part = (count + parts - 1) / parts;
    first = tile.first_block + rank_in_cluster() * part;
    last = min(first + part - 1, tile.last_block);
  }
};

// By one lane.
template <typename Shape>
__device__ __forceinline__ void bring_wide_operands(const HopperParameters& p, std::uint32_t memory,
                                                    const HopperTile& tile,
                                                    const BlockRange& blocks) {
  const std::uint32_t queries = queries_full<Shape>(memory);
  arrive_and_expect(queries, Shape::kQueryBytes);
#pragma unroll 1
  for (int i = 0; i < Shape::kPieces; ++i) {
    load_box(memory + static_cast<std::uint32_t>(i * Shape::kQueryPiece), &p.query_map, queries,
             {i * 64, tile.query, 0, tile.query_head, tile.query_batch});
  }
  int piece = 0;
  // Waits for a place for so many bytes, and says where it is.
  std::uint32_t arrival = 0;
  const auto place = [&](int bytes) {
    const int slot = slot_of<Shape>(piece);
    wait_for(slot_empty<Shape>(memory, slot), turn_of<Shape>(piece) ^ 1);
    arrival = slot_full<Shape>(memory, slot);
    arrive_and_expect(arrival, bytes);
    ++piece;
    return memory + static_cast<std::uint32_t>(Shape::kRingPlace + slot * Shape::kSlotBytes);
  };
#pragma unroll 1
  for (int block = blocks.first; block <= blocks.last; ++block) {
    const int key = block * Shape::kKeys;
#pragma unroll 1
    for (int i = 0; i < Shape::kPieces; ++i) {
      const std::uint32_t to = place(Shape::kKeyBytes);
      load_box(to, &p.key_map, arrival, {i * 64, key, 0, tile.key_fourth, tile.key_fifth});
    }
#pragma unroll 1
    for (int i = 0; i < Shape::kValuePieces; ++i) {
      std::uint32_t to = place(Shape::kValueBytes);
      Coordinates from = {0, key + i * Shape::kValueRows, 0, tile.value_fourth, tile.value_fifth};
      if (p.value_pieces) {
        load_box(to, &p.value_map, arrival, from);
        continue;
      }
#pragma unroll 1
      for (; from.column < Shape::kWidth; from.column += 64, to += Shape::kValuePiece) {
        load_box(to, &p.value_map, arrival, from);
      }
    }
  }
}

// One of the two groups that compute.
template <typename T, typename Shape>
struct WideGroup {
  const HopperParameters& p;
  unsigned char* const shared;
  const std::uint32_t memory;
  const int group, row;  // the thread's first row in the tile; the other one is 8 below

  int piece = 0;  // of the ring, the next one
  float scores[Shape::kKeys / 4], sums[Shape::kColumns / 2];
  // What rows' scores are weighed by: the maximum once, and not far from it later; as the one of
  // Softmax, it is multiplied by the factor where there is no mask. Both groups have the same. And
  // the totals of the weights that this thread made.
  float base[2], total[2];

  __device__ __forceinline__ WideGroup(const HopperParameters& parameters, unsigned char* place,
                                       int number)
      : p(parameters),
        shared(place),
        memory(shared_place(place)),
        group(number),
        row(static_cast<int>(threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4)) {
    base[0] = base[1] = kMinusInfinity;
    total[0] = total[1] = 0.0F;
#pragma unroll
    for (float& sum : sums) sum = 0.0F;
  }

  __device__ __forceinline__ void run(const HopperTile& tile, const BlockRange& blocks) {
    KeyBounds bounds;
    bounds.low = tile.low, bounds.high = tile.high, bounds.length = tile.key_length;
    const std::int64_t mask_begin =
        tile.batch * p.problem.mask_strides[0] + tile.head * p.problem.mask_strides[1];
    wait_for(queries_full<Shape>(memory), 0);
#pragma unroll 1
    for (int block = blocks.first; block <= blocks.last; ++block) {
      const int key = block * Shape::kKeys + group * (Shape::kKeys / 2);
      if constexpr (Shape::kPlain) {
        multiply_scores();
      } else {
        std::uint32_t mask[Shape::kKeys / 4];  // read before the products, which take longer
        read_words(p.problem, mask_begin,
                   ScorePlace{tile.row + row, tile.rows - row, key + column()}, mask);
        multiply_scores();
        pin(mask);
        apply_words(scores, mask, p.problem.mask_type, p.scale);
      }
      if (key < bounds.first(tile.row + Shape::kRows - 1) ||
          key + Shape::kKeys / 2 - 1 > bounds.last(tile.row)) {
        hide(scores, bounds, tile.row + row, key + column());
      }
      weigh();
      multiply_values();
    }
    leave_sums();
  }

 private:
  // Waits for the next piece and says where it lies.
  __device__ __forceinline__ std::uint32_t take() {
    const int slot = uniform(slot_of<Shape>(piece));
    wait_for(slot_full<Shape>(memory, slot), turn_of<Shape>(piece));
    ++piece;
    return memory + static_cast<std::uint32_t>(Shape::kRingPlace + slot * Shape::kSlotBytes);
  }
  // The piece `back` before the next one is not needed any more.
  __device__ __forceinline__ void give_back(int back) const {
    __syncwarp();
    if (threadIdx.x % 32 == 0) arrive(slot_empty<Shape>(memory, slot_of<Shape>(piece - back)));
  }

  // The scores of the tile's queries and the group's half of a block's keys.
  __device__ __forceinline__ void multiply_scores() {
    const std::uint64_t queries = matrix(memory, 0);
#pragma unroll
    for (int i = 0; i < Shape::kPieces; ++i) {
      const std::uint32_t half = static_cast<std::uint32_t>(group) * (Shape::kKeyBytes / 2);
      const std::uint64_t keys = matrix(take() + half, 0);
      begin_products();
#pragma unroll
      for (int step = 0; step < 4; ++step) {
        Product<Shape::kKeys / 2>::template shared<T>(
            scores, advanced(queries, i * Shape::kQueryPiece + step * 32),
            advanced(keys, step * 32), i + step > 0 ? 1 : 0);
      }
      end_products();
      if (i == 0) continue;
      wait_for_products<1>();
      give_back(2);
    }
    wait_for_products<0>();
    pin(scores);
    give_back(1);
  }

  // Of the thread's first score.
  __device__ __forceinline__ int column() const { return static_cast<int>(threadIdx.x % 4) * 2; }
  // Makes weights of the scores and shows them to the other group.
  __device__ __forceinline__ void weigh() {
    auto* const maxima = reinterpret_cast<float*>(shared + Shape::kMaximaPlace);
    float high[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      // A NaN need not be kept here: it reaches the sum.
      float most = kMinusInfinity;
#pragma unroll
      for (int n = 0; n < Shape::kKeys / 16; ++n) {
        most = fmaxf(most, fmaxf(scores[4 * n + 2 * half], scores[4 * n + 2 * half + 1]));
      }
      most = fmaxf(most, __shfl_xor_sync(0xffffffffU, most, 1));
      most = fmaxf(most, __shfl_xor_sync(0xffffffffU, most, 2));
      if (threadIdx.x % 4 == 0) maxima[group * Shape::kRows + row + 8 * half] = most;
      high[half] = most;
    }
    named_barrier_wait<256>(1);
    constexpr float kMost = 8.0F;  // weights of up to 2^8
    float shrink[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float other = maxima[(1 - group) * Shape::kRows + row + 8 * half];
      const float now = fmaxf(high[half], other) * (Shape::kPlain ? p.factor : 1.0F);
      const float change = (now - base[half]) * (Shape::kPlain ? 1.0F : p.factor);
      shrink[half] = 1.0F;
      if (change > kMost) {
        shrink[half] = exp2_fast(-change);
        total[half] *= shrink[half];
        base[half] = now;
      }
      write_weights(half);
    }
    if (__any_sync(0xffffffffU, shrink[0] != 1.0F || shrink[1] != 1.0F) != 0) {
#pragma unroll
      for (int i = 0; i < Shape::kColumns / 2; ++i) sums[i] *= shrink[i / 2 % 2];
    }
    publish_writes();
    named_barrier_wait<256>(1);
  }
  __device__ __forceinline__ void write_weights(int half) {
    const float from = base[half] == kMinusInfinity ? 0.0F : base[half];
    const auto swizzle = static_cast<unsigned>(row % 8);
    unsigned char* const place = shared + Shape::kWeightPlace + group * Shape::kWeightPiece +
                                 (row + 8 * half) * 128 + threadIdx.x % 4 * 4;
    float even = 0.0F, odd = 0.0F;
#pragma unroll
    for (unsigned n = 0; n < Shape::kKeys / 16; ++n) {
      const float* const pair = scores + 4 * n + 2 * half;
      const float a =
          exp2_fast(Shape::kPlain ? fmaf(pair[0], p.factor, -from) : (pair[0] - from) * p.factor);
      const float b =
          exp2_fast(Shape::kPlain ? fmaf(pair[1], p.factor, -from) : (pair[1] - from) * p.factor);
      even += a;
      odd += b;
      *reinterpret_cast<std::uint32_t*>(place + ((n ^ swizzle) << 4)) = pack_word<T>(a, b);
    }
    total[half] += even + odd;
  }

  // Adds the weighed values, in the group's columns.
  __device__ __forceinline__ void multiply_values() {
    const std::uint64_t weights = matrix(memory + Shape::kWeightPlace, 0);
#pragma unroll
    for (int i = 0; i < Shape::kValuePieces; ++i) {
      const std::uint32_t half = static_cast<std::uint32_t>(group) * (Shape::kValueBytes / 2);
      static_assert(Shape::kColumns % 64 == 0 && Shape::kValueRows % 16 == 0);
      const std::uint64_t values = matrix(take() + half, Shape::kValuePiece);
      begin_products();
#pragma unroll
      for (int step = 0; step < Shape::kValueRows / 16; ++step) {
        const int at = i * (Shape::kValueRows / 16) + step;  // of 16 weights
        Product<Shape::kColumns>::template rows<T>(
            sums, advanced(weights, at / 4 * Shape::kWeightPiece + at % 4 * 32),
            advanced(values, step * 16 * 128), 1);
      }
      end_products();
      if (i == 0) continue;
      wait_for_products<1>();
      give_back(2);
    }
    wait_for_products<0>();
    pin(sums);
    give_back(1);
  }

  // Puts sums, bases and totals where combine_parts reads them.
  __device__ __forceinline__ void leave_sums() {
    named_barrier_wait<256>(1);  // the other group has read the last values
    auto* const maxima = reinterpret_cast<float*>(shared + Shape::kMaximaPlace);
    auto* const totals = reinterpret_cast<float*>(shared + Shape::kTotalPlace);
    auto* const to = reinterpret_cast<float*>(shared + Shape::kSumPlace);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int at = row + 8 * half;
      float all = total[half];
      all += __shfl_xor_sync(0xffffffffU, all, 1);
      all += __shfl_xor_sync(0xffffffffU, all, 2);
      if (threadIdx.x % 4 == 0) {
        totals[group * Shape::kRows + at] = all;
        maxima[group * Shape::kRows + at] = base[half];
      }
      float* const line = to + at * Shape::kPitch + group * Shape::kColumns + threadIdx.x % 4 * 2;
#pragma unroll
      for (int n = 0; n < Shape::kColumns / 8; ++n) {
        *reinterpret_cast<float2*>(line + 8 * n) =
            make_float2(sums[4 * n + 2 * half], sums[4 * n + 2 * half + 1]);
      }
    }
  }
};

// Stores the block's part of the columns, of what all blocks of the cluster have left. By the 256
// threads that have computed.
template <typename T, typename Shape>
__device__ __forceinline__ void combine_parts(const HopperParameters& p, const HopperTile& tile,
                                              std::uint32_t memory) {
  const int parts = blocks_of_cluster(), thread = static_cast<int>(threadIdx.x) - 128;
  const int chunks = Shape::kWidth / 8 / parts;  // of 8 columns
  const std::int64_t* const strides = p.problem.output_strides;
  T* const output = static_cast<T*>(p.problem.output) + tile.batch * strides[0] +
                    tile.head * strides[1] + tile.row * strides[2];
#pragma unroll 1
  for (int i = thread; i < Shape::kRows * chunks; i += 256) {
    const int row = i / chunks, column = (rank_in_cluster() * chunks + i % chunks) * 8;
    if (row >= tile.rows || column >= p.problem.value_dim) continue;
    const auto place = [&](int of, int part) {
      return place_in_cluster(memory + static_cast<std::uint32_t>(of), part);
    };
    float base = kMinusInfinity;
    for (int part = 0; part < parts; ++part) {
      base = fmaxf(base, read_cluster(place(Shape::kMaximaPlace + row * 4, part)));
    }
    float total = 0.0F, sums[8] = {};
    for (int part = 0; part < parts; ++part) {
      const float own = read_cluster(place(Shape::kMaximaPlace + row * 4, part));
      const float by = own == kMinusInfinity
                           ? 0.0F
                           : exp2_fast((own - base) * (Shape::kPlain ? 1.0F : p.factor));
      const int at = Shape::kTotalPlace + row * 4;
      total +=
          by * (read_cluster(place(at, part)) + read_cluster(place(at + Shape::kRows * 4, part)));
      const int sum = Shape::kSumPlace + (row * Shape::kPitch + column) * 4;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float4 four = read_cluster_four(place(sum + half * 16, part));
        sums[4 * half] += by * four.x;
        sums[4 * half + 1] += by * four.y;
        sums[4 * half + 2] += by * four.z;
        sums[4 * half + 3] += by * four.w;
      }
    }
    if (p.problem.lse != nullptr && column == 0) {
      const std::int64_t* const to = p.problem.lse_strides;
      p.problem.lse[tile.batch * to[0] + tile.head * to[1] + (tile.row + row) * to[2]] =
          log_of_sum(base, Shape::kPlain ? kLn2 : p.factor * kLn2, total);
    }
    const float inverse = total == 0.0F ? 0.0F : reciprocal_fast(total);
    *reinterpret_cast<uint4*>(output + row * strides[2] + column) =
        make_uint4(result_word<T>(sums, inverse), result_word<T>(sums + 2, inverse),
                   result_word<T>(sums + 4, inverse), result_word<T>(sums + 6, inverse));
  }
}

template <typename T, typename Shape>
__global__ void __launch_bounds__(Shape::kThreads, 1)
    wide_kernel(const __grid_constant__ HopperParameters p) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const std::uint32_t memory = shared_place(shared);
  auto* const tile = reinterpret_cast<HopperTile*>(shared + Shape::kTilePlace);
  if (threadIdx.x == 0) {
    make_barrier(queries_full<Shape>(memory), 1);
    for (int slot = 0; slot < Shape::kSlots; ++slot) {
      make_barrier(slot_full<Shape>(memory, slot), 1);
      make_barrier(slot_empty<Shape>(memory, slot), 8);  // the warps that compute
    }
    publish_barriers();
    prefetch_map(&p.query_map);
    prefetch_map(&p.key_map);
    prefetch_map(&p.value_map);
  }
  if (threadIdx.x < 32) {
    locate<Shape>(p, blockIdx.x / static_cast<unsigned>(blocks_of_cluster()), false, tile);
  }
  __syncthreads();
  wait_for_previous_kernel();
  const BlockRange blocks(*tile);
  if (threadIdx.x < 128) {
    give_registers_back<40>();
    if (threadIdx.x == 0) bring_wide_operands<Shape>(p, memory, *tile, blocks);
    __syncwarp();
    join_cluster();
  } else {
    take_registers<232>();
    WideGroup<T, Shape>(p, shared, uniform(static_cast<int>(threadIdx.x / 128)) - 1)
        .run(*tile, blocks);
    join_cluster();
    combine_parts<T, Shape>(p, *tile, memory);
  }
  join_cluster();  // nobody leaves while its memory is read
  allow_next_kernel();
}

// The times were measured on an H200.
template <typename T, int kWidth, Masking kMasking>
Instance wide_instance(float block_time) {
  using Of = WideShape<kWidth, kMasking>;
  return {Of::kWidth, Of::kRows,  Of::kKeys, Of::kThreads, Of::kBytes,
          block_time, block_time, true,      kMasking,     wide_kernel<T, Of>};
}
template <typename T>
Instances wide_instances() {
  return {
      wide_instance<T, 128, Masking::kNone>(1.45F), wide_instance<T, 128, Masking::kFull>(4.0F),
      wide_instance<T, 256, Masking::kNone>(2.1F),  wide_instance<T, 256, Masking::kFull>(5.0F),
      wide_instance<T, 384, Masking::kNone>(2.7F),  wide_instance<T, 384, Masking::kFull>(5.0F),
      wide_instance<T, 512, Masking::kNone>(3.3F),  wide_instance<T, 512, Masking::kFull>(5.2F),
  };
}

}  // namespace mindiesd::kernels::cuda::hopper
