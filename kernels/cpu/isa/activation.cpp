// Activations and gated products on the CPU, in float32, a block of a row at a time: a dense tensor
// is one row. Entry point: activation.

#include "kernels/cpu/isa/kernels.h"
#include "kernels/cpu/isa/simd.h"

namespace mindiesd::kernels::cpu::MINDIESD_ISA {
namespace {

constexpr int64_t kBlock = 2048;

// The standard normal distribution below -|x|: e^(-x^2 / 2) t f(t) with t = 1 / (1 + |x| / 4), the
// form of Abramowitz and Stegun 7.1.26 with a longer polynomial, fitted over |x| <= 14.5, where the
// product is exact to 1e-10 and to 6e-7 of itself.
inline float normal_tail(float x) {
  const float t = 1.0F / (1.0F + 0.25F * magnitude(x));
  float f = 0.0354405455F;
  f = f * t - 0.202105209F;
  f = f * t + 0.402833045F;
  f = f * t - 0.334193885F;
  f = f * t + 0.295431256F;
  f = f * t - 0.00934507977F;
  f = f * t + 0.115226887F;
  f = f * t + 0.0968087763F;
  f = f * t + 0.0999036580F;
  return decay(-0.5F * x * x) * (f * t);
}

inline float gelu(float x) {
  const float tail = normal_tail(x);
  return x * (x < 0.0F ? tail : 1.0F - tail);
}

// For results that keep eight bits: 2^(x + 64) for -151 <= x <= 0 to 2e-6 of itself, fitted over
// |r| <= 1 / 2. The factor leaves subnormal numbers to what is multiplied with it.
inline float short_power(float x) {
  constexpr float kRound = 0x1.8p23F;  // adding it rounds to the nearest integer
  const float shifted = x + kRound;
  const float r = x - (shifted - kRound);
  float p = 0.00957010179F;
  p = p * r + 0.0559178603F;
  p = p * r + 0.240247448F;
  p = p * r + 0.693121815F;
  p = p * r + 0.999999261F;
  return p * float_of_bits((bits_of_float(shifted) - bits_of_float(kRound) + (127U + 64U)) << 23);
}

// x sigmoid(v) for a v that is NaN where x is.
inline float short_times_sigmoid(float x, float v) {
  const float size = float_of_bits(bits_of_float(v) & 0x7fffffffU);
  const float e = short_power((size < 104.0F ? size : 104.0F) * -1.44269504088896341F) * 0x1p-64F;
  return x * ((v < 0.0F ? e : 1.0F) / (1.0F + e));
}

// gelu to 2e-5 of itself: the form of normal_tail with a shorter polynomial, fitted over
// |x| <= 14.5. Its coefficients carry 2^-64.
inline float short_gelu(float x) {
  constexpr float kSmall = 0x1p-64F;
  const float t = 1.0F / (1.0F + 0.31F * float_of_bits(bits_of_float(x) & 0x7fffffffU));
  float f = -0.0739291854F * kSmall;
  f = f * t + 0.180450477F * kSmall;
  f = f * t + 0.0157445652F * kSmall;
  f = f * t + 0.133429861F * kSmall;
  f = f * t + 0.120441258F * kSmall;
  f = f * t + 0.123860704F * kSmall;
  const float square = x * x;
  const float power = (square < 208.0F ? square : 208.0F) * -0.721347520444482F;  // log2(e) / 2
  const float tail = short_power(power) * (f * t);
  return x * (x < 0.0F ? tail : 1.0F - tail);  // a NaN by the product
}

// Of a NaN too, where its lower half is zero: as that of a bfloat16 is, and of one that arises.
inline uint16_t short_bf16(float value) {
  const uint32_t bits = bits_of_float(value);
  return static_cast<uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

// (1 + tanh(u)) / 2 = sigmoid(2 u), here of u = sqrt(2 / pi) (x + 0.044715 x^3).
inline float twice_tanh_argument(float x) {
  return 1.59576912160573F * (x + 0.044715F * x * x * x);
}
inline float gelu_tanh(float x) { return times_sigmoid(x, twice_tanh_argument(x)); }

// tanh(log(1 + e^x)) = (w - 1) / (w + 1) with w = (1 + e^x)^2, written with e^-|x|.
inline float mish(float x) {
  const float e = decay(-magnitude(x));
  const float above = 1.0F + 2.0F * e;
  const float below = e * e + 2.0F * e;
  const float ratio = x < 0.0F ? below / (below + 2.0F) : above / (above + 2.0F * e * e);
  return x * ratio;
}

template <typename Function>
void apply(float* to, const float* from, int64_t count, Function function) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) to[i] = function(from[i]);
}

// Dense bfloat16 is read and written where it lies.
template <typename Function>
void apply_bf16(uint16_t* to, const uint16_t* from, int64_t count, Function function) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) to[i] = short_bf16(function(float_of_bf16(from[i])));
}

