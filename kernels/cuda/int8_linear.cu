// A linear layer of up to 16 rows of input whose weight is int8. Entry point: int8_linear.
//
// Traffic: the weight once, which is all that counts. The product is that of tensor cores with the
// weight as the left operand, so that 16 of its rows meet 8 rows of input. A sum does not depend on
// how its terms are numbered, so a thread takes 16 neighbouring values of a weight's row, one load,
// as what it holds of four products, and the same values of input. The depth is shared by the warps
// of a block, and where there are blocks too few by those of a cluster; their sums are added in one
// order, so the results are the same from run to run.

#include "kernels/cuda/int8_linear.h"

#include "kernels/cuda/attention_tiles.cuh"
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/hopper_cluster.cuh"
#include "kernels/cuda/host.h"

namespace mindiesd::kernels::cuda {
namespace {

constexpr int kStep = 64;  // values of the depth that a warp takes at once

// How the product is divided. kEights: times 8 rows of input; kTiles: times 16 rows of the weight,
// those of a block; kSlices: the block's warps, which share the depth; kBlocks: of a
// multiprocessor. kInputsAhead: whether the input is on its way with the weight, for a step more of
// registers.
template <int kEights_, int kTiles_, int kSlices_, int kBlocks_, bool kInputsAhead_>
struct Division {
  static constexpr int kEights = kEights_, kTiles = kTiles_, kSlices = kSlices_, kBlocks = kBlocks_;
  static constexpr bool kInputsAhead = kInputsAhead_;
  static constexpr int kThreads = kSlices * 32, kRows = kTiles * 16;
  // Sums of the slices, [rows of input][rows of the weight] without conflicts between banks.
  using Shared = float[kSlices][kEights * 8][kRows + 4];
};

// Of those tried on an H200 with the layers of Llama-8B. The input is read by each block, so its
// rows of the weight are more where those of the input are.
using Few = Division<1, 1, 8, 4, true>;
using Many = Division<2, 1, 16, 2, false>;
using ManyWide = Division<2, 2, 8, 3, false>;

// --- int8 as a half precision ------------------------------------------------------------------

// Four values as two words of two, exactly. A byte behind 0x64 is the float16 1024 + byte, and a
// byte behind 0x43 the bfloat16 128 + its low seven bits, twice that where its highest bit is set:
// one subtraction each gives the number.
template <typename T>
__device__ __forceinline__ void widen(std::uint32_t bytes, std::uint32_t& low,
                                      std::uint32_t& high) {
  if constexpr (kTypeOf<T> == DataType::kBFloat16) {
    const auto number = [](std::uint32_t word) {
      const std::uint32_t digits = word & 0xff7fff7fU, sign = word & 0xff80ff80U;
      const __nv_bfloat162 value = __hsub2(*reinterpret_cast<const __nv_bfloat162*>(&digits),
                                           *reinterpret_cast<const __nv_bfloat162*>(&sign));
      return *reinterpret_cast<const std::uint32_t*>(&value);
    };
    low = number(__byte_perm(bytes, 0x43434343U, 0x4140));
    high = number(__byte_perm(bytes, 0x43434343U, 0x4342));
  } else {
    const std::uint32_t raised = bytes ^ 0x80808080U;  // from 0 to 255
    const auto number = [](std::uint32_t word) {
      const __half2 zero = __float2half2_rn(1024.0F + 128.0F);
      const __half2 value = __hsub2(*reinterpret_cast<const __half2*>(&word), zero);
      return *reinterpret_cast<const std::uint32_t*>(&value);
    };
    low = number(__byte_perm(raised, 0x64646464U, 0x4140));
    high = number(__byte_perm(raised, 0x64646464U, 0x4342));
  }
}

// --- the sums of a warp --------------------------------------------------------------------------

// What is read once: it takes no place in the first-level cache, which keeps the input.
__device__ __forceinline__ Raw<16> load_once(const void* from) {
  Raw<16> raw;
  asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(raw.words[0]), "=r"(raw.words[1]), "=r"(raw.words[2]), "=r"(raw.words[3])
               : "l"(from));
  return raw;
}

// Where a thread finds its operands. One step: 16 values of its two rows in each tile of the
// weight, and of one row of input in each of kEights. Behind the end all are zero.
template <typename Division>
struct Places {
  static constexpr int kTiles = Division::kTiles, kEights = Division::kEights;
  using Weights = Raw<16>[kTiles][2];
  using Inputs = Raw<16>[kEights][2];
  const std::int8_t* weight[kTiles][2];
  const char* input[kEights];
  bool has_input[kEights];
  int depth;

