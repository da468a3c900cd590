// The rotation of each row, mostly after its RMSNorm, of query and key where a row's vectors are no
// power of two (widths 72, 80 and 96) and the heads of a token lie side by side; of either alone,
// too. Instances: rotary_*.cu through rotary_staged_kernel_for; the choice: rotary_staged.cu. For
// compute capability 9.0 on.
//
// Blocks stay and go through tiles of a few tokens of both operands, which need not have the same
// number of heads. One warp has the copy engine fetch tiles and their tables ahead into shared
// memory; the others sum the squares there, rotate in place, each thread the same columns of four
// rows, and have the engine write the tile back. So nothing is read or written in pieces of a
// sector, no thread idles because 9 is not 16, and threads spend no instructions on global memory.
// Traffic per element: input once, output once, tables once.

#pragma once

#include "kernels/cuda/rotary.cuh"

namespace mindiesd::kernels::cuda {

constexpr int kStagedRows = 4;     // that a thread rotates, of one token and operand
constexpr int kStagedStages = 12;  // tiles in a block at once, at most
constexpr int kStagedBlocks = 3;   // of a multiprocessor
// Of a block: a third of what 9.0 has, but for what is reserved and the barriers.
constexpr std::size_t kStagedBytes = 75 * 1024 - 256;
constexpr int kStagedThreads = 224;  // that rotate, at most; one warp more fetches

struct StagedItem {
  const void* input;
  void* output;
  const void* weight;
  DataType weight_type;
  std::int64_t input_token, output_token;  // bytes between tokens
  std::uint32_t rows;                      // heads of a group; 0: there is no such operand
  Divisor fours;                           // of them: what a thread takes; the last may be fewer
};

struct StagedParameters {
  StagedItem items[2];
  RowMap<kRotaryOperands> map;  // of the tokens; the tables' strides count
  const void* cos;              // or the matrix, or the complex table
  const void* sin;
  Table table;
  std::uint32_t cos_bytes, sin_bytes;  // of a token; 0 for sin where there is one table
  std::uint32_t sin_place;             // in a stage, from cos on; a tile's rows of one lie together
  std::uint32_t tile_bytes;            // of a stage: rows and tables
  Divisor table_period;  // tokens whose tables lie one behind the other; 0: they do not
  std::uint32_t tokens, tile_tokens, tiles;
  Divisor groups;  // of heads of a token, one after the other
  int stages;
  bool norm;
  bool keep_tables;  // in the second-level cache, for samples that read the same
  float eps, per_width;
};

// What the number of a tile's tokens decides.
struct StagedLayout {
  std::uint32_t sin_place, tile_bytes;
  std::size_t sums_bytes;  // of squares, for each vector and row
};

// `rows` and `row_bytes` of both operands, of a token.
constexpr StagedLayout staged_layout(std::uint32_t tokens, std::uint32_t rows,
                                     std::uint32_t row_bytes, std::uint32_t cos_bytes,
                                     std::uint32_t sin_bytes) {
  const std::uint32_t sin_place = (tokens * cos_bytes + 15) / 16 * 16;
  // Tiles of whole lines: from 256 MiB on up to 3 % faster.
  const std::uint32_t bytes = tokens * rows * row_bytes + sin_place + tokens * sin_bytes;
  return {sin_place, (bytes + 127) / 128 * 128,
          std::size_t{tokens} * rows * (row_bytes / 16 + 1) * 4};
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

__device__ __forceinline__ std::uint32_t shared_address(const void* place) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(place));
}
__device__ __forceinline__ void barrier_init(std::uint64_t* barrier, std::uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(arrivals)
               : "memory");
}
__device__ __forceinline__ void barrier_arrive(std::uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier))
               : "memory");
}
__device__ __forceinline__ void barrier_expect(std::uint64_t* barrier, std::uint32_t bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
      "r"(bytes)
      : "memory");
}
__device__ __forceinline__ void barrier_wait(std::uint64_t* barrier, std::uint32_t parity) {
  std::uint32_t done = 0;
  while (done == 0) {
    asm volatile(
        "{\n.reg .pred p;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n}"
        : "=r"(done)
        : "r"(shared_address(barrier)), "r"(parity)
        : "memory");
  }
}
__device__ __forceinline__ void fetch(void* to, const void* from, std::uint32_t bytes,
                                      std::uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(barrier))
      : "memory");
}
// With a hint for the second-level cache.
__device__ __forceinline__ void fetch(void* to, const void* from, std::uint32_t bytes,
                                      std::uint64_t* barrier, std::uint64_t policy) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1],"
      " %2, [%3], %4;" ::"r"(shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(barrier)), "l"(policy)
      : "memory");
}
__device__ __forceinline__ std::uint64_t keep_policy(bool keep) {
  std::uint64_t policy;
  if (keep) {
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  } else {
    asm volatile("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(policy));
  }
  return policy;
}
__device__ __forceinline__ void put(void* to, const void* from, std::uint32_t bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
               "r"(shared_address(from)), "r"(bytes)
               : "memory");
}
// Until what was put before is out of shared memory.
__device__ __forceinline__ void put_wait() {
  asm volatile(
      "cp.async.bulk.commit_group;\n"
      "cp.async.bulk.wait_group.read 0;" ::
          : "memory");
}
// Orders a thread's own accesses to shared memory before those of the copy engine that follow.
__device__ __forceinline__ void order_copies() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// kValues of type V from shared memory, 16 or 8 bytes at a time.
template <int kValues, typename V>
__device__ __forceinline__ void read_values(const V* from, float* to) {
  constexpr int kBytes = kValues * sizeof(V) < 16 ? 8 : 16;
  constexpr int kCount = kBytes / static_cast<int>(sizeof(V));
#pragma unroll
  for (int i = 0; i < kValues; i += kCount) unpack<V>(load_operand<kBytes>(from + i), to + i);
}

