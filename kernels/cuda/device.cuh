// What the CUDA kernels share on the device: element types, 128-bit memory access, programmatic
// launch. No entry point of its own.

#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "kernels/cuda/row_map.h"
#include "kernels/problem.h"

namespace mindiesd::kernels::cuda {

template <typename T>
inline constexpr DataType kTypeOf = DataType::kFloat32;
template <>
inline constexpr DataType kTypeOf<__half> = DataType::kFloat16;
template <>
inline constexpr DataType kTypeOf<__nv_bfloat16> = DataType::kBFloat16;

// --- memory ------------------------------------------------------------------------------------

template <int kBytes>
struct Raw {
  std::uint32_t words[kBytes / 4];
};

// Operands of the operation itself: coherent loads, since some operations write over their input.
// With the default cache policy: keeping them out of the first-level cache cost 2 % on an H200.
template <int kBytes>
__device__ __forceinline__ Raw<kBytes> load_operand(const void* from) {
  Raw<kBytes> raw;
  if constexpr (kBytes == 16) {
    const uint4 value = *static_cast<const uint4*>(from);
    raw.words[0] = value.x, raw.words[1] = value.y, raw.words[2] = value.z, raw.words[3] = value.w;
  } else {
    static_assert(kBytes == 8);
    const uint2 value = *static_cast<const uint2*>(from);
    raw.words[0] = value.x, raw.words[1] = value.y;
  }
  return raw;
}

// Data that other threads read too and nobody writes meanwhile: weights, tables, modulation.
template <int kBytes>
__device__ __forceinline__ Raw<kBytes> load_shared_data(const void* from) {
  Raw<kBytes> raw;
  if constexpr (kBytes == 16) {
    const uint4 value = __ldg(static_cast<const uint4*>(from));
    raw.words[0] = value.x, raw.words[1] = value.y, raw.words[2] = value.z, raw.words[3] = value.w;
  } else if constexpr (kBytes == 8) {
    const uint2 value = __ldg(static_cast<const uint2*>(from));
    raw.words[0] = value.x, raw.words[1] = value.y;
  } else {
    static_assert(kBytes == 4);
    raw.words[0] = __ldg(static_cast<const unsigned*>(from));
  }
  return raw;
}

template <int kBytes>
__device__ __forceinline__ void store_raw(void* to, const Raw<kBytes>& raw) {
  if constexpr (kBytes == 16) {
    *static_cast<uint4*>(to) = make_uint4(raw.words[0], raw.words[1], raw.words[2], raw.words[3]);
  } else if constexpr (kBytes == 8) {
    *static_cast<uint2*>(to) = make_uint2(raw.words[0], raw.words[1]);
  } else {
    static_assert(kBytes == 4);
    *static_cast<unsigned*>(to) = raw.words[0];
  }
}

// --- conversions -------------------------------------------------------------------------------

template <typename T>
__device__ __forceinline__ void unpack_word(std::uint32_t word, float& low, float& high) {
  if constexpr (kTypeOf<T> == DataType::kBFloat16) {
    low = __uint_as_float(word << 16);
    high = __uint_as_float(word & 0xffff0000U);
  } else {
    const float2 both = __half22float2(*reinterpret_cast<const __half2*>(&word));
    low = both.x;
    high = both.y;
  }
}

template <typename T>
__device__ __forceinline__ std::uint32_t pack_word(float low, float high) {
  if constexpr (kTypeOf<T> == DataType::kBFloat16) {
    const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<const std::uint32_t*>(&both);
  } else {
    const __half2 both = __floats2half2_rn(low, high);
    return *reinterpret_cast<const std::uint32_t*>(&both);
  }
}

template <typename T, int kBytes>
__device__ __forceinline__ void unpack(const Raw<kBytes>& raw, float* values) {
#pragma unroll
  for (int i = 0; i < kBytes / 4; ++i) {
    if constexpr (sizeof(T) == 4) {
      values[i] = __uint_as_float(raw.words[i]);
    } else {
      unpack_word<T>(raw.words[i], values[2 * i], values[2 * i + 1]);
    }
  }
}

// unpack, without letting the compiler keep the values of an earlier unpack of the same registers.
template <typename T, int kBytes>
__device__ __forceinline__ void unpack_again(Raw<kBytes>& raw, float* values) {
#pragma unroll
  for (std::uint32_t& word : raw.words) asm volatile("" : "+r"(word));
  unpack<T>(raw, values);
}

// `again` is a constant where this is inlined.
template <typename T, int kBytes>
__device__ __forceinline__ void unpack_as(bool again, Raw<kBytes>& raw, float* values) {
  if (again) {
    unpack_again<T>(raw, values);
  } else {
    unpack<T>(raw, values);
  }
}

template <typename T, int kBytes>
__device__ __forceinline__ Raw<kBytes> pack(const float* values) {
  Raw<kBytes> raw;
#pragma unroll
  for (int i = 0; i < kBytes / 4; ++i) {
    if constexpr (sizeof(T) == 4) {
      raw.words[i] = __float_as_uint(values[i]);
    } else {
      raw.words[i] = pack_word<T>(values[2 * i], values[2 * i + 1]);
    }
  }
  return raw;
}

__device__ __forceinline__ float round_to(float value, DataType type) {
  if (type == DataType::kBFloat16) return __bfloat162float(__float2bfloat16_rn(value));
  if (type == DataType::kFloat16) return __half2float(__float2half_rn(value));
  return value;
}

// --- arithmetic --------------------------------------------------------------------------------

// One instruction each, with relative errors below 2^-22; subnormal results are zero.
__device__ __forceinline__ float exp2_fast(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
__device__ __forceinline__ float reciprocal_fast(float x) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

// x * sigmoid(t). For t far below zero the exponential is infinite and the result -0.
template <bool kExact>
__device__ __forceinline__ float times_sigmoid(float x, float t) {
  if constexpr (kExact) return x / (1.0F + expf(-t));
  return x * reciprocal_fast(1.0F + exp2_fast(t * -1.4426950408889634F));
}

// tanh, for half precisions to 2^-20 of itself: a Taylor polynomial where 1 - e^(-2 |x|) would lose
// digits.
template <bool kExact>
__device__ __forceinline__ float tanh_of(float x) {
  if constexpr (kExact) return tanhf(x);
  const float size = fabsf(x), square = x * x;
  const float e = exp2_fast(size * (-2.0F * 1.4426950408889634F));
  float near = fmaf(square, -1382.0F / 155925.0F, 62.0F / 2835.0F);
  near = fmaf(square, near, -17.0F / 315.0F);
  near = fmaf(square, near, 2.0F / 15.0F);
  near = fmaf(square, near, -1.0F / 3.0F);
  near = fmaf(size * square, near, size);
  return copysignf(size < 0.25F ? near : (1.0F - e) * reciprocal_fast(1.0F + e), x);
}

// A NaN stays, as torch's clamp and amax have it.
__device__ __forceinline__ float max_nan(float a, float b) {
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}
__device__ __forceinline__ float min_nan(float a, float b) {
  float result;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}

// Squares of values from 2^54 on may add up to more than float32 holds. A norm of such a row is
// that of the row times kDown, whose squares fit, with eps_down in place of eps; results differ by
// what float32 rounds.
constexpr float kDown = 0x1p-80F;
__device__ __forceinline__ bool is_finite(float x) { return fabsf(x) <= 0x1.fffffep127F; }
// Above zero, so that a row of one value has zeros for its deviations still.
__device__ __forceinline__ float eps_down(float eps) { return fmaf(eps * kDown, kDown, 0x1p-126F); }

template <typename T, int kBytes>
__device__ __forceinline__ void bring_raw_down(Raw<kBytes>& raw, bool again = true) {
  float x[kBytes / sizeof(T)];
  unpack_as<T>(again, raw, x);
#pragma unroll
  for (float& value : x) value *= kDown;
  raw = pack<T, kBytes>(x);
}
// Whether the squares of values of type T can be too many.
template <typename T>
constexpr bool kOverflows = kTypeOf<T> != DataType::kFloat16;

// --- operands whose type is known at run time ----------------------------------------------------

// One element.
__device__ __forceinline__ float load_one(const void* base, DataType type, std::int64_t index) {
  switch (type) {
    case DataType::kFloat32:
      return static_cast<const float*>(base)[index];
    case DataType::kFloat16:
      return __half2float(static_cast<const __half*>(base)[index]);
    case DataType::kBFloat16:
      return __bfloat162float(static_cast<const __nv_bfloat16*>(base)[index]);
    default:
      return static_cast<const std::uint8_t*>(base)[index] != 0 ? 1.0F : 0.0F;
  }
}

__device__ __forceinline__ void store_one(void* base, DataType type, std::int64_t index,
                                          float value) {
  switch (type) {
    case DataType::kFloat16:
      static_cast<__half*>(base)[index] = __float2half_rn(value);
      break;
    case DataType::kBFloat16:
      static_cast<__nv_bfloat16*>(base)[index] = __float2bfloat16_rn(value);
      break;
    default:
      static_cast<float*>(base)[index] = value;
      break;
  }
}

template <int kBytes, bool kCoherent>
__device__ __forceinline__ Raw<kBytes> load_bytes(const void* from) {
  if constexpr (kCoherent) return load_operand<kBytes>(from);
  return load_shared_data<kBytes>(from);
}

// kCount dense values from element `index` on. The type is the same for the whole launch, so the
// branches do not diverge. Alignment: min(16, kCount * element size). kCoherent: an operand that
// the kernel may write over.
template <int kCount, bool kCoherent = false>
__device__ __forceinline__ void load_values(const void* base, DataType type, std::int64_t index,
                                            float* values) {
  if constexpr (kCount == 1) {
    values[0] = load_one(base, type, index);
  } else if (type == DataType::kFloat32) {
    constexpr int kBytes = kCount * 4 < 16 ? kCount * 4 : 16;
#pragma unroll
    for (int i = 0; i < kCount * 4 / kBytes; ++i) {
      const char* place = static_cast<const char*>(base) + index * 4 + i * kBytes;
      unpack<float>(load_bytes<kBytes, kCoherent>(place), values + i * (kBytes / 4));
    }
  } else {
    constexpr int kBytes = kCount * 2 < 16 ? kCount * 2 : 16;
#pragma unroll
    for (int i = 0; i < kCount * 2 / kBytes; ++i) {
      const char* place = static_cast<const char*>(base) + index * 2 + i * kBytes;
      const Raw<kBytes> raw = load_bytes<kBytes, kCoherent>(place);
      if (type == DataType::kBFloat16) {
        unpack<__nv_bfloat16>(raw, values + i * (kBytes / 2));
      } else {
        unpack<__half>(raw, values + i * (kBytes / 2));
      }
    }
  }
}

template <int kCount>
__device__ __forceinline__ void store_values(void* base, DataType type, std::int64_t index,
                                             const float* values) {
  if (type == DataType::kFloat32) {
    constexpr int kBytes = kCount * 4 < 16 ? kCount * 4 : 16;
#pragma unroll
    for (int i = 0; i < kCount * 4 / kBytes; ++i) {
      char* place = static_cast<char*>(base) + index * 4 + i * kBytes;
      store_raw(place, pack<float, kBytes>(values + i * (kBytes / 4)));
    }
    return;
  }
  constexpr int kBytes = kCount * 2 < 16 ? kCount * 2 : 16;
#pragma unroll
  for (int i = 0; i < kCount * 2 / kBytes; ++i) {
    char* place = static_cast<char*>(base) + index * 2 + i * kBytes;
    if (type == DataType::kBFloat16) {
      store_raw(place, pack<__nv_bfloat16, kBytes>(values + i * (kBytes / 2)));
    } else {
      store_raw(place, pack<__half, kBytes>(values + i * (kBytes / 2)));
    }
  }
}

// The same where the type is that of the kernel, T, or float32: what the vectorised kernels of half
// precisions take (host.h: mixes). Each type more is another copy of the loads in every instance.
template <typename T, int kCount, bool kCoherent = false>
__device__ __forceinline__ void load_mixed(const void* base, DataType type, std::int64_t index,
                                           float* values) {
  load_values<kCount, kCoherent>(
      base, sizeof(T) == 4 || type == DataType::kFloat32 ? DataType::kFloat32 : kTypeOf<T>, index,
      values);
}
template <typename T, int kCount>
__device__ __forceinline__ void store_mixed(void* base, DataType type, std::int64_t index,
                                            const float* values) {
  store_values<kCount>(
      base, sizeof(T) == 4 || type == DataType::kFloat32 ? DataType::kFloat32 : kTypeOf<T>, index,
      values);
}

// A vector of any type that the kernels of T take, or, with kSame, of type T. The latter is the
// common case, and conversions chosen at run time cost more instructions than memory leaves time
// for.
template <typename T, bool kSame, bool kCoherent = false>
__device__ __forceinline__ void load_vector(const void* base, DataType type, std::int64_t at,
                                            float* values) {
  if constexpr (kSame) {
    unpack<T>(load_bytes<16, kCoherent>(static_cast<const T*>(base) + at), values);
  } else if constexpr (sizeof(T) == 4) {
    load_values<4, kCoherent>(base, type, at, values);
  } else {
    load_mixed<T, 16 / sizeof(T), kCoherent>(base, type, at, values);
  }
}
template <typename T, bool kSame>
__device__ __forceinline__ void store_vector(void* base, DataType type, std::int64_t at,
                                             const float* values) {
  if constexpr (kSame) {
    store_raw(static_cast<T*>(base) + at, pack<T, 16>(values));
  } else if constexpr (sizeof(T) == 4) {
    store_values<4>(base, type, at, values);
  } else {
    store_mixed<T, 16 / sizeof(T)>(base, type, at, values);
  }
}

// A broadcast or dense operand: step 0 or 1.
struct Modulation {
  const void* data;
  DataType type;
  int step;
};

// With kSame its step is 1.
template <typename T, bool kSame>
__device__ __forceinline__ void load_modulation(const Modulation& operand, std::int64_t row,
                                                int column, float* values) {
  if (kSame || operand.step != 0) {
    load_vector<T, kSame>(operand.data, operand.type, row + column, values);
    return;
  }
  const float value = load_one(operand.data, operand.type, row);
#pragma unroll
  for (int i = 0; i < 16 / static_cast<int>(sizeof(T)); ++i) values[i] = value;
}

// A weight or modulator of as many columns as 16 bytes of T hold, as it lies in memory: of type M,
// which is T, or float where T is half precision.
template <typename T, typename M>
struct Held {
  static constexpr int kCount = 16 / static_cast<int>(sizeof(T));
  static constexpr int kParts = static_cast<int>(sizeof(M) / sizeof(T));
  Raw<16> raw[kParts];

  __device__ __forceinline__ void fill(float value) {
    float values[kCount];
#pragma unroll
    for (int i = 0; i < kCount; ++i) values[i] = value;
    set(values);
  }
  // `vector`: which columns.
  __device__ __forceinline__ void load(const char* row, int vector) {
#pragma unroll
    for (int i = 0; i < kParts; ++i)
      raw[i] = load_shared_data<16>(row + (vector * kParts + i) * 16);
  }
  __device__ __forceinline__ void get(float* values) const {
#pragma unroll
    for (int i = 0; i < kParts; ++i) unpack<M>(raw[i], values + i * (kCount / kParts));
  }
  __device__ __forceinline__ void set(const float* values) {
#pragma unroll
    for (int i = 0; i < kParts; ++i) raw[i] = pack<M, 16>(values + i * (kCount / kParts));
  }
  __device__ __forceinline__ void take_tanh() {
    float values[kCount];
    get(values);
#pragma unroll
    for (float& value : values) value = tanh_of < sizeof(M) == 4 > (value);
    set(values);
  }
  // (this + more) * factor
  __device__ __forceinline__ void multiply(const Held& factor, float more) {
    float values[kCount], by[kCount];
    get(values);
    factor.get(by);
#pragma unroll
    for (int i = 0; i < kCount; ++i) values[i] = (values[i] + more) * by[i];
    set(values);
  }
  // Without letting the compiler keep what an earlier call computed.
  __device__ __forceinline__ void get_again(float* values) {
    if constexpr (kParts == 1) {
      unpack_again<T>(raw[0], values);
    } else {
      get(values);
    }
  }
};

// --- programmatic launch -----------------------------------------------------------------------

// The kernel before this one in the stream may still be running until here: nothing that it may
// have written is read earlier. Every thread of every kernel calls it, so that a grid's end implies
// the end of all before it.
__device__ __forceinline__ void wait_for_previous_kernel() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Lets the blocks of the next kernel start while this one's last blocks run.
__device__ __forceinline__ void allow_next_kernel() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

}  // namespace mindiesd::kernels::cuda
