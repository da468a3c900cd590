// What the CPU kernels share: element types as float32 rows, the exponential, walking over rows.
//
// This header is compiled once for each instruction set, so everything in it has internal linkage
// and nothing here calls an inline function of the standard library: the linker would keep one copy
// of such a function for all sets, perhaps the one with instructions that the machine lacks.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "kernels/cpu/parallel.h"
#include "kernels/problem.h"

namespace mindiesd::kernels::cpu {
namespace {

using std::int64_t;
using std::size_t;
using std::uint16_t;
using std::uint32_t;

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX2__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif

constexpr float kInfinity = __builtin_inff();

inline int64_t min_of(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t max_of(int64_t a, int64_t b) { return a > b ? a : b; }
inline int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

inline float float_of_bits(uint32_t bits) { return __builtin_bit_cast(float, bits); }
inline uint32_t bits_of_float(float value) { return __builtin_bit_cast(uint32_t, value); }

// bfloat16 is the upper half of a float32. Rounds to nearest, ties to even; a NaN stays one.
inline float float_of_bf16(uint16_t value) { return float_of_bits(uint32_t{value} << 16); }
inline uint16_t bf16_of_float(float value) {
  const uint32_t bits = bits_of_float(value);
  const uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  const uint32_t quiet_nan = (bits >> 16) | 0x40U;
  return static_cast<uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? quiet_nan : rounded);
}

// float16 (IEEE 754 binary16) without branches, so that the loops below vectorise where the machine
// has no conversion of its own. Shifting exponent and mantissa into float32's places leaves a value
// 2^-112 too small, subnormals included; a multiplication mends it.
inline float float_of_f16(uint16_t value) {
  const uint32_t magnitude = value & 0x7fffU;
  const float scaled = float_of_bits(magnitude << 13) * 0x1p112F;
  const uint32_t finite = bits_of_float(scaled);
  const uint32_t special = 0x7f800000U | (magnitude << 13);
  const uint32_t bits = magnitude >= 0x7c00U ? special : finite;
  return float_of_bits(bits | (uint32_t{value & 0x8000U} << 16));
}
// Rounds to nearest, ties to even. Normal results: integer rounding of the mantissa. Subnormal
// results: adding 0.5 makes the float32 adder round at the right place (its ulp there is 2^-24).
inline uint16_t f16_of_float(float value) {
  const uint32_t bits = bits_of_float(value);
  const uint32_t magnitude = bits & 0x7fffffffU;
  const uint32_t normal = (magnitude - 0x38000000U + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
  const uint32_t subnormal = bits_of_float(float_of_bits(magnitude) + 0.5F) - 0x3f000000U;
  const uint32_t nan = 0x7e00U | ((magnitude >> 13) & 0x3ffU);
  uint32_t result = magnitude < 0x38800000U ? subnormal : normal;
  result = magnitude >= 0x477ff000U ? 0x7c00U : result;  // rounds past 65504
  result = magnitude > 0x7f800000U ? nan : result;
  return static_cast<uint16_t>(result | ((bits >> 16) & 0x8000U));
}

inline size_t size_of(DataType type) {
  switch (type) {
    case DataType::kFloat32:
    case DataType::kInt32:
      return 4;
    case DataType::kFloat16:
    case DataType::kBFloat16:
      return 2;
    case DataType::kBool:
    case DataType::kInt8:
      return 1;
    case DataType::kInt64:
    case DataType::kFloat64:
      return 8;
  }
  return 0;
}

// The address of element `offset`.
inline const void* at(const void* base, DataType type, int64_t offset) {
  return static_cast<const char*>(base) + offset * static_cast<int64_t>(size_of(type));
}
inline void* at(void* base, DataType type, int64_t offset) {
  return static_cast<char*>(base) + offset * static_cast<int64_t>(size_of(type));
}

// `count` elements, `step` apart, as float32. Addresses need no alignment beyond the element's.
inline void load_row(float* to, const void* from, DataType type, int64_t step, int64_t count) {
  if (type == DataType::kFloat32) {
    const float* source = static_cast<const float*>(from);
    if (step == 1) {
      std::memcpy(to, source, static_cast<size_t>(count) * sizeof(float));
    } else {
      for (int64_t i = 0; i < count; ++i) to[i] = source[i * step];
    }
  } else if (type == DataType::kBFloat16) {
    const uint16_t* source = static_cast<const uint16_t*>(from);
    if (step == 1) {
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) to[i] = float_of_bf16(source[i]);
    } else {
      for (int64_t i = 0; i < count; ++i) to[i] = float_of_bf16(source[i * step]);
    }
  } else if (type == DataType::kFloat16) {
    const uint16_t* source = static_cast<const uint16_t*>(from);
    int64_t i = 0;
    if (step == 1) {
#if defined(__F16C__)
      for (; i + 8 <= count; i += 8) {
        const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + i));
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(half));
      }
#endif
#pragma omp simd
      for (int64_t j = i; j < count; ++j) to[j] = float_of_f16(source[j]);
    } else {
      for (; i < count; ++i) to[i] = float_of_f16(source[i * step]);
    }
  } else if (type == DataType::kFloat64) {
    const double* source = static_cast<const double*>(from);
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(source[i * step]);
  } else {
    const std::uint8_t* source = static_cast<const std::uint8_t*>(from);
    for (int64_t i = 0; i < count; ++i) to[i] = source[i * step] != 0 ? 1.0F : 0.0F;
  }
}

