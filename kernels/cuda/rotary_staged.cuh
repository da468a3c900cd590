// RMSNorm of each row and its rotation, of query and key where a row's vectors are no power of two
// (widths 72, 80 and 96), the heads of a token lie side by side and tables are float32. Instances:
// rotary_*.cu through rotary_staged_kernel_for; the choice: rotary.cu. For compute capability 9.0
// on.
//
// Blocks stay and go through tiles of two tokens of both operands. One warp has the copy engine
// fetch tiles and their tables ahead into shared memory; the others sum the squares there, rotate
// in place, each thread the same columns of four rows, and have the engine write the tile back. So
// nothing is read or written in pieces of a sector, no thread idles because 9 is not 16, and
// threads spend no instructions on global memory. Traffic per element: input once, output once,
// tables once.

#pragma once

#include "kernels/cuda/rotary.cuh"

namespace mindiesd::kernels::cuda {

constexpr int kStagedTokens = 2;                 // of a tile
constexpr int kStagedParts = 4;                  // of a tile: tokens of each operand
constexpr int kStagedRows = 4;                   // that a thread rotates: a fourth of a part's
constexpr int kStagedStages = 6;                 // tiles in a block at once, at most
constexpr int kStagedBlocks = 3;                 // of a multiprocessor
constexpr std::size_t kStagedBytes = 75 * 1024;  // of a block: a third of what 9.0 has
constexpr int kStagedThreads = 200;              // that rotate, at most; one warp more fetches

struct StagedItem {
  const void* input;
  void* output;
  const void* weight;
  DataType weight_type;
  std::int64_t input_token, output_token;  // bytes between tokens
};

struct StagedParameters {
  StagedItem items[2];
  RowMap<kRotaryOperands> map;  // of the tokens; the tables' strides count
  const void* cos;              // or the matrix, or the complex table
  const void* sin;
  Table table;
  std::uint32_t cos_bytes, sin_bytes;  // of a token; 0 for sin where there is one table
  std::uint32_t tokens;
  Divisor groups;      // of heads of a token, one after the other
  std::uint32_t rows;  // heads of a group: a multiple of kStagedRows
  Divisor fours;       // rows / kStagedRows
  int stages;
  bool keep_tables;  // in the second-level cache, for samples that read the same
  float eps, per_width;
};

// Of a stage: the tile and its tables.
constexpr std::uint32_t staged_tile_bytes(std::uint32_t row_vectors, std::uint32_t table_bytes) {
  return kStagedParts * row_vectors * 16 + kStagedTokens * table_bytes;
}
// Of a block: its stages, and the sums of squares of vectors and of rows.
constexpr std::size_t staged_bytes(int stages, std::uint32_t rows, std::uint32_t vectors,
                                   std::uint32_t table_bytes) {
  return std::size_t{staged_tile_bytes(rows * vectors, table_bytes)} * stages +
         std::size_t{kStagedParts} * rows * (vectors + 1) * 4;
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

// kValues float32 from shared memory, 16 bytes at a time.
template <int kValues>
__device__ __forceinline__ void read_floats(const float* from, float* to) {
#pragma unroll
  for (int i = 0; i < kValues; i += 4) unpack<float>(load_operand<16>(from + i), to + i);
}

// Coefficients of pairs 4 * unit to 4 * unit + 3 from a token's tables; kHalf is the number of
// pairs.
template <int kHalf, bool kNeighbours>
__device__ __forceinline__ void read_coefficients(const float* cos, const float* sin, Table table,
                                                  int unit, Coefficients<4, true>& result) {
  if (table == Table::kHalf) {
    read_floats<4>(cos + 4 * unit, result.ca);
    read_floats<4>(sin + 4 * unit, result.sa);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      result.cb[j] = result.ca[j];
      result.sb[j] = result.sa[j];
    }
  } else if constexpr (!kNeighbours) {
    read_floats<4>(cos + 4 * unit, result.ca);
    read_floats<4>(cos + 4 * unit + kHalf, result.cb);
    read_floats<4>(sin + 4 * unit, result.sa);
    read_floats<4>(sin + 4 * unit + kHalf, result.sb);
  } else if (table == Table::kFull) {
    float both[8];
    read_floats<8>(cos + 8 * unit, both);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      result.ca[j] = both[2 * j];
      result.cb[j] = both[2 * j + 1];
    }
    read_floats<8>(sin + 8 * unit, both);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      result.sa[j] = both[2 * j];
      result.sb[j] = both[2 * j + 1];
    }
  } else if (table == Table::kComplex) {
    float both[8];
    read_floats<8>(cos + 8 * unit, both);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      result.ca[j] = result.cb[j] = both[2 * j];
      result.sa[j] = result.sb[j] = both[2 * j + 1];
    }
  } else {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      float of[4];
      read_floats<4>(cos + 16 * unit + 4 * j, of);
      result.ca[j] = of[0];
      result.sa[j] = -of[1];
      result.sb[j] = of[2];
      result.cb[j] = of[3];
    }
  }
}

