// wgmma: sums[64 x N] = or += a[64 x 16] * b[16 x N] by the 128 threads of a warpgroup, float32
// sums of float16 or bfloat16 products (PTX ISA 8.0, "wgmma.mma_async"). Entry points: Product,
// begin_products, end_products, wait_for_products, matrix, pin.
//
// Thread t holds columns 8 n + t % 4 * 2 + c of row t / 32 * 16 + t % 32 / 4 + 8 r in the sum
// 4 n + 2 r + c. `a` in registers lies as the one of mma.m16n8k16 does.

#pragma once

#include <cstdint>

#include "kernels/cuda/device.cuh"

namespace mindiesd::kernels::cuda::hopper {

// A matrix in shared memory: groups of 8 rows of 128 bytes, swizzled, 1024 bytes apart. `next`:
// bytes from one group of 64 columns to the next, which is read only where the columns are the
// result's.
__device__ __forceinline__ std::uint64_t matrix(std::uint32_t place, int next) {
  constexpr std::uint64_t kSwizzled = std::uint64_t{1} << 62;
  constexpr std::uint64_t kGroups = std::uint64_t{1024 >> 4} << 32;
  constexpr std::uint32_t kPlaceBits = 0x3ffff;  // above them is the block's rank in its cluster
  return kSwizzled | kGroups | static_cast<std::uint64_t>(next >> 4) << 16 |
         static_cast<std::uint64_t>((place & kPlaceBits) >> 4);
}
// The matrix that begins `bytes` later.
__device__ __forceinline__ std::uint64_t advanced(std::uint64_t matrix, int bytes) {
  // No carry leaves the low word: a place has 18 bits.
  const auto low = static_cast<std::uint32_t>(matrix) + static_cast<std::uint32_t>(bytes >> 4);
  return (matrix & 0xffffffff00000000U) | low;
}

// Comes before products whose registers were written by other instructions.
__device__ __forceinline__ void begin_products() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void end_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
// Returns when at most kLeft groups of products are unfinished.
template <int kLeft>
__device__ __forceinline__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kLeft) : "memory");
}
// The compiler does not see that products use registers until they are waited for: it moves no use
// of these registers across a pin.
template <int kCount>
__device__ __forceinline__ void pin(float (&values)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(values[i])::"memory");
}
template <int kCount>
__device__ __forceinline__ void pin(std::uint32_t (&words)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+r"(words[i])::"memory");
}

// Product<N>::shared<T>(sums, a, b, accumulate): a [64, 16] and b [N, 16] in rows of memory.
// Product<N>::rows<T>(sums, a, b, accumulate): a [64, 16] and b [16, N] in rows of memory.
// Product<N>::registers<T>(sums, a, b, accumulate): a in registers, b [16, N] in rows of memory.
template <int kColumns>
struct Product;

// clang-format off
#define MINDIESD_SUMS(i)                                                                     \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
  "+f"(d[i + 6]), "+f"(d[i + 7])
#define MINDIESD_NAMES_8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define MINDIESD_SUMS_8 MINDIESD_SUMS(0)
#define MINDIESD_NAMES_16 MINDIESD_NAMES_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define MINDIESD_SUMS_16 MINDIESD_SUMS_8, MINDIESD_SUMS(8)
#define MINDIESD_NAMES_24 MINDIESD_NAMES_16 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define MINDIESD_SUMS_24 MINDIESD_SUMS_16, MINDIESD_SUMS(16)
#define MINDIESD_NAMES_32 MINDIESD_NAMES_24 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define MINDIESD_SUMS_32 MINDIESD_SUMS_24, MINDIESD_SUMS(24)
#define MINDIESD_NAMES_40 MINDIESD_NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define MINDIESD_SUMS_40 MINDIESD_SUMS_32, MINDIESD_SUMS(32)
#define MINDIESD_NAMES_48 MINDIESD_NAMES_40 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define MINDIESD_SUMS_48 MINDIESD_SUMS_40, MINDIESD_SUMS(40)
#define MINDIESD_NAMES_56 MINDIESD_NAMES_48 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define MINDIESD_SUMS_56 MINDIESD_SUMS_48, MINDIESD_SUMS(48)
#define MINDIESD_NAMES_64 MINDIESD_NAMES_56 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define MINDIESD_SUMS_64 MINDIESD_SUMS_56, MINDIESD_SUMS(56)
#define MINDIESD_NAMES_72 MINDIESD_NAMES_64 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define MINDIESD_SUMS_72 MINDIESD_SUMS_64, MINDIESD_SUMS(64)
#define MINDIESD_NAMES_80 MINDIESD_NAMES_72 ", %72, %73, %74, %75, %76, %77, %78, %79"
#define MINDIESD_SUMS_80 MINDIESD_SUMS_72, MINDIESD_SUMS(72)
#define MINDIESD_NAMES_88 MINDIESD_NAMES_80 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define MINDIESD_SUMS_88 MINDIESD_SUMS_80, MINDIESD_SUMS(80)
#define MINDIESD_NAMES_96 MINDIESD_NAMES_88 ", %88, %89, %90, %91, %92, %93, %94, %95"
#define MINDIESD_SUMS_96 MINDIESD_SUMS_88, MINDIESD_SUMS(88)
#define MINDIESD_NAMES_104 MINDIESD_NAMES_96 ", %96, %97, %98, %99, %100, %101, %102, %103"
#define MINDIESD_SUMS_104 MINDIESD_SUMS_96, MINDIESD_SUMS(96)
#define MINDIESD_NAMES_112 MINDIESD_NAMES_104 ", %104, %105, %106, %107, %108, %109, %110, %111"
#define MINDIESD_SUMS_112 MINDIESD_SUMS_104, MINDIESD_SUMS(104)
#define MINDIESD_NAMES_120 MINDIESD_NAMES_112 ", %112, %113, %114, %115, %116, %117, %118, %119"
#define MINDIESD_SUMS_120 MINDIESD_SUMS_112, MINDIESD_SUMS(112)
#define MINDIESD_NAMES_128 MINDIESD_NAMES_120 ", %120, %121, %122, %123, %124, %125, %126, %127"
#define MINDIESD_SUMS_128 MINDIESD_SUMS_120, MINDIESD_SUMS(120)

