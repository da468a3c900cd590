// The instructions of compute capability 9.0a that CUDA C++ has no names for: barriers in shared
// memory, tiles by the copy engine (TMA), named barriers, registers of a warpgroup. PTX
// ISA 8.0, sections "mbarrier", "cp.async.bulk.tensor", "setmaxnreg". No entry point of its own.

#pragma once

#include <cuda.h>

#include <cstdint>

namespace mindiesd::kernels::cuda::hopper {

__device__ __forceinline__ std::uint32_t shared_place(const void* memory) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(memory));
}

// --- barriers in shared memory -------------------------------------------------------------------

__device__ __forceinline__ void make_barrier(std::uint32_t barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
// Makes new barriers visible to the copy engine.
__device__ __forceinline__ void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void arrive(std::uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ void arrive_and_expect(std::uint32_t barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
// Until the phase of this parity is over.
__device__ __forceinline__ void wait_for(std::uint32_t barrier, std::uint32_t parity) {
  asm volatile(
      "{\n.reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// --- the copy engine -----------------------------------------------------------------------------

struct Coordinates {
  int column, x, y, fourth, fifth;
};

__device__ __forceinline__ void prefetch_map(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// Brings a box to `to` and counts its bytes at `barrier`; what lies outside of the tensor is zeros.
__device__ __forceinline__ void load_box(std::uint32_t to, const CUtensorMap* map,
                                         std::uint32_t barrier, const Coordinates& at) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(to),
      "l"(map), "r"(barrier), "r"(at.column), "r"(at.x), "r"(at.y), "r"(at.fourth), "r"(at.fifth)
      : "memory");
}
// Brings a box from `from` to where the map says, but for what lies outside of the tensor.
__device__ __forceinline__ void store_box(const CUtensorMap* map, std::uint32_t from,
                                          const Coordinates& at) {
  asm volatile(
      "cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5, %6}], "
      "[%1];" ::"l"(map),
      "r"(from), "r"(at.column), "r"(at.x), "r"(at.y), "r"(at.fourth), "r"(at.fifth)
      : "memory");
}
__device__ __forceinline__ void commit_stores() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
// Until the memory that this thread's stores come from may be written again.
__device__ __forceinline__ void wait_for_stores() {
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
// What this thread wrote becomes visible to the copy engine.
__device__ __forceinline__ void publish_writes() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Four matrices of 8 x 8 values of 16 bits; lane l gives the place of row l % 8 of matrix l / 8.
__device__ __forceinline__ void store_matrices(std::uint32_t to, std::uint32_t a, std::uint32_t b,
                                               std::uint32_t c, std::uint32_t d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(a),
               "r"(b), "r"(c), "r"(d)
               : "memory");
}

// --- warpgroups ----------------------------------------------------------------------------------

// A value that all lanes have, taken from one of them: so the compiler keeps it in a register of
// the warp, where descriptors of matrices have to be.
__device__ __forceinline__ int uniform(int value) { return __shfl_sync(0xffffffffU, value, 0); }

template <int kRegisters>
__device__ __forceinline__ void give_registers_back() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

template <int kThreads>
__device__ __forceinline__ void named_barrier_wait(int number) {
  asm volatile("barrier.cta.sync %0, %1;" ::"r"(number), "n"(kThreads) : "memory");
}
template <int kThreads>
__device__ __forceinline__ void named_barrier_arrive(int number) {
  asm volatile("barrier.cta.arrive %0, %1;" ::"r"(number), "n"(kThreads) : "memory");
}

}  // namespace mindiesd::kernels::cuda::hopper
