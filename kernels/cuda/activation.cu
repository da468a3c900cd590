// Activations and gated products. Entry point: activation.
//
// Traffic: input (and gate) once, output once. A thread mostly takes one vector: with all 2048
// threads of a multiprocessor resident that is enough in flight, and blocks that each read a small
// dense piece use the memory best (on an H200 a copy of 2 GB runs at 4.29 TB/s so, at 4.11 with
// four a thread). The arithmetic has to stay within about 25 instructions an element, else it, not
// memory, bounds half precision: the sigmoid forms take one exp2 and one reciprocal, the exact gelu
// a polynomial beside them.

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/host.h"
#include "kernels/cuda/launch.h"

namespace mindiesd::kernels::cuda {
namespace {

enum ActivationOperand { kInput, kOutput, kGate, kOperands };

struct Parameters {
  RowMap<kOperands> map;
  const void* input;
  const void* gate;
  void* output;
  DataType output_type;
  Divisor vectors;  // of a row
  std::uint32_t total;
};

// x Phi(x). Phi(-|x|) is e^(-x^2 / 2) t f(t) with t = 1 / (1 + c |x|): for half precisions
// Abramowitz and Stegun 7.1.26, absolute error below 1e-7, else a longer polynomial, below 1e-9.
// erff takes twice as many instructions.
template <bool kExact>
__device__ __forceinline__ float gelu(float x) {
  const float magnitude = fabsf(x);
  const float t =
      reciprocal_fast(fmaf(kExact ? 0.225F : 0.3275911F * 0.70710678F, magnitude, 1.0F));
  float tail;
  if constexpr (kExact) {
    tail = fmaf(-0.0875773057F, t, 0.351572037F);
    tail = fmaf(tail, t, -0.371867180F);
    tail = fmaf(tail, t, 0.372957170F);
    tail = fmaf(tail, t, -0.0607450679F);
    tail = fmaf(tail, t, 0.120808490F);
    tail = fmaf(tail, t, 0.0848109871F);
    tail = fmaf(tail, t, 0.0900408924F);
  } else {
    tail = fmaf(0.5307027145F, t, -0.7265760135F);
    tail = fmaf(tail, t, 0.7107068705F);
    tail = fmaf(tail, t, -0.142248368F);
    tail = fmaf(tail, t, 0.127414796F);
  }
  tail *= t * exp2_fast(x * x * (-0.5F * 1.4426950408889634F));
  return x * (x < 0.0F ? tail : 1.0F - tail);
}

// At -inf all but relu give NaN, as torch's formulas do.
template <Activation kActivation, bool kExact>
__device__ __forceinline__ float activate_one(float x) {
  if constexpr (kActivation == Activation::kGelu) {
    return gelu<kExact>(x);
  } else if constexpr (kActivation == Activation::kGeluTanh) {
    // (1 + tanh(u)) / 2 is sigmoid(2 u).
    return times_sigmoid<kExact>(
        x, x * fmaf(x * x, 2.0F * 0.7978845608F * 0.044715F, 2.0F * 0.7978845608F));
  } else if constexpr (kActivation == Activation::kGeluFast) {
    return times_sigmoid<kExact>(x, 1.702F * x);
  } else if constexpr (kActivation == Activation::kSilu) {
    return times_sigmoid<kExact>(x, x);
  } else if constexpr (kActivation == Activation::kMish) {
    // tanh(log(1 + e)) is n / (n + 2) with n = e^2 + 2 e. Beyond 20 it is 1 in float32, and e^2
    // would overflow further up.
    const float e = kExact ? expf(x) : exp2_fast(x * 1.4426950408889634F);
    const float n = e * (e + 2.0F);
    const float ratio = kExact ? n / (n + 2.0F) : n * reciprocal_fast(n + 2.0F);
    return x > 20.0F ? x : x * ratio;
  } else {
    return x > 0.0F || x != x ? x : 0.0F;
  }
}

template <typename T, Activation kActivation, bool kGated, int kVectors>
__global__ void __launch_bounds__(256) activation_kernel(const __grid_constant__ Parameters p) {
  constexpr int kCount = 16 / sizeof(T);
  wait_for_previous_kernel();
  allow_next_kernel();
  const std::uint32_t first = blockIdx.x * (kVectors * blockDim.x) + threadIdx.x;
  std::uint32_t rows[kVectors], columns[kVectors];
  Raw<16> inputs[kVectors];
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const std::uint32_t index = first + v * blockDim.x;
    rows[v] = p.vectors.quotient(index);
    columns[v] = (index - rows[v] * p.vectors.value) * kCount;
    if (index < p.total) {
      inputs[v] = load_operand<16>(static_cast<const T*>(p.input) + p.map.offset(rows[v], kInput) +
                                   columns[v]);
    }
  }
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    if (first + v * blockDim.x >= p.total) return;
    float x[kCount];
    if constexpr (kGated) {
      const Raw<16> gate = load_operand<16>(static_cast<const T*>(p.gate) +
                                            p.map.offset(rows[v], kGate) + columns[v]);
      float g[kCount];
      unpack<T>(inputs[v], x);
      unpack<T>(gate, g);
#pragma unroll
      for (int i = 0; i < kCount; ++i) x[i] *= activate_one < kActivation, sizeof(T) == 4 > (g[i]);
    } else {
      unpack<T>(inputs[v], x);
#pragma unroll
      for (int i = 0; i < kCount; ++i) x[i] = activate_one < kActivation, sizeof(T) == 4 > (x[i]);
    }
    store_vector<T, false>(p.output, p.output_type, p.map.offset(rows[v], kOutput) + columns[v], x);
  }
}

