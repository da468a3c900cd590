// What the tensor-core attention kernels do with tiles in shared memory: asynchronous copies, the
// swizzled layout, matrix loads and products. No entry point of its own.

#pragma once

#include "kernels/cuda/device.cuh"

namespace mindiesd::kernels::cuda {

__device__ __forceinline__ std::uint32_t shared_address(const void* memory) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(memory));
}

// Copies `bytes` of kBytes and fills the rest with zeros.
template <int kBytes>
__device__ __forceinline__ void copy_async(std::uint32_t to, const void* from, int bytes) {
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(to), "l"(from), "r"(bytes),
                 "n"(kBytes)
                 : "memory");
  }
}
__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

__device__ __forceinline__ void load_matrices(std::uint32_t (&to)[4], std::uint32_t from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(from)
               : "memory");
}
__device__ __forceinline__ void load_transposed(std::uint32_t (&to)[4], std::uint32_t from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(from)
               : "memory");
}

template <typename T>
__device__ __forceinline__ void multiply(float (&sum)[4], const std::uint32_t (&a)[4],
                                         std::uint32_t b0, std::uint32_t b1) {
  if constexpr (kTypeOf<T> == DataType::kBFloat16) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}

// Rows of kWidth 16-bit values in shared memory: chunk c of row r lies at chunk c ^ swizzle(r).
// Eight rows that begin at a multiple of 8 have each chunk in eight different bank groups.
template <int kWidth>
struct Swizzled {
  static constexpr int kRowBytes = kWidth * 2;
  static constexpr int kChunks = kWidth / 8;
  static constexpr int kGroup = kChunks % 8 == 0 ? 8 : 4;  // chunks that are exchanged
  static constexpr int kSteps = kGroup / 2;                // of 16 values, in a group

  static __device__ __forceinline__ int swizzle(int row) {
    return kGroup == 8 ? row & 7 : (row >> 1) & 3;
  }
  static __device__ __forceinline__ int offset(int row, int chunk) {
    return row * kRowBytes + ((chunk ^ swizzle(row)) << 4);
  }
};

// Where a lane reads: `row` and the half (0 or 1) of a step of 16 columns from column 0 of `base`,
// which is a multiple of 128 bytes. Other rows differ by a constant, other steps in a bit or two.
template <int kWidth>
struct LaneAddress {
  using Layout = Swizzled<kWidth>;
  std::uint32_t at;

  __device__ __forceinline__ LaneAddress(std::uint32_t base, int row, int half)
      : at(base + static_cast<std::uint32_t>(Layout::offset(row, half))) {}
  // `rows` is a multiple of 8.
  __device__ __forceinline__ std::uint32_t operator()(int rows, int step) const {
    return (at ^ static_cast<std::uint32_t>(step % Layout::kSteps * 32)) +
           static_cast<std::uint32_t>(rows * Layout::kRowBytes +
                                      step / Layout::kSteps * Layout::kGroup * 16);
  }
};

// Brings kRows rows of kWidth values, zeros beyond `rows` and `width`. With `vectors` the rows
// begin at multiples of 16 bytes.
template <typename T, int kRows, int kWidth, int kThreads>
__device__ __forceinline__ void load_rows(std::uint32_t to, const T* from, std::int64_t stride,
                                          int rows, int width, bool vectors) {
  using Layout = Swizzled<kWidth>;
  constexpr int kAll = kRows * Layout::kChunks;
  if (vectors) {
    // Where threads keep their column, every address is a constant or a multiple of the stride from
    // the first; the other form costs registers. Addresses that no byte is read from are valid too.
    if constexpr (kThreads % Layout::kChunks == 0 && Layout::kGroup == 8) {
      constexpr int kStep = kThreads / Layout::kChunks;  // a power of two
      const int row = static_cast<int>(threadIdx.x) / Layout::kChunks;
      const int chunk = static_cast<int>(threadIdx.x) % Layout::kChunks;
      const T* place = from + row * stride + chunk * 8;
      const std::uint32_t first = to + static_cast<std::uint32_t>(Layout::offset(row, chunk));
      const int inside = chunk * 8 < width ? rows - row : 0;
#pragma unroll
      for (int i = 0; i < kRows; i += kStep) {
        copy_async<16>((first ^ static_cast<std::uint32_t>((i & 7) * 16)) +
                           static_cast<std::uint32_t>(i * Layout::kRowBytes),
                       i < inside ? place : from, i < inside ? 16 : 0);
        place += kStep * stride;
      }
    } else {
#pragma unroll
      for (int first = 0; first < kAll; first += kThreads) {
        const int i = first + static_cast<int>(threadIdx.x);
        if (kAll % kThreads != 0 && i >= kAll) break;
        const int row = i / Layout::kChunks, chunk = i % Layout::kChunks;
        const bool inside = row < rows && chunk * 8 < width;
        copy_async<16>(to + static_cast<std::uint32_t>(Layout::offset(row, chunk)),
                       inside ? from + row * stride + chunk * 8 : from, inside ? 16 : 0);
      }
    }
    return;
  }
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x); i < kAll; i += kThreads) {
    const int row = i / Layout::kChunks, chunk = i % Layout::kChunks;
    std::uint32_t words[4] = {};
    const auto* place = reinterpret_cast<const std::uint16_t*>(from + row * stride + chunk * 8);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const bool inside = row < rows && chunk * 8 + j < width;
      const std::uint32_t value = inside ? place[j] : 0;
      words[j / 2] |= value << (j % 2 * 16);
    }
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(
                     to + static_cast<std::uint32_t>(Layout::offset(row, chunk))),
                 "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3])
                 : "memory");
  }
}

}  // namespace mindiesd::kernels::cuda
