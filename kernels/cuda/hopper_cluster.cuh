// Blocks of threads that run together as a cluster and read each other's shared memory (PTX ISA
// 7.8, "mapa", "barrier.cluster", "ld.shared::cluster"). A kernel that is launched without clusters
// has one block in each. No entry point of its own.

#pragma once

#include <cstdint>

namespace mindiesd::kernels::cuda::hopper {

__device__ __forceinline__ int rank_in_cluster() {
  std::uint32_t rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return static_cast<int>(rank);
}
__device__ __forceinline__ int blocks_of_cluster() {
  std::uint32_t blocks;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
  return static_cast<int>(blocks);
}

// Until every thread of the cluster has come here; what they wrote before is seen by all.
__device__ __forceinline__ void join_cluster() {
  asm volatile(
      "barrier.cluster.arrive.release;\n"
      "barrier.cluster.wait.acquire;" ::
          : "memory");
}

// Where another block of the cluster has what this one has at `place`.
__device__ __forceinline__ std::uint32_t place_in_cluster(std::uint32_t place, int block) {
  std::uint32_t there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(place), "r"(block));
  return there;
}
__device__ __forceinline__ float read_cluster(std::uint32_t place) {
  float value;
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(place) : "memory");
  return value;
}
__device__ __forceinline__ float4 read_cluster_four(std::uint32_t place) {
  float4 four;
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(four.x), "=f"(four.y), "=f"(four.z), "=f"(four.w)
               : "r"(place)
               : "memory");
  return four;
}

}  // namespace mindiesd::kernels::cuda::hopper