// Coefficients of pairs 4 * unit to 4 * unit + 3 from a token's tables; kHalf is the number of
// pairs.
template <int kHalf, bool kNeighbours, typename V>
__device__ __forceinline__ void read_coefficients(const V* cos, const V* sin, Table table, int unit,
                                                  Coefficients<4, true>& result) {
  if (table == Table::kHalf) {
    read_values<4>(cos + 4 * unit, result.ca);
    read_values<4>(sin + 4 * unit, result.sa);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      result.cb[j] = result.ca[j];
      result.sb[j] = result.sa[j];
    }
  } else if constexpr (!kNeighbours) {
    read_values<4>(cos + 4 * unit, result.ca);
    read_values<4>(cos + 4 * unit + kHalf, result.cb);
    read_values<4>(sin + 4 * unit, result.sa);
    read_values<4>(sin + 4 * unit + kHalf, result.sb);
  } else if (table == Table::kFull) {
    float both[8];
    read_values<8>(cos + 8 * unit, both);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      result.ca[j] = both[2 * j];
      result.cb[j] = both[2 * j + 1];
    }
    read_values<8>(sin + 8 * unit, both);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      result.sa[j] = both[2 * j];
      result.sb[j] = both[2 * j + 1];
    }
  } else if (table == Table::kComplex) {
    float both[8];
    read_values<8>(cos + 8 * unit, both);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      result.ca[j] = result.cb[j] = both[2 * j];
      result.sa[j] = result.sb[j] = both[2 * j + 1];
    }
  } else {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      float of[4];
      read_values<4>(cos + 16 * unit + 4 * j, of);
      result.ca[j] = of[0];
      result.sa[j] = -of[1];
      result.sb[j] = of[2];
      result.cb[j] = of[3];
    }
  }
}

#endif