  __device__ __forceinline__ Places(const Int8Linear& p, std::int64_t first_row)
      : depth(static_cast<int>(p.depth)) {
    const int group = static_cast<int>(threadIdx.x) % 32 / 4;
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        // Rows behind the last one repeat it; nobody stores their sums.
        const std::int64_t row = first_row + tile * 16 + half * 8 + group;
        weight[tile][half] = p.weight + (row < p.width ? row : p.width - 1) * p.weight_stride;
      }
    }
#pragma unroll
    for (int eight = 0; eight < kEights; ++eight) {
      const int row = eight * 8 + group;
      has_input[eight] = row < p.rows;
      input[eight] =
          static_cast<const char*>(p.input) + (has_input[eight] ? row : 0) * p.input_stride * 2;
    }
  }

  static __device__ __forceinline__ int at(int step) {
    return step * kStep + static_cast<int>(threadIdx.x) % 4 * 16;
  }
  __device__ __forceinline__ void load_weights(Weights& to, int step) const {
    const bool there = at(step) < depth;
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        to[tile][half] = {};
        if (there) to[tile][half] = load_once(weight[tile][half] + at(step));
      }
    }
  }
  __device__ __forceinline__ void load_inputs(Inputs& to, int step) const {
    const bool there = at(step) < depth;
#pragma unroll
    for (int eight = 0; eight < kEights; ++eight) {
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        to[eight][part] = {};
        if (there && has_input[eight]) {
          to[eight][part] =
              load_shared_data<16>(input[eight] + std::int64_t{2} * at(step) + part * 16);
        }
      }
    }
  }
};

template <typename T, typename Division>
struct Sums {
  float of[Division::kTiles][Division::kEights][4] = {};

  __device__ __forceinline__ void add(const typename Places<Division>::Weights& weights,
                                      const typename Places<Division>::Inputs& inputs) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
#pragma unroll
      for (int tile = 0; tile < Division::kTiles; ++tile) {
        std::uint32_t a[4];
        widen<T>(weights[tile][0].words[j], a[0], a[2]);
        widen<T>(weights[tile][1].words[j], a[1], a[3]);
#pragma unroll
        for (int eight = 0; eight < Division::kEights; ++eight) {
          const Raw<16>& input = inputs[eight][j / 2];
          multiply<T>(of[tile][eight], a, input.words[j % 2 * 2], input.words[j % 2 * 2 + 1]);
        }
      }
    }
  }

  __device__ __forceinline__ void keep(typename Division::Shared& shared) const {
    const int slice = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int tile = 0; tile < Division::kTiles; ++tile) {
#pragma unroll
      for (int eight = 0; eight < Division::kEights; ++eight) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          shared[slice][eight * 8 + lane % 4 * 2 + i % 2][tile * 16 + i / 2 * 8 + lane / 4] =
              of[tile][eight][i];
        }
      }
    }
  }
};

// --- the kernel ----------------------------------------------------------------------------------

// The cluster of a block, which is the block alone before compute capability 9.0.
struct Cluster {
  int rank = 0, blocks = 1;

  __device__ __forceinline__ Cluster() {
#if __CUDA_ARCH__ >= 900
    rank = hopper::rank_in_cluster();
    blocks = hopper::blocks_of_cluster();
#endif
  }
  __device__ __forceinline__ void join() const {
#if __CUDA_ARCH__ >= 900
    if (blocks > 1) hopper::join_cluster();
#endif
  }
  // The sum of what all blocks have at a place of shared memory.
  __device__ __forceinline__ float add(const float& own) const {
#if __CUDA_ARCH__ >= 900
    if (blocks > 1) {
      const auto place = static_cast<std::uint32_t>(__cvta_generic_to_shared(&own));
      float sum = 0.0F;
      for (int block = 0; block < blocks; ++block) {
        sum += hopper::read_cluster(hopper::place_in_cluster(place, block));
      }
      return sum;
    }
#endif
    return own;
  }
};

// Outputs of the cluster: the sums over slices and blocks, scaled. Its blocks share the outputs.
template <typename T, typename Division>
__device__ __forceinline__ void finish(const Int8Linear& p, typename Division::Shared& shared,
                                       std::int64_t first_row, const Cluster& cluster) {
  constexpr int kRows = Division::kRows, kThreads = Division::kThreads;
  const int outputs = static_cast<int>(p.rows) * kRows, thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < outputs; i += kThreads) {
    float& sum = shared[0][i / kRows][i % kRows];
#pragma unroll
    for (int slice = 1; slice < Division::kSlices; ++slice) {
      sum += shared[slice][i / kRows][i % kRows];
    }
  }
  cluster.join();
  for (int i = cluster.rank * kThreads + thread; i < outputs; i += cluster.blocks * kThreads) {
    const int token = i / kRows;
    const std::int64_t column = first_row + i % kRows;
    if (column >= p.width) continue;
    const float sum = cluster.add(shared[0][token][i % kRows]);
    const float bias = p.bias == nullptr ? 0.0F : load_one(p.bias, kTypeOf<T>, column);
    store_one(p.output, kTypeOf<T>, token * p.output_stride + column,
              fmaf(p.scales[column], sum, bias));
  }
  cluster.join();  // until the others have read
}

