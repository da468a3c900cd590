// The warpgroups that compute attention on compute capability 9.0. Entry point: compute_tiles.
//
// A group goes through the key blocks of one tile after the other. For block j it begins the scores
// of j and the results of j - 1, waits for both and weighs the scores. The groups take turns to
// begin products, so that those of the others run while one weighs. The result of a finished tile
// is stored while the scores of the next tile's second block are computed: through the place of its
// queries, where the next ones have another one.

#pragma once

#include "kernels/cuda/hopper_masks.cuh"
#include "kernels/cuda/hopper_products.cuh"
#include "kernels/cuda/hopper_shape.cuh"
#include "kernels/cuda/hopper_softmax.cuh"

namespace mindiesd::kernels::cuda::hopper {

// The turns of the groups to begin products: named barriers 1 to kGroups.
template <int kGroups>
struct Turns {
  int own;

  __device__ __forceinline__ explicit Turns(int group) : own(group) {
    if (group == kGroups - 1) named_barrier_arrive<256>(1);
  }
  __device__ __forceinline__ void wait() const { named_barrier_wait<256>(1 + own); }
  __device__ __forceinline__ void pass() const {
    named_barrier_arrive<256>(own == kGroups - 1 ? 1 : 2 + own);
  }
  // The first group's turn after the last one, which nobody takes.
  __device__ __forceinline__ void finish() const {
    if (own == 0) wait();
  }
};

// The state of a group, and the parts of its work. Products are begun and finished in different
// functions; between them nobody may touch their registers.
template <typename T, typename Shape>
struct Group {
  static constexpr int kKeys = Shape::kKeys, kWidth = Shape::kWidth;

  const HopperParameters& p;
  unsigned char* const shared;
  const std::uint32_t memory;
  const int group;
  const Turns<Shape::kGroups> turns;

  int tile = 0, block = 0;  // of the scores
  int blocks = 0;           // whose scores became weights
  int row, last_block;      // of the tile
  KeyBounds bounds;
  float scores[kKeys / 2], sums[kWidth / 2];
  std::uint32_t weights[kKeys / 4];
  Softmax<Shape::kMasking == Masking::kNone> softmax;
  bool accumulate = false;  // the weights are not their tile's first
  // Of a tile whose sums are complete: its number, and its rows' totals. Else what sums are to be
  // multiplied by.
  bool finished = false;
  int finished_tile = 0;
  float by[2];

  __device__ __forceinline__ Group(const HopperParameters& parameters, unsigned char* place,
                                   int number)
      : p(parameters), shared(place), memory(shared_place(place)), group(number), turns(number) {}

  __device__ __forceinline__ void run() {
    if (begin_tile(0)) {
      wait_for_keys();
      begin_scores(0, 0);
      wait_for_products<0>();
      take_scores(true);
      make_weights(true);
      finished = false;  // there is no tile before it
      while (step()) continue;
      finish();
    }
    turns.finish();
  }

 private:
  // Goes on to the next block: its scores become weights while the weights that there are meet
  // their values. False: there are no more scores.
  __device__ __forceinline__ bool step() {
    const bool first = block == last_block;  // of the next tile
    ++block;
    if (first) {
      // With two places for queries the tile after the next has none until this is done.
      if (Shape::kQueryBuffers == 2 && finished) {
        store();
        give_queries_back(finished_tile);
        finished = false;
      }
      if (!begin_tile(tile + 1)) return false;
    }
    wait_for_keys();
    const int buffers =
        uniform(buffer_of<Shape::kQueryBuffers>(tile) * 2 + buffer_of<kStages>(blocks));
    turns.wait();
    begin_scores(buffers / 2, buffers % 2);
    const bool stores = finished;
    const int stored = finished_tile;
    if (stores) {
      turns.pass();
      store();
    }
    wait_for_values();
    begin_results(1 - buffers % 2);
    if (!stores) turns.pass();
    wait_for_products<1>();
    take_scores(first);
    wait_for_products<0>();
    take_results();
    if (stores) give_queries_back(stored);
    make_weights(first);
    return true;
  }
  // The results of the last weights.
  __device__ __forceinline__ void finish() {
    if (finished) store();
    wait_for_values();
    begin_results(uniform(buffer_of<kStages>(blocks - 1)));
    wait_for_products<0>();
    take_results();
    finished_tile = tile;
    by[0] = softmax.total[0], by[1] = softmax.total[1];
    store_logarithms();
    store();
    give_queries_back(finished_tile);
  }