#endif

// blockDim.x: rows * kVectors, the vectors of a row, rounded up to whole warps, and a warp. Output
// and input have type T.
template <typename T, int kVectors, bool kNeighbours>
__global__ void __launch_bounds__(256, kStagedBlocks)
    rotary_staged_kernel(const __grid_constant__ StagedParameters p) {
#if __CUDA_ARCH__ >= 900
  constexpr int kBytes = kNeighbours ? 16 : 8;
  constexpr int kHalf = kVectors * 4;
  using U = Unit<T, kBytes, kNeighbours>;
  static_assert(U::kPairs == 4);
  extern __shared__ uint4 staged[];
  __shared__ std::uint64_t fetched[kStagedStages], done[kStagedStages];
  const std::uint32_t row_vectors = p.rows * kVectors;  // of a part
  const std::uint32_t tile_bytes =
      kStagedParts * row_vectors * 16 + kStagedTokens * (p.cos_bytes + p.sin_bytes);
  char* const stages = reinterpret_cast<char*>(staged);
  float* const squares = reinterpret_cast<float*>(stages + tile_bytes * p.stages);
  float* const factors = squares + kStagedParts * row_vectors;
  const std::uint32_t tiles = (p.tokens + kStagedTokens - 1) / kStagedTokens * p.groups.value;
  const auto first_token = [&](std::uint32_t tile) {
    return tile / p.groups.value * kStagedTokens;
  };
  const auto group_bytes = [&](std::uint32_t tile) {
    return tile % p.groups.value * row_vectors * 16;
  };
  const std::uint32_t workers = blockDim.x - 32;
  if (threadIdx.x == 0) {
    for (int s = 0; s < p.stages; ++s) {
      barrier_init(fetched + s, 1);
      barrier_init(done + s, workers / 32);
    }
    order_copies();
  }
  wait_for_previous_kernel();
  allow_next_kernel();
  __syncthreads();

  if (threadIdx.x >= workers) {
    if (threadIdx.x > workers) return;
    const std::uint64_t table_policy = keep_policy(p.keep_tables);
    // The body takes, for each token of the tile and each operand, the operand, where the part lies
    // in the stage and the token.
    const auto for_each_part = [&](std::uint32_t tile, char* stage, const auto& body) {
#pragma unroll 1
      for (std::uint32_t t = 0; t < kStagedTokens && first_token(tile) + t < p.tokens; ++t) {
#pragma unroll
        for (std::uint32_t i = 0; i < 2; ++i) {
          body(p.items[i], stage + (i * kStagedTokens + t) * row_vectors * 16,
               first_token(tile) + t);
        }
      }
    };
    const auto fetch_tile = [&](std::uint32_t tile, int stage) {
      char* const to = stages + stage * tile_bytes;
      const std::uint32_t token = first_token(tile);
      const std::uint32_t count = min(p.tokens - token, static_cast<std::uint32_t>(kStagedTokens));
      barrier_expect(fetched + stage, count * (2 * row_vectors * 16 + p.cos_bytes + p.sin_bytes));
      for_each_part(tile, to, [&](const StagedItem& item, char* part, std::uint32_t of) {
        fetch(part,
              static_cast<const char*>(item.input) + group_bytes(tile) + of * item.input_token,
              row_vectors * 16, fetched + stage);
      });
      char* table = to + kStagedParts * row_vectors * 16;
#pragma unroll 1
      for (std::uint32_t of = token; of < token + count; ++of) {
        fetch(table, static_cast<const float*>(p.cos) + p.map.offset(of, kRotaryCos), p.cos_bytes,
              fetched + stage, table_policy);
        table += p.cos_bytes;
        if (p.sin_bytes == 0) continue;
        fetch(table, static_cast<const float*>(p.sin) + p.map.offset(of, kRotarySin), p.sin_bytes,
              fetched + stage, table_policy);
        table += p.sin_bytes;
      }
    };
    std::uint32_t next = blockIdx.x;
    for (int s = 0; s < p.stages && next < tiles; ++s, next += gridDim.x) fetch_tile(next, s);
    int stage = 0;
    std::uint32_t parity = 0;
    for (std::uint32_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
      barrier_wait(done + stage, parity);
      for_each_part(
          tile, stages + stage * tile_bytes,
          [&](const StagedItem& item, const char* part, std::uint32_t of) {
            put(static_cast<char*>(item.output) + group_bytes(tile) + of * item.output_token, part,
                row_vectors * 16);
          });
      put_wait();
      if (next < tiles) fetch_tile(next, stage);
      next += gridDim.x;
      if (++stage == p.stages) stage = 0, parity ^= 1;
    }
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    return;
  }

  const bool active = threadIdx.x < row_vectors;
  const std::uint32_t row = threadIdx.x / kVectors;
  const int unit = static_cast<int>(threadIdx.x % kVectors);
  const std::uint32_t part = p.fours.quotient(row);
  const std::uint32_t place = part * p.rows + (row - part * p.fours.value) * kStagedRows;
  float weight[U::kValues];
#pragma unroll
  for (int i = 0; i < U::kValues; ++i) weight[i] = 1.0F;
  {
    const StagedItem& item = p.items[part < kStagedTokens ? 0 : 1];
    if (active && item.weight != nullptr) {
      U::load_weight(item.weight, item.weight_type, 0, unit, kHalf, weight);
    }
  }
  const auto workers_barrier = [&] { asm volatile("bar.sync 1, %0;" ::"r"(workers) : "memory"); };
  int stage = 0;
  std::uint32_t parity = 0;
  for (std::uint32_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    char* const here = stages + stage * tile_bytes;
    uint4* const vectors = reinterpret_cast<uint4*>(here);
    barrier_wait(fetched + stage, parity);
    if (active) {
#pragma unroll
      for (int i = 0; i < kStagedParts; ++i) {
        const std::uint32_t at = i * row_vectors + threadIdx.x;
        float x[8], sums[2] = {};
        unpack<T>(load_operand<16>(vectors + at), x);
#pragma unroll
        for (int j = 0; j < 8; ++j) sums[j % 2] = fmaf(x[j], x[j], sums[j % 2]);
        squares[at] = sums[0] + sums[1];
      }
    }
    workers_barrier();
    if (threadIdx.x < kStagedParts * p.rows) {
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
          float x[8];
          unpack<T>(load_operand<16>(vectors + threadIdx.x * kVectors + i), x);
#pragma unroll
          for (int j = 0; j < 8; ++j) square = fmaf(x[j] * kDown, x[j] * kDown, square);
        }
      }
      factors[threadIdx.x] = rsqrtf(square * p.per_width + eps) * down;
    }
    workers_barrier();
    if (active) {
      const float* cos =
          reinterpret_cast<const float*>(here + kStagedParts * row_vectors * 16 +
                                         part % kStagedTokens * (p.cos_bytes + p.sin_bytes));
      Coefficients<4, true> table;
      read_coefficients<kHalf, kNeighbours>(cos, cos + p.cos_bytes / 4, p.table, unit, table);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        table.ca[j] *= weight[U::a(j)];
        table.sa[j] *= weight[U::b(j)];
        table.cb[j] *= weight[U::b(j)];
        table.sb[j] *= weight[U::a(j)];
      }
      T* values = reinterpret_cast<T*>(vectors + place * kVectors);