using Kernel = void (*)(Parameters);

struct Choice {
  Kernel kernel;
  int vectors;  // of a thread
};

template <typename T, Activation kActivation>
Choice choice_of(bool gated, [[maybe_unused]] bool large) {
  // The exact gelu holds a thread so long that in a large tensor one vector is too little in
  // flight; in a small one fewer blocks cost more.
  if constexpr (kActivation == Activation::kGelu && sizeof(T) == 2) {
    if (!gated && large) return {activation_kernel<T, kActivation, false, 2>, 2};
  }
  return {gated ? activation_kernel<T, kActivation, true, 1>
                : activation_kernel<T, kActivation, false, 1>,
          1};
}

template <Activation kActivation>
Choice choice_of(DataType type, bool gated, bool large) {
  switch (type) {
    case DataType::kFloat16:
      return choice_of<__half, kActivation>(gated, large);
    case DataType::kBFloat16:
      return choice_of<__nv_bfloat16, kActivation>(gated, large);
    default:
      return choice_of<float, kActivation>(gated, large);
  }
}

Choice choice_of(Activation activation, DataType type, bool gated, bool large) {
  switch (activation) {
    case Activation::kGelu:
      return choice_of<Activation::kGelu>(type, gated, large);
    case Activation::kGeluTanh:
      return choice_of<Activation::kGeluTanh>(type, gated, large);
    case Activation::kGeluFast:
      return choice_of<Activation::kGeluFast>(type, gated, large);
    case Activation::kSilu:
      return choice_of<Activation::kSilu>(type, gated, large);
    case Activation::kMish:
      return choice_of<Activation::kMish>(type, gated, large);
    default:
      return choice_of<Activation::kRelu>(type, gated, large);
  }
}

struct PlainOperand {
  void* data;
  DataType type;
  std::int64_t step;
};

struct PlainParameters {
  RowMap<kOperands> map;
  PlainOperand operands[kOperands];
  std::int64_t width;
  std::int64_t rows;
  Activation activation;
};

__device__ float activate_any(Activation activation, float x) {
  switch (activation) {
    case Activation::kGelu:
      return activate_one<Activation::kGelu, true>(x);
    case Activation::kGeluTanh:
      return activate_one<Activation::kGeluTanh, true>(x);
    case Activation::kGeluFast:
      return activate_one<Activation::kGeluFast, true>(x);
    case Activation::kSilu:
      return activate_one<Activation::kSilu, true>(x);
    case Activation::kMish:
      return activate_one<Activation::kMish, true>(x);
    default:
      return activate_one<Activation::kRelu, true>(x);
  }
}