// blockDim.x: kUnits threads for every four rows of a tile, rounded up to whole warps, and a warp.
// A row has kUnits times eight values. Output and input have type T, tables V.
template <typename T, typename V, int kUnits, bool kNeighbours>
__global__ void __launch_bounds__(256, kStagedBlocks)
    rotary_staged_kernel(const __grid_constant__ StagedParameters p) {
#if __CUDA_ARCH__ >= 900
  constexpr int kHalf = kUnits * 4;
  constexpr int kVectors = kUnits * static_cast<int>(sizeof(T)) / 2;  // of a row
  // A thread's eight values of a row: how they lie there.
  constexpr int kParts = kNeighbours && sizeof(T) == 2 ? 1 : 2;
  constexpr int kCount = 8 / kParts, kBytes = kCount * static_cast<int>(sizeof(T));
  const auto column = [](int unit, int part) {
    return kNeighbours ? unit * 8 + part * kCount : unit * kCount + part * kHalf;
  };
  const auto a = [](int pair) { return kNeighbours ? 2 * pair : pair; };
  const auto b = [](int pair) { return kNeighbours ? 2 * pair + 1 : pair + 4; };
  extern __shared__ uint4 staged[];
  __shared__ std::uint64_t fetched[kStagedStages], done[kStagedStages];
  const std::uint32_t token_rows = p.items[0].rows + p.items[1].rows;
  const std::uint32_t tile_rows = p.tile_tokens * token_rows;
  const std::uint32_t tile_vectors = tile_rows * kVectors;
  char* const stages = reinterpret_cast<char*>(staged);
  float* const squares = reinterpret_cast<float*>(stages + p.tile_bytes * p.stages);
  float* const factors = squares + tile_vectors;
  struct Tokens {
    std::uint32_t first, count, group;
  };
  const auto tokens_of = [&](std::uint32_t tile) {
    const std::uint32_t index = p.groups.quotient(tile);
    const std::uint32_t first = index * p.tile_tokens;
    return Tokens{first, min(p.tokens - first, p.tile_tokens), tile - index * p.groups.value};
  };
  const std::uint32_t workers = blockDim.x - 32;
  if (threadIdx.x == 0) {
    for (int s = 0; s < p.stages; ++s) {
      barrier_init(fetched + s, 1);
      barrier_init(done + s, workers);
    }
    order_copies();
  }
  wait_for_previous_kernel();
  allow_next_kernel();
  __syncthreads();

  if (threadIdx.x >= workers) {
    if (threadIdx.x > workers) return;
    const std::uint64_t table_policy = keep_policy(p.keep_tables);
    // Calls the body for both operands, token by token or, where these lie one behind the other,
    // for all at once, with the place in the stage, where that is in memory, and the bytes.
    const auto for_each_part = [&](const Tokens& of, bool output, const auto& body) {
      std::uint32_t first = 0;
#pragma unroll
      for (std::uint32_t i = 0; i < 2; ++i) {
        const StagedItem& item = p.items[i];
        const std::uint32_t bytes = item.rows * kVectors * 16;
        if (bytes == 0) continue;
        const std::int64_t step = output ? item.output_token : item.input_token;
        const bool together = step == bytes;
        const std::uint32_t size = together ? of.count * bytes : bytes;
        std::int64_t offset = of.first * step + std::int64_t{of.group} * bytes;
        std::uint32_t place = first;
#pragma unroll 1
        for (std::uint32_t t = 0; t < (together ? 1 : of.count); ++t) {
          body(item, place, offset, size);
          place += bytes;
          offset += step;
        }
        first += p.tile_tokens * bytes;
      }
    };
    const auto fetch_tables = [&](std::uint32_t token, std::uint32_t count, char* to, int stage) {
      const V* const cos = static_cast<const V*>(p.cos) + p.map.offset(token, kRotaryCos);
      fetch(to, cos, count * p.cos_bytes, fetched + stage, table_policy);
      if (p.sin_bytes == 0) return;
      const V* const sin = static_cast<const V*>(p.sin) + p.map.offset(token, kRotarySin);
      fetch(to + p.sin_place, sin, count * p.sin_bytes, fetched + stage, table_policy);
    };
    const auto fetch_tile = [&](std::uint32_t tile, int stage) {
      char* const to = stages + stage * p.tile_bytes;
      const Tokens of = tokens_of(tile);
      barrier_expect(fetched + stage,
                     of.count * (token_rows * kVectors * 16 + p.cos_bytes + p.sin_bytes));
      for_each_part(of, false,
                    [&](const StagedItem& item, std::uint32_t place, std::int64_t offset,
                        std::uint32_t bytes) {
                      fetch(to + place, static_cast<const char*>(item.input) + offset, bytes,
                            fetched + stage);
                    });
      char* const table = to + tile_vectors * 16;
      // Tokens whose tables lie one behind the other.
      const std::uint32_t period = p.table_period.value;
      if (period != 0 &&
          of.first - p.table_period.quotient(of.first) * period + of.count <= period) {
        fetch_tables(of.first, of.count, table, stage);
        return;
      }
#pragma unroll 1
      for (std::uint32_t t = 0; t < of.count; ++t) {
        fetch_tables(of.first + t, 1, table + t * p.cos_bytes, stage);
      }
    };
    std::uint32_t next = blockIdx.x;
    for (int s = 0; s < p.stages && next < p.tiles; ++s, next += gridDim.x) fetch_tile(next, s);
    int stage = 0;
    std::uint32_t parity = 0;
    for (std::uint32_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
      barrier_wait(done + stage, parity);
      for_each_part(tokens_of(tile), true,
                    [&](const StagedItem& item, std::uint32_t place, std::int64_t offset,
                        std::uint32_t bytes) {
                      put(static_cast<char*>(item.output) + offset,
                          stages + stage * p.tile_bytes + place, bytes);
                    });
      put_wait();
      if (next < p.tiles) fetch_tile(next, stage);
      next += gridDim.x;
      if (++stage == p.stages) stage = 0, parity ^= 1;
    }
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    return;
  }

  // The thread's rows of a tile: up to four of one token and operand.
  const std::uint32_t four = threadIdx.x / kUnits;
  const int unit = static_cast<int>(threadIdx.x % kUnits);
  const std::uint32_t query_fours = p.tile_tokens * p.items[0].fours.value;
  const std::uint32_t fours = query_fours + p.tile_tokens * p.items[1].fours.value;
  const std::uint32_t threads = fours * kUnits;
  const bool active = threadIdx.x < threads;
  const std::uint32_t which = four < query_fours ? 0 : 1;
  const StagedItem& item = p.items[which];
  const std::uint32_t own = four - which * query_fours;
  const std::uint32_t token = item.fours.quotient(own);
  const std::uint32_t first_row = (own - token * item.fours.value) * kStagedRows;
  const std::uint32_t place =
      which * p.tile_tokens * p.items[0].rows + token * item.rows + first_row;
  const std::uint32_t rows = item.rows - first_row;
  float weight[8];
#pragma unroll
  for (float& value : weight) value = 1.0F;
  if (active && item.weight != nullptr) {
#pragma unroll
    for (int i = 0; i < kParts; ++i) {
      load_mixed<T, kCount>(item.weight, item.weight_type, column(unit, i), weight + i * kCount);
    }
  }
  const auto workers_barrier = [&] { asm volatile("bar.sync 1, %0;" ::"r"(workers) : "memory"); };
  int stage = 0;
  std::uint32_t parity = 0;
  for (std::uint32_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
    char* const here = stages + stage * p.tile_bytes;
    uint4* const vectors = reinterpret_cast<uint4*>(here);
    barrier_wait(fetched + stage, parity);
    if (p.norm) {
      if (active) {
#pragma unroll
        for (int i = 0; i < kStagedRows * kVectors / kUnits; ++i) {
          const std::uint32_t at = i * threads + threadIdx.x;
          if (at >= tile_vectors) break;
          float x[16 / sizeof(T)], sums[2] = {};
          unpack<T>(load_operand<16>(vectors + at), x);
#pragma unroll
          for (int j = 0; j < 16 / static_cast<int>(sizeof(T)); ++j) {
            sums[j % 2] = fmaf(x[j], x[j], sums[j % 2]);
          }
          squares[at] = sums[0] + sums[1];
        }
      }
      workers_barrier();
      if (threadIdx.x < tile_rows) {
        float total[2] = {};
#pragma unroll
        for (int i = 0; i < kVectors; ++i) total[i % 2] += squares[threadIdx.x * kVectors + i];
        float square = total[0] + total[1], down = 1.0F, eps = p.eps;
        if (kOverflows<T> && !is_finite(square)) {  // see norm_kernel
          down = kDown;
          eps = eps_down(eps);
          square = 0.0F;
#pragma unroll 1
          for (int i = 0; i < kVectors; ++i) {
            float x[16 / sizeof(T)];
            unpack<T>(load_operand<16>(vectors + threadIdx.x * kVectors + i), x);
#pragma unroll
            for (const float value : x) square = fmaf(value * kDown, value * kDown, square);
          }
        }
        factors[threadIdx.x] = inverse_root<T>(square * p.per_width + eps) * down;
      }
      workers_barrier();
    }
    if (active) {
      const char* const tables = here + tile_vectors * 16 + token * p.cos_bytes;
      Coefficients<4, true> table;
      read_coefficients<kHalf, kNeighbours>(reinterpret_cast<const V*>(tables),
                                            reinterpret_cast<const V*>(tables + p.sin_place),
                                            p.table, unit, table);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        table.ca[j] *= weight[a(j)];
        table.sa[j] *= weight[b(j)];
        table.cb[j] *= weight[b(j)];
        table.sb[j] *= weight[a(j)];
      }
      T* values = reinterpret_cast<T*>(vectors + place * kVectors);
#pragma unroll
      for (std::uint32_t r = 0; r < kStagedRows; ++r) {
        if (r >= rows) break;
        const float factor = p.norm ? factors[place + r] : 1.0F;
        float x[8];
#pragma unroll
        for (int i = 0; i < kParts; ++i) {
          unpack<T>(load_operand<kBytes>(values + column(unit, i)), x + i * kCount);
        }
#pragma unroll
        for (float& value : x) value *= factor;
#pragma unroll
        for (int j = 0; j < 4; ++j) table.rotate(j, x[a(j)], x[b(j)]);
#pragma unroll
        for (int i = 0; i < kParts; ++i) {
          store_raw(values + column(unit, i), pack<T, kBytes>(x + i * kCount));
        }
        values += kUnits * 8;
      }
      order_copies();
    }
    barrier_arrive(done + stage);  // each thread: racecheck does not see one arrive for its warp
    if (++stage == p.stages) stage = 0, parity ^= 1;
  }