  // Goes on to tile n; false: there is none.
  __device__ __forceinline__ bool begin_tile(int n) {
    const HopperTile& at = wait_for_tile<Shape>(shared, n);
    last_block = at.last_block;
    if (last_block < 0) return false;
    tile = n;
    row = at.row;
    block = at.first_block;
    bounds.low = at.low, bounds.high = at.high, bounds.length = at.key_length;
    wait_for(full<Shape>(memory, kQuery, buffer_of<Shape::kQueryBuffers>(n)),
             parity_of<Shape::kQueryBuffers>(n));
    return true;
  }
  __device__ __forceinline__ void wait_for_keys() const {
    wait_for(full<Shape>(memory, kKey, buffer_of<kStages>(blocks)), parity_of<kStages>(blocks));
  }
  __device__ __forceinline__ void wait_for_values() const {
    wait_for(full<Shape>(memory, kValue, buffer_of<kStages>(blocks - 1)),
             parity_of<kStages>(blocks - 1));
  }

  __device__ __forceinline__ void begin_scores(int query_buffer, int key_buffer) {
    const int query = query_buffer * Shape::kQueryBytes + group * 64 * 128;
    const int key = Shape::kKeyPlace + key_buffer * Shape::kKeyBytes;
    const std::uint64_t a = matrix(memory + static_cast<std::uint32_t>(query), 0);
    const std::uint64_t b = matrix(memory + static_cast<std::uint32_t>(key), 0);
    begin_products();
#pragma unroll
    for (int step = 0; step < kWidth / 16; ++step) {
      Product<kKeys>::template shared<T>(
          scores, advanced(a, step / 4 * Shape::kQueryPiece + step % 4 * 32),
          advanced(b, step / 4 * Shape::kKeyPiece + step % 4 * 32), step > 0 ? 1 : 0);
    }
    end_products();
  }
  __device__ __forceinline__ void begin_results(int value_buffer) {
    const int value = Shape::kValuePlace + value_buffer * Shape::kKeyBytes;
    const std::uint64_t b = matrix(memory + static_cast<std::uint32_t>(value), Shape::kKeyPiece);
    begin_products();
#pragma unroll
    for (int step = 0; step < kKeys / 16; ++step) {
      Product<kWidth>::template registers<T>(sums, weights + 4 * step, advanced(b, step * 2048),
                                             step > 0 || accumulate ? 1 : 0);
    }
    end_products();
  }