#pragma unroll
      for (int r = 0; r < kStagedRows; ++r) {
        const float factor = factors[place + r];
        U of;
        of.load(values, unit, kHalf);
        float x[U::kValues];
        of.values(x);
#pragma unroll
        for (int i = 0; i < U::kValues; ++i) x[i] *= factor;
#pragma unroll
        for (int j = 0; j < U::kPairs; ++j) table.rotate(j, x[U::a(j)], x[U::b(j)]);
#pragma unroll
        for (int i = 0; i < U::kParts; ++i) {
          store_raw(values + unit * U::kCount + i * kHalf, pack<T, kBytes>(x + i * U::kCount));
        }
        values += kVectors * 8;
      }
      order_copies();
    }
    __syncwarp();
    if (threadIdx.x % 32 == 0) barrier_arrive(done + stage);
    if (++stage == p.stages) stage = 0, parity ^= 1;
  }
#endif
}

using RotaryStagedKernel = void (*)(StagedParameters);

// For __half and __nv_bfloat16, rows of 9, 10 or 12 vectors.
template <typename T>
RotaryStagedKernel rotary_staged_kernel_for(int vectors, bool neighbours);

template <typename T, int kVectors>
RotaryStagedKernel rotary_staged_kernel_of(bool neighbours) {
  return neighbours ? rotary_staged_kernel<T, kVectors, true>
                    : rotary_staged_kernel<T, kVectors, false>;
}

#define MINDIESD_ROTARY_STAGED_INSTANCES(T_)                                      \
  template <>                                                                     \
  RotaryStagedKernel rotary_staged_kernel_for<T_>(int vectors, bool neighbours) { \
    return vectors == 9    ? rotary_staged_kernel_of<T_, 9>(neighbours)           \
           : vectors == 10 ? rotary_staged_kernel_of<T_, 10>(neighbours)          \
           : vectors == 12 ? rotary_staged_kernel_of<T_, 12>(neighbours)          \
                           : nullptr;                                             \
  }

}  // namespace mindiesd::kernels::cuda
