// What the kernel tests share: float64 values stored as any element type, random strided tensors,
// the accuracy bound. The references here and in the tests are written for reading, not for speed.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cpu/launch.h"
#include "kernels/problem.h"

namespace mindiesd::kernels::test {

inline const DataType kFloatTypes[] = {DataType::kFloat32, DataType::kFloat16, DataType::kBFloat16};

inline const char* name_of(DataType type) {
  return type == DataType::kFloat32   ? "float32"
         : type == DataType::kFloat16 ? "float16"
                                      : "bfloat16";
}

inline std::size_t bytes_of(DataType type) {
  return type == DataType::kFloat32 ? 4 : type == DataType::kBool ? 1 : 2;
}

// Distance from 1 to the next value, and the exponent of the smallest normal value.
struct Format {
  int mantissa_bits;
  int min_exponent;
};
inline Format format_of(DataType type) {
  if (type == DataType::kFloat32) return {23, -126};
  if (type == DataType::kFloat16) return {10, -14};
  return {7, -126};
}

// The unit in the last place at `value`.
inline double ulp(double value, DataType type) {
  const Format format = format_of(type);
  const int exponent = value == 0.0 ? format.min_exponent : std::ilogb(value);
  return std::ldexp(1.0, std::max(exponent, format.min_exponent) - format.mantissa_bits);
}

// Rounded to nearest, ties to even, by arithmetic on doubles: independent of the kernels' bit
// tricks.
inline double rounded(double value, DataType type) {
  if (!std::isfinite(value)) return value;
  const double unit = ulp(value, type);
  const double result = std::nearbyint(value / unit) * unit;
  const double largest = type == DataType::kFloat16 ? 65504.0 : 3.4028234663852886e38;
  return std::abs(result) > largest ? std::copysign(INFINITY, value) : result;
}

inline void store(void* base, std::int64_t index, DataType type, double value) {
  char* place = static_cast<char*>(base) + index * static_cast<std::int64_t>(bytes_of(type));
  if (type == DataType::kBool) {
    *place = value != 0.0 ? 1 : 0;
    return;
  }
  const double exact = rounded(value, type);
  if (type == DataType::kFloat32) {
    const float stored = static_cast<float>(exact);
    std::memcpy(place, &stored, 4);
  } else if (type == DataType::kBFloat16) {
    const float stored = static_cast<float>(exact);
    std::uint32_t bits;
    std::memcpy(&bits, &stored, 4);
    const auto upper = static_cast<std::uint16_t>(bits >> 16);
    std::memcpy(place, &upper, 2);
  } else {
    std::uint16_t bits = std::signbit(exact) ? 0x8000 : 0;
    const double magnitude = std::abs(exact);
    if (std::isnan(exact)) {
      bits |= 0x7e00;
    } else if (std::isinf(exact)) {
      bits |= 0x7c00;
    } else if (magnitude < 0x1p-14) {
      bits |= static_cast<std::uint16_t>(magnitude * 0x1p24);
    } else {
      const int exponent = std::ilogb(magnitude);
      const auto mantissa = static_cast<int>(std::ldexp(magnitude, 10 - exponent)) - 1024;
      bits |= static_cast<std::uint16_t>(((exponent + 15) << 10) + mantissa);
    }
    std::memcpy(place, &bits, 2);
  }
}

inline double load(const void* base, std::int64_t index, DataType type) {
  const char* place =
      static_cast<const char*>(base) + index * static_cast<std::int64_t>(bytes_of(type));
  if (type == DataType::kBool) return *place != 0 ? 1.0 : 0.0;
  if (type == DataType::kFloat32) {
    float value;
    std::memcpy(&value, place, 4);
    return value;
  }
  std::uint16_t bits;
  std::memcpy(&bits, place, 2);
  if (type == DataType::kBFloat16) {
    const std::uint32_t wide = std::uint32_t{bits} << 16;
    float value;
    std::memcpy(&value, &wide, 4);
    return value;
  }
  const int exponent = (bits >> 10) & 31;
  const int mantissa = bits & 1023;
  double value = 0.0;
  if (exponent == 31) {
    value = mantissa != 0 ? NAN : INFINITY;
  } else if (exponent == 0) {
    value = std::ldexp(mantissa, -24);
  } else {
    value = std::ldexp(1024 + mantissa, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

// Memory for a tensor with margins, its base pointer off any vector boundary; the margins are
// checked on destruction, so a kernel that writes outside fails its test.
class Memory {
 public:
  Memory(DataType type, std::int64_t elements)
      : type_(type), bytes_(static_cast<std::size_t>(elements) * bytes_of(type)) {
    buffer_.assign(bytes_ + 2 * kMargin, kCanary);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    for (std::size_t i = 0; i < offset(); ++i)
      EXPECT_EQ(buffer_[i], kCanary) << "before the tensor";
    for (std::size_t i = offset() + bytes_; i < buffer_.size(); ++i) {
      EXPECT_EQ(buffer_[i], kCanary) << "behind the tensor";
    }
  }

  void* data() { return buffer_.data() + offset(); }
  DataType type() const { return type_; }
  double get(std::int64_t index) { return load(data(), index, type_); }
  void set(std::int64_t index, double value) { store(data(), index, type_, value); }

 private:
  static constexpr std::size_t kMargin = 64;
  static constexpr unsigned char kCanary = 0xa5;
  std::size_t offset() const { return kMargin / 2 + bytes_of(type_); }

  DataType type_;
  std::size_t bytes_;
  std::vector<unsigned char> buffer_;
};

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  double normal() { return normal_(engine_); }
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  bool flip() { return pick(0, 1) == 1; }
  DataType float_type() { return kFloatTypes[pick(0, 2)]; }

 private:
  std::mt19937 engine_;
  std::normal_distribution<double> normal_;
};

inline void fill(Memory& memory, std::int64_t elements, Random& random) {
  for (std::int64_t i = 0; i < elements; ++i) memory.set(i, random.normal());
}

// Rows [outer, inner] of `width` values with random strides; `broadcast` gives a dimension stride
// 0.
struct Rows {
  RowOperand operand;
  std::unique_ptr<Memory> memory;

  Rows(DataType type, std::int64_t outer, std::int64_t inner, std::int64_t width, Random& random,
       bool broadcast = false, std::int64_t step = 1) {
    std::int64_t sizes[2] = {outer, inner};
    std::int64_t stride = std::max<std::int64_t>(width * step, 1) + random.pick(0, 2);
    int order[2] = {0, 1};
    if (random.flip()) std::swap(order[0], order[1]);
    for (int i = 1; i >= 0; --i) {
      const bool repeated = broadcast && random.flip();
      operand.strides[order[i]] = repeated ? 0 : stride;
      if (!repeated) stride *= sizes[order[i]];
    }
    operand.type = type;
    operand.step = step;
    memory = std::make_unique<Memory>(type, stride);
    fill(*memory, stride, random);
    operand.data = memory->data();
  }

  std::int64_t index(std::int64_t outer, std::int64_t inner, std::int64_t i) const {
    return outer * operand.strides[0] + inner * operand.strides[1] + i * operand.step;
  }
  double get(std::int64_t outer, std::int64_t inner, std::int64_t i) const {
    return memory->get(index(outer, inner, i));
  }
};

inline RowSpace space(std::int64_t outer, std::int64_t inner) {
  RowSpace rows;
  rows.rank = 2;
  rows.sizes[0] = outer;
  rows.sizes[1] = inner;
  return rows;
}

// Every instruction set of this machine.
inline void for_each_isa(void (*body)(const cpu::Launchers&)) {
  for (const cpu::Launchers* launchers : cpu::available_launchers()) {
    SCOPED_TRACE(launchers->name);
    body(*launchers);
  }
}

}  // namespace mindiesd::kernels::test