inline void store_row(void* to, const float* from, DataType type, int64_t step, int64_t count) {
  if (type == DataType::kFloat32) {
    float* target = static_cast<float*>(to);
    if (step == 1) {
      std::memcpy(target, from, static_cast<size_t>(count) * sizeof(float));
    } else {
      for (int64_t i = 0; i < count; ++i) target[i * step] = from[i];
    }
  } else if (type == DataType::kBFloat16) {
    uint16_t* target = static_cast<uint16_t*>(to);
    if (step == 1) {
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) target[i] = bf16_of_float(from[i]);
    } else {
      for (int64_t i = 0; i < count; ++i) target[i * step] = bf16_of_float(from[i]);
    }
  } else {
    uint16_t* target = static_cast<uint16_t*>(to);
    int64_t i = 0;
    if (step == 1) {
#if defined(__F16C__)
      for (; i + 8 <= count; i += 8) {
        const __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(target + i), half);
      }
#endif
#pragma omp simd
      for (int64_t j = i; j < count; ++j) target[j] = f16_of_float(from[j]);
    } else {
      for (; i < count; ++i) target[i * step] = f16_of_float(from[i]);
    }
  }
}

// Dense float32, which is read and written where it lies.
inline bool is_plain(const RowOperand& operand) {
  return operand.type == DataType::kFloat32 && operand.step == 1;
}

// Rounds a row to what `type` can hold and back.
inline void round_row(float* row, DataType type, int64_t count) {
  if (type == DataType::kBFloat16) {
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) row[i] = float_of_bf16(bf16_of_float(row[i]));
  } else if (type == DataType::kFloat16) {
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) row[i] = float_of_f16(f16_of_float(row[i]));
  }
}

// e^x for x <= 88, to 0.6 ulp, without branches. x = n ln 2 + r with ln 2 split in two (Cody and
// Waite, Software Manual for the Elementary Functions, 1980), a Taylor polynomial of degree 7 on
// |r| <= ln 2 / 2 (its remainder, r^8 / 8!, is below 2^-27 of the result), and 2^n applied in two
// halves so that subnormal results come out. What rounding takes from r and from 1 + r is carried
// along (Dekker's fast two-sum): weights of softmax are compared with torch's, which are as exact.
// -inf gives 0, NaN gives NaN.
inline float exp_of(float x) {
  const float clamped = x < -104.0F ? -104.0F : x;  // e^-104 rounds to 0; a NaN passes
  constexpr float kRound = 0x1.8p23F;               // adding it rounds to the nearest integer
  const float shifted = clamped * 1.44269504088896341F + kRound;
  const float n = shifted - kRound;
  const float upper = clamped - n * 0.693145751953125F;  // exact: 16 bits times 8
  const float r = upper - n * 1.42860682030941723e-6F;
  const float r_rest = (upper - r) - n * 1.42860682030941723e-6F;
  float p = 1.0F / 5040.0F;
  p = p * r + 1.0F / 720.0F;
  p = p * r + 1.0F / 120.0F;
  p = p * r + 1.0F / 24.0F;
  p = p * r + 1.0F / 6.0F;
  p = p * r + 0.5F;
  const float sum = 1.0F + r;
  const float sum_rest = (1.0F - sum) + r;
  p = sum + (sum_rest + (r * r * p + r_rest));
  // The integer n stands in the low bits of `shifted`.
  const std::int32_t exponent =
      static_cast<std::int32_t>(bits_of_float(shifted) - bits_of_float(kRound));
  const std::int32_t half = exponent >> 1;
  const float first = float_of_bits(static_cast<uint32_t>(half + 127) << 23);
  const float second = float_of_bits(static_cast<uint32_t>(exponent - half + 127) << 23);
  return p * first * second;
}

