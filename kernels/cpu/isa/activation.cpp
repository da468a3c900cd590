// Activations and gated products on the CPU, in float32, a block of a row at a time: a dense tensor
// is one row. Entry point: activation.

#include "kernels/cpu/isa/kernels.h"
#include "kernels/cpu/isa/simd.h"

namespace mindiesd::kernels::cpu::MINDIESD_ISA {
namespace {

constexpr int64_t kBlock = 2048;

inline float magnitude(float x) { return x < 0.0F ? -x : x; }

// x sigmoid(v), exact in both tails: e^-|v| never overflows.
inline float times_sigmoid(float x, float v) {
  const float e = exp_of(-magnitude(v));
  return x * ((v < 0.0F ? e : 1.0F) / (1.0F + e));
}

// The standard normal distribution below -|x|, erfc(z) / 2 with z = |x| / sqrt(2). erfc(z) =
// e^(-z^2) f(q) / (1 + 2 z) with q = (z - 4) / (z + 4) (the substitution is Schonfelder's, Math.
// Comp. 32, 1978); f is a polynomial fitted to (1 + 2 z) e^(z^2) erfc(z) over z in [0, 10.5], where
// it is exact to 2e-8. Beyond, the result rounds to 0.
inline float normal_tail(float x) {
  const float size = magnitude(x);
  const float capped = size > 14.8F ? 14.8F : size;  // a NaN passes
  const float z = capped * 0.707106781F;
  const float q = (z - 4.0F) / (z + 4.0F);
  float f = 0.000797902023664F;
  f = f * q + 0.00676596404179F;
  f = f * q - 0.0161310509535F;
  f = f * q + 0.0364006606459F;
  f = f * q - 0.0665623095536F;
  f = f * q + 0.09384380227F;
  f = f * q - 0.100997036323F;
  f = f * q + 0.0680907451712F;
  f = f * q + 0.0153775144342F;
  f = f * q - 0.139620998427F;
  f = f * q + 1.23299513463F;
  return exp_of(-0.5F * capped * capped) * f / (2.0F + 4.0F * z);
}

inline float gelu(float x) {
  const float tail = normal_tail(x);
  return x * (x < 0.0F ? tail : 1.0F - tail);
}

inline float gelu_tanh(float x) {
  constexpr float kTwice = 1.59576912160573F;  // 2 sqrt(2 / pi): (1 + tanh(u)) / 2 = sigmoid(2 u)
  return times_sigmoid(x, kTwice * (x + 0.044715F * x * x * x));
}

// tanh(log(1 + e^x)) = (w - 1) / (w + 1) with w = (1 + e^x)^2, written with e^-|x|.
inline float mish(float x) {
  const float e = exp_of(-magnitude(x));
  const float above = 1.0F + 2.0F * e;
  const float below = e * e + 2.0F * e;
  const float ratio = x < 0.0F ? below / (below + 2.0F) : above / (above + 2.0F * e * e);
  return x * ratio;
}

template <typename Function>
void apply(float* row, int64_t count, Function function) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) row[i] = function(row[i]);
}

void activate(float* row, int64_t count, Activation activation) {
  switch (activation) {
    case Activation::kGelu:
      return apply(row, count, [](float x) { return gelu(x); });
    case Activation::kGeluTanh:
      return apply(row, count, [](float x) { return gelu_tanh(x); });
    case Activation::kGeluFast:
      return apply(row, count, [](float x) { return times_sigmoid(x, 1.702F * x); });
    case Activation::kSilu:
      return apply(row, count, [](float x) { return times_sigmoid(x, x); });
    case Activation::kMish:
      return apply(row, count, [](float x) { return mish(x); });
    case Activation::kRelu:
      return apply(row, count, [](float x) { return x < 0.0F ? 0.0F : x; });
  }
}

}  // namespace

LaunchStatus activation(const Activate& p) {
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
      load_row(row, place(p.input, 0), p.input.type, p.input.step, count);
      if (p.has_gate) {
        load_row(factor, place(p.gate, 1), p.gate.type, p.gate.step, count);
        activate(factor, count, p.activation);
#pragma omp simd
        for (int64_t i = 0; i < count; ++i) row[i] *= factor[i];
      } else {
        activate(row, count, p.activation);
      }
      store_row(place(p.output, 2), row, p.output.type, p.output.step, count);
      if (b % blocks == blocks - 1) walk.next();
    }
  });
  return memory.status();
}

}  // namespace mindiesd::kernels::cpu::MINDIESD_ISA