bool takes_bf16(Activation activation) {
  return activation != Activation::kMish && activation != Activation::kRelu;
}
void activate_bf16(uint16_t* to, const uint16_t* from, int64_t count, Activation activation) {
  switch (activation) {
    case Activation::kGelu:
      return apply_bf16(to, from, count, [](float x) { return short_gelu(x); });
    case Activation::kGeluTanh:
      return apply_bf16(to, from, count,
                        [](float x) { return short_times_sigmoid(x, twice_tanh_argument(x)); });
    case Activation::kGeluFast:
      return apply_bf16(to, from, count,
                        [](float x) { return short_times_sigmoid(x, 1.702F * x); });
    default:
      return apply_bf16(to, from, count, [](float x) { return short_times_sigmoid(x, x); });
  }
}

// `to` may be `from`.
void activate(float* to, const float* from, int64_t count, Activation activation) {
  switch (activation) {
    case Activation::kGelu:
      return apply(to, from, count, [](float x) { return gelu(x); });
    case Activation::kGeluTanh:
      return apply(to, from, count, [](float x) { return gelu_tanh(x); });
    case Activation::kGeluFast:
      return apply(to, from, count, [](float x) { return times_sigmoid(x, 1.702F * x); });
    case Activation::kSilu:
      return apply(to, from, count, [](float x) { return times_sigmoid(x, x); });
    case Activation::kMish:
      return apply(to, from, count, [](float x) { return mish(x); });
    case Activation::kRelu:
      return apply(to, from, count, [](float x) { return x < 0.0F ? 0.0F : x; });
  }
}

}  // namespace

LaunchStatus activation(const Activate& p) {
  const auto dense_bf16 = [](const RowOperand& operand) {
    return operand.type == DataType::kBFloat16 && operand.step == 1;
  };
  const bool short_path =
      takes_bf16(p.activation) && !p.has_gate && dense_bf16(p.input) && dense_bf16(p.output);
  const int64_t blocks = (p.width + kBlock - 1) / kBlock;
  const int64_t grain = max_of(1, 16384 / min_of(max_of(p.width, 1), kBlock));
  OutOfMemory memory;
  parallel_for(p.rows.count() * blocks, grain, [&](int64_t begin, int64_t end) {
    float* row = scratch(ScratchSlot::kRow, static_cast<size_t>(2 * kBlock));
    if (row == nullptr) return memory.set();
    float* factor = row + kBlock;
    const int64_t* const strides[3] = {p.input.strides, p.gate.strides, p.output.strides};
    RowWalk<3> walk(p.rows, strides, begin / blocks);
    for (int64_t b = begin; b < end; ++b) {
      const int64_t first = b % blocks * kBlock;
      const int64_t count = min_of(kBlock, p.width - first);
      const auto place = [&](const RowOperand& operand, int index) {
        return at(operand.data, operand.type, walk.offset(index) + first * operand.step);
      };
      if (short_path) {
        activate_bf16(static_cast<uint16_t*>(place(p.output, 2)),
                      static_cast<const uint16_t*>(place(p.input, 0)), count, p.activation);
        if (b % blocks == blocks - 1) walk.next();
        continue;
      }
      // Dense float32 is read and written where it lies.
      const auto read = [&](const RowOperand& operand, int index, float* room) -> const float* {
        const void* from = place(operand, index);
        if (is_plain(operand)) return static_cast<const float*>(from);
        load_row(room, from, operand.type, operand.step, count);
        return room;
      };
      float* to = is_plain(p.output) ? static_cast<float*>(place(p.output, 2)) : row;
      if (p.has_gate) {
        activate(factor, read(p.gate, 1, factor), count, p.activation);
        const float* from = read(p.input, 0, row);
#pragma omp simd
        for (int64_t i = 0; i < count; ++i) to[i] = from[i] * factor[i];
      } else {
        activate(to, read(p.input, 0, row), count, p.activation);
      }
      if (to == row) {
        store_row(place(p.output, 2), row, p.output.type, p.output.step, count);
      }
      if (b % blocks == blocks - 1) walk.next();
    }
  });
  return memory.status();
}

}  // namespace mindiesd::kernels::cpu::MINDIESD_ISA