// e^x for x <= 0 to 1.5 ulp: exp_of without its compensation, which what follows would round away.
inline float decay(float x) {
  const float clamped = x < -104.0F ? -104.0F : x;  // a NaN passes
  constexpr float kRound = 0x1.8p23F;
  const float shifted = clamped * 1.44269504088896341F + kRound;
  const float n = shifted - kRound;
  const float r = (clamped - n * 0.693145751953125F) - n * 1.42860682030941723e-6F;
  float p = 1.0F / 720.0F;
  p = p * r + 1.0F / 120.0F;
  p = p * r + 1.0F / 24.0F;
  p = p * r + 1.0F / 6.0F;
  p = p * r + 0.5F;
  p = p * r * r + r + 1.0F;
  // 2^64 times the power of two, which is no subnormal number; the last product may be one.
  const float scale =
      float_of_bits((bits_of_float(shifted) - bits_of_float(kRound) + (127U + 64U)) << 23);
  return p * scale * 0x1p-64F;
}

inline float magnitude(float x) { return x < 0.0F ? -x : x; }

// x sigmoid(v), exact in both tails: e^-|v| never overflows.
inline float times_sigmoid(float x, float v) {
  const float e = decay(-magnitude(v));
  return x * ((v < 0.0F ? e : 1.0F) / (1.0F + e));
}

// tanh to 2 ulp: a Taylor polynomial where 1 - e^(-2 |x|) would lose digits.
inline float tanh_of(float x) {
  const float size = x < 0.0F ? -x : x;
  const float e = decay(-2.0F * size);
  const float square = x * x;
  float p = -1382.0F / 155925.0F;
  p = p * square + 62.0F / 2835.0F;
  p = p * square - 17.0F / 315.0F;
  p = p * square + 2.0F / 15.0F;
  p = p * square - 1.0F / 3.0F;
  const float near = size + size * square * p;
  const float far = (1.0F - e) / (1.0F + e);
  const float result = size < 0.25F ? near : far;  // a NaN takes the second
  return x < 0.0F ? -result : result;
}

// The row index in each leading dimension, and the element offset of every operand of a walk.
template <int kOperands>
class RowWalk {
 public:
  RowWalk(const RowSpace& rows, const int64_t* const (&strides)[kOperands], int64_t row)
      : rows_(rows) {
    for (int k = 0; k < kOperands; ++k) {
      strides_[k] = strides[k];
      offset_[k] = 0;
    }
    for (int d = rows.rank - 1; d >= 0; --d) {
      index_[d] = row % rows.sizes[d];
      row /= rows.sizes[d];
      for (int k = 0; k < kOperands; ++k) offset_[k] += index_[d] * strides_[k][d];
    }
  }

  int64_t offset(int operand) const { return offset_[operand]; }

  void next() {
    for (int d = rows_.rank - 1; d >= 0; --d) {
      if (++index_[d] < rows_.sizes[d]) {
        for (int k = 0; k < kOperands; ++k) offset_[k] += strides_[k][d];
        return;
      }
      index_[d] = 0;
      for (int k = 0; k < kOperands; ++k) offset_[k] -= (rows_.sizes[d] - 1) * strides_[k][d];
    }
  }

 private:
  const RowSpace& rows_;
  const int64_t* strides_[kOperands];
  int64_t index_[kMaxRank] = {};
  int64_t offset_[kOperands];
};

// Rows per range, so that a range is worth a thread: about 32 K elements.
inline int64_t row_grain(int64_t width) { return max_of(1, 32768 / max_of(width, 1)); }

// Set by any thread that got no memory.
struct OutOfMemory {
  bool flag = false;
  void set() { __atomic_store_n(&flag, true, __ATOMIC_RELAXED); }
  LaunchStatus status() const { return flag ? LaunchStatus::kOutOfMemory : LaunchStatus::kOk; }
};

}  // namespace
}  // namespace mindiesd::kernels::cpu