template <typename T, typename Division>
__global__ void __launch_bounds__(Division::kThreads, Division::kBlocks)
    multiply_rows(const __grid_constant__ Int8Linear p) {
  __shared__ typename Division::Shared shared;
  wait_for_previous_kernel();
  allow_next_kernel();
  const Cluster cluster;
  const std::int64_t first_row =
      std::int64_t{blockIdx.x / static_cast<unsigned>(cluster.blocks)} * Division::kRows;
  const Places<Division> places(p, first_row);
  const int depth = static_cast<int>(p.depth), stride = Division::kSlices * cluster.blocks;
  int step = cluster.rank * Division::kSlices + static_cast<int>(threadIdx.x) / 32;
  // The operands of the next step are on their way while those of this one are multiplied.
  constexpr int kPlaces = Division::kInputsAhead ? 2 : 1;
  typename Places<Division>::Weights weights[kPlaces];
  typename Places<Division>::Inputs inputs[kPlaces];
  places.load_weights(weights[0], step);
  if constexpr (Division::kInputsAhead) places.load_inputs(inputs[0], step);
  Sums<T, Division> sums;
  for (; step * kStep < depth; step += kPlaces * stride) {
#pragma unroll
    for (int n = 0; n < kPlaces; ++n) {
      const int next = step + (n + 1) * stride;
      if constexpr (Division::kInputsAhead) {
        places.load_weights(weights[1 - n], next);
        places.load_inputs(inputs[1 - n], next);
        sums.add(weights[n], inputs[n]);  // zeros behind the end
      } else {
        places.load_inputs(inputs[0], next - stride);
        sums.add(weights[0], inputs[0]);
        places.load_weights(weights[0], next);
      }
    }
  }
  sums.keep(shared);
  __syncthreads();
  finish<T, Division>(p, shared, first_row, cluster);
}

bool takes(const Int8Linear& p) {
  if (p.rows > kMostInt8Rows || p.type == DataType::kFloat32) return false;
  if (p.depth > (std::int64_t{1} << 30)) return false;  // counted in 32 bits
  if (p.depth % 16 != 0 || p.input_stride % 8 != 0 || p.weight_stride % 16 != 0) return false;
  return reinterpret_cast<std::uintptr_t>(p.input) % 16 == 0 &&
         reinterpret_cast<std::uintptr_t>(p.weight) % 16 == 0;
}

template <typename T, typename Division>
LaunchStatus start(const Int8Linear& p, unsigned cluster, const Device& device, void* stream) {
  const std::int64_t blocks = ceil_div(p.width, Division::kRows) * cluster;
  if (blocks > std::int64_t{0x7fffffff}) return LaunchStatus::kUnsupported;
  return launch_clusters(multiply_rows<T, Division>, cluster, static_cast<unsigned>(blocks),
                         Division::kThreads, 0, device, stream, p);
}

// Until every multiprocessor has a block, as long as each warp has steps enough.
template <typename Division>
unsigned cluster_of(const Int8Linear& p, const Device& device) {
  constexpr std::int64_t kSteps = std::int64_t{4} * Division::kSlices * kStep;
  unsigned cluster = 1;
  while (device.programmatic_launch && cluster < 8 &&
         ceil_div(p.width, Division::kRows) * cluster < device.multiprocessors &&
         p.depth >= kSteps * cluster * 2) {
    cluster *= 2;
  }
  return cluster;
}

template <typename T>
LaunchStatus start(const Int8Linear& p, const Device& device, void* stream) {
  if (p.rows <= 8) return start<T, Few>(p, cluster_of<Few>(p, device), device, stream);
  const std::int64_t room = device.multiprocessors;
  if (p.width <= room * Many::kBlocks * Many::kRows) {
    return start<T, Many>(p, cluster_of<Many>(p, device), device, stream);
  }
  // Until every multiprocessor has its blocks.
  const bool few = p.width < room * ManyWide::kBlocks * ManyWide::kRows;
  return start<T, ManyWide>(p, few && device.programmatic_launch ? 2 : 1, device, stream);
}

}  // namespace

LaunchStatus int8_linear(const Int8Linear& problem, void* stream) {
  if (problem.rows == 0 || problem.width == 0) return LaunchStatus::kOk;
  if (!takes(problem)) return LaunchStatus::kUnsupported;
  const Device* device = current_device();
  if (device == nullptr) return LaunchStatus::kFailed;
  return problem.type == DataType::kFloat16 ? start<__half>(problem, *device, stream)
                                            : start<__nv_bfloat16>(problem, *device, stream);
}

}  // namespace mindiesd::kernels::cuda