  // The scores of the block are complete: its keys go back. `first`: they are a tile's first, and
  // the results that are under way finish the tile before it.
  __device__ __forceinline__ void take_scores(bool first) {
    pin(scores);
    release<Shape>(memory, kKey, buffer_of<kStages>(blocks));
    if (!Shape::kStoresByQueries && block == last_block) {
      release<Shape>(memory, kQuery, buffer_of<Shape::kQueryBuffers>(tile));
    }
    if constexpr (Shape::kMasking != Masking::kNone) mask_scores();
    const int first_row = row + group * 64, key = block * kKeys;
    if (key < bounds.first(first_row + 63) || key + kKeys - 1 > bounds.last(first_row)) {
      hide(scores, bounds, row + own_row(), key + static_cast<int>(threadIdx.x % 4) * 2);
    }
    if (first) {
      by[0] = softmax.total[0], by[1] = softmax.total[1];
      finished_tile = tile - 1;
      if (tile > 0) store_logarithms();
      softmax.restart();
    }
    finished = first;
  }
  // The results of the block before are complete.
  __device__ __forceinline__ void take_results() {
    pin(sums);
    pin(weights);
    release<Shape>(memory, kValue, buffer_of<kStages>(blocks - 1));
  }
  __device__ __forceinline__ void make_weights(bool first) {
    const bool grew = softmax.template update<T>(scores, p.factor, first, weights, by);
    if (grew && !first) {
#pragma unroll
      for (int i = 0; i < kWidth / 2; ++i) sums[i] *= by[i / 2 % 2];
    }
    accumulate = !first;
    ++blocks;
  }
  __device__ __forceinline__ void mask_scores() {
    const int buffer = mask_buffer<Shape>(p, blocks);
    wait_for(full<Shape>(memory, kMask, buffer), mask_parity<Shape>(p, blocks));
    const DataType type = p.problem.mask_type;
    if constexpr (Shape::kMasking == Masking::kRow) {
      const auto* const values =
          reinterpret_cast<const float*>(shared + Shape::kMaskPlace + buffer * Shape::kMaskRow);
      if (values[kKeys] != 0.0F) {
        apply_mask_row(scores, values + threadIdx.x % 4 * 2, type == DataType::kBool, p.scale);
      }
    } else {
      const int bytes = mask_pieces<Shape>(type) * Shape::kMaskPiece;
      apply_mask<Shape>(scores, shared + Shape::kMaskPlace + buffer * bytes + own_row() * 128,
                        block, type, p.scale);
    }
    if constexpr (Shape::kMasking == Masking::kRow) {
      arrive(empty<Shape>(memory, kMask, buffer));
    } else {
      __syncwarp();
      release<Shape>(memory, kMask, buffer);
    }
  }
  __device__ __forceinline__ void store() {
    const HopperTile& at = *tile_at<Shape>(shared, finished_tile);
    if constexpr (Shape::kStoresByQueries) {
      const int buffer = buffer_of<Shape::kQueryBuffers>(finished_tile);
      const std::uint32_t place =
          memory + static_cast<std::uint32_t>(buffer * Shape::kQueryBytes + group * 64 * 128);
      write_rows<T, Shape::kQueryPiece>(place, sums, by);
      publish_writes();
      named_barrier_wait<128>(1 + Shape::kGroups + group);
      if (threadIdx.x % 128 == 0) {
        Coordinates to = place_rows<Shape>(p, at, group * 64);
#pragma unroll
        for (int piece = 0; piece < Shape::kPieces; ++piece) {
          store_box(&p.output_map, place + static_cast<std::uint32_t>(piece * Shape::kQueryPiece),
                    to);
          to.column += 64;
        }
        commit_stores();
      }
    } else {
      store_rows<T>(p, at, own_row(), sums, by);
    }
    __syncwarp();
    release<Shape>(memory, kTile, buffer_of<kTiles>(finished_tile));
  }
  // Of the tile that is finished, whose softmax is still there.
  __device__ __forceinline__ void store_logarithms() const {
    if (p.problem.lse == nullptr) return;
    const HopperTile& at = *tile_at<Shape>(shared, finished_tile);
    const std::int64_t* const strides = p.problem.lse_strides;
    softmax.store_logarithms(p.factor, at.rows - own_row(),
                             p.problem.lse + at.batch * strides[0] + at.head * strides[1] +
                                 (at.query + own_row()) * strides[2],
                             strides[2]);
  }
  // When a tile's results have left the place of its queries.
  __device__ __forceinline__ void give_queries_back(int of_tile) {
    if (Shape::kStoresByQueries && threadIdx.x % 128 == 0) {
      wait_for_stores();
      arrive(empty<Shape>(memory, kQuery, buffer_of<Shape::kQueryBuffers>(of_tile)));
    }
  }
  // The thread's first row in the tile.
  __device__ __forceinline__ int own_row() const {
    const int lane = static_cast<int>(threadIdx.x % 32);
    return static_cast<int>(threadIdx.x / 32 - 4) * 16 + lane / 4;
  }
};

template <typename T, typename Shape>
__device__ __forceinline__ void compute_tiles(const HopperParameters& p, unsigned char* shared) {
  Group<T, Shape>(p, shared, uniform(static_cast<int>(threadIdx.x / 128)) - 1).run();
}

}  // namespace mindiesd::kernels::cuda::hopper