#endif
}

using RotaryStagedKernel = void (*)(StagedParameters);

struct StagedChoice {
  int units;  // of a row: its width / 8
  bool neighbours;
  bool float_tables;  // else of the operands' type
};

// For rows of 9, 10 or 12 units.
template <typename T>
RotaryStagedKernel rotary_staged_kernel_for(const StagedChoice& choice);

template <typename T, typename V, int kUnits>
RotaryStagedKernel rotary_staged_kernel_of(const StagedChoice& choice) {
  return choice.neighbours ? rotary_staged_kernel<T, V, kUnits, true>
                           : rotary_staged_kernel<T, V, kUnits, false>;
}

template <typename T, int kUnits>
RotaryStagedKernel rotary_staged_kernel_of(const StagedChoice& choice) {
  return choice.float_tables ? rotary_staged_kernel_of<T, float, kUnits>(choice)
                             : rotary_staged_kernel_of<T, T, kUnits>(choice);  // one if T is float
}

#define MINDIESD_ROTARY_STAGED_INSTANCES(T_)                                    \
  template <>                                                                   \
  RotaryStagedKernel rotary_staged_kernel_for<T_>(const StagedChoice& choice) { \
    return choice.units == 9    ? rotary_staged_kernel_of<T_, 9>(choice)        \
           : choice.units == 10 ? rotary_staged_kernel_of<T_, 10>(choice)       \
           : choice.units == 12 ? rotary_staged_kernel_of<T_, 12>(choice)       \
                                : nullptr;                                      \
  }

}  // namespace mindiesd::kernels::cuda