#define MINDIESD_SHARED(type, rows, N, S0, S1, S2)                                        \
  asm volatile(                                                                           \
      "{\n.reg .pred p;\nsetp.ne.b32 p, %" #S2 ", 0;\n"                                   \
      "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." type "." type                     \
      " {" MINDIESD_NAMES_##S0 "}, %" #S0 ", %" #S1 ", p, 1, 1, 0, " rows ";\n}"          \
      : MINDIESD_SUMS_##S0                                                                \
      : "l"(a), "l"(b), "r"(accumulate))
#define MINDIESD_REGISTERS(type, N, S0, S1, S2, S3, S4, S5)                               \
  asm volatile(                                                                           \
      "{\n.reg .pred p;\nsetp.ne.b32 p, %" #S5 ", 0;\n"                                   \
      "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." type "." type                     \
      " {" MINDIESD_NAMES_##S0 "}, {%" #S0 ", %" #S1 ", %" #S2 ", %" #S3 "}, %" #S4       \
      ", p, 1, 1, 1;\n}"                                                                  \
      : MINDIESD_SUMS_##S0                                                                \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate))

// N, the N / 2 sums of a thread, and the numbers that follow.
#define MINDIESD_PRODUCT(N, S0, S1, S2, S3, S4, S5)                                       \
  template <>                                                                             \
  struct Product<N> {                                                                     \
    template <typename T>                                                                 \
    static __device__ __forceinline__ void shared(float (&d)[S0], std::uint64_t a,        \
                                                  std::uint64_t b, int accumulate) {      \
      if constexpr (kTypeOf<T> == DataType::kBFloat16) {                                  \
        MINDIESD_SHARED("bf16", "0", N, S0, S1, S2);                                      \
      } else {                                                                            \
        MINDIESD_SHARED("f16", "0", N, S0, S1, S2);                                       \
      }                                                                                   \
    }                                                                                     \
    template <typename T>                                                                 \
    static __device__ __forceinline__ void rows(float (&d)[S0], std::uint64_t a,          \
                                                std::uint64_t b, int accumulate) {        \
      if constexpr (kTypeOf<T> == DataType::kBFloat16) {                                  \
        MINDIESD_SHARED("bf16", "1", N, S0, S1, S2);                                      \
      } else {                                                                            \
        MINDIESD_SHARED("f16", "1", N, S0, S1, S2);                                       \
      }                                                                                   \
    }                                                                                     \
    template <typename T>                                                                 \
    static __device__ __forceinline__ void registers(float (&d)[S0],                      \
                                                     const std::uint32_t* a,              \
                                                     std::uint64_t b, int accumulate) {   \
      if constexpr (kTypeOf<T> == DataType::kBFloat16) {                                  \
        MINDIESD_REGISTERS("bf16", N, S0, S1, S2, S3, S4, S5);                            \
      } else {                                                                            \
        MINDIESD_REGISTERS("f16", N, S0, S1, S2, S3, S4, S5);                             \
      }                                                                                   \
    }                                                                                     \
  }

MINDIESD_PRODUCT(48, 24, 25, 26, 27, 28, 29);
MINDIESD_PRODUCT(64, 32, 33, 34, 35, 36, 37);
MINDIESD_PRODUCT(80, 40, 41, 42, 43, 44, 45);
MINDIESD_PRODUCT(96, 48, 49, 50, 51, 52, 53);
MINDIESD_PRODUCT(112, 56, 57, 58, 59, 60, 61);
MINDIESD_PRODUCT(128, 64, 65, 66, 67, 68, 69);
MINDIESD_PRODUCT(144, 72, 73, 74, 75, 76, 77);
MINDIESD_PRODUCT(160, 80, 81, 82, 83, 84, 85);
MINDIESD_PRODUCT(176, 88, 89, 90, 91, 92, 93);
MINDIESD_PRODUCT(192, 96, 97, 98, 99, 100, 101);
MINDIESD_PRODUCT(256, 128, 129, 130, 131, 132, 133);
// clang-format on

#undef MINDIESD_PRODUCT
#undef MINDIESD_REGISTERS
#undef MINDIESD_SHARED
#undef MINDIESD_SUMS

}  // namespace mindiesd::kernels::cuda::hopper