// An element at a time, any strides and types.
__global__ void __launch_bounds__(256) plain_activation(const __grid_constant__ PlainParameters p) {
  wait_for_previous_kernel();
  allow_next_kernel();
  const std::int64_t total = p.rows * p.width;
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < total; i += step) {
    const std::int64_t row = i / p.width;
    const std::int64_t column = i - row * p.width;
    const auto place = [&](ActivationOperand o) {
      return p.map.offset(static_cast<std::uint32_t>(row), o) + column * p.operands[o].step;
    };
    float x = load_one(p.operands[kInput].data, p.operands[kInput].type, place(kInput));
    if (p.operands[kGate].data != nullptr) {
      const float gate = load_one(p.operands[kGate].data, p.operands[kGate].type, place(kGate));
      x *= activate_any(p.activation, gate);
    } else {
      x = activate_any(p.activation, x);
    }
    store_one(p.operands[kOutput].data, p.operands[kOutput].type, place(kOutput), x);
  }
}

using ActivationRows = Rows<kOperands>;
using Offsets = std::array<std::int64_t, kOperands>;

// Rows too long to be counted in 31 bits, a part of their columns at a time.
LaunchStatus in_columns(const Activate& problem, std::int64_t columns, void* stream) {
  for (std::int64_t begin = 0; begin < problem.width; begin += columns) {
    Activate part = problem;
    part.width = std::min(columns, problem.width - begin);
    for (RowOperand* operand : {&part.input, &part.output, &part.gate}) {
      operand->data = advance(operand->data, operand->type, begin * operand->step);
    }
    const LaunchStatus status = activation(part, stream);
    if (status != LaunchStatus::kOk) return status;
  }
  return LaunchStatus::kOk;
}

}  // namespace

LaunchStatus activation(const Activate& problem, void* stream) {
  if (problem.rows.count() == 0 || problem.width == 0) return LaunchStatus::kOk;
  const Device* device = current_device();
  if (device == nullptr) return LaunchStatus::kFailed;
  constexpr std::int64_t kMostColumns = std::int64_t{1} << 30;
  if (problem.width > kMostColumns) return in_columns(problem, kMostColumns, stream);
  std::array<RowOperand, kOperands> operands;
  operands[kInput] = problem.input;
  operands[kOutput] = problem.output;
  operands[kGate] = operand_if(problem.has_gate, problem.gate);
  const RowSpace& space = problem.rows;
  const std::int64_t width = problem.width;

  const DataType type = problem.input.type;
  const int count = static_cast<int>(16 / bytes_of(type));
  bool vectors = width % count == 0 && mixes(type, problem.output.type);
  for (const RowOperand& operand : operands) {
    vectors = vectors && (!present(operand) || operand.step == 1) && aligned(operand, space, count);
  }
  if (present(operands[kGate])) vectors = vectors && operands[kGate].type == type;

  const ActivationRows merged =
      merge_rows<kOperands>(space, {&operands[kInput], &operands[kOutput], &operands[kGate]});
  if (!vectors) {
    PlainParameters p;
    p.width = width;
    p.activation = problem.activation;
    const auto body = [&](const ActivationRows& rows, const Offsets& offsets) {
      p.map = map_of(rows);
      p.rows = rows.count();
      for (int o = 0; o < kOperands; ++o) {
        p.operands[o] = {advance(operands[o].data, operands[o].type, offsets[o]), operands[o].type,
                         operands[o].step};
      }
      const std::int64_t blocks = std::min<std::int64_t>(
          ceil_div(p.rows * width, 256), std::int64_t{device->multiprocessors} * 64);
      return launch(plain_activation, static_cast<unsigned>(blocks), 256, 0, *device, stream, p);
    };
    return for_each_piece<kOperands>(merged, 1, std::cref(body));
  }

  const bool large = merged.count() * (width / count) > (std::int64_t{1} << 23);
  const Choice choice = choice_of(problem.activation, type, problem.has_gate, large);
  Parameters p;
  p.output_type = problem.output.type;
  p.vectors = divisor_of(static_cast<std::uint32_t>(width / count));
  const auto body = [&](const ActivationRows& rows, const Offsets& offsets) {
    const auto place = [&](ActivationOperand o) {
      return advance(operands[o].data, operands[o].type, offsets[o]);
    };
    p.map = map_of(rows);
    p.input = place(kInput);
    p.gate = place(kGate);
    p.output = place(kOutput);
    p.total = static_cast<std::uint32_t>(rows.count() * (width / count));
    const auto blocks =
        static_cast<unsigned>(ceil_div(p.total, std::int64_t{256} * choice.vectors));
    return launch(choice.kernel, blocks, 256, 0, *device, stream, p);
  };
  return for_each_piece<kOperands>(merged, width / count, std::cref(body));
}

}  // namespace mindiesd::kernels::cuda
