// input + gate * branch, the end of a transformer block. Entry point: run_residual.
//
// Traffic per element: input and branch once, the sum once; the gate, which rows mostly share,
// comes from the caches. A thread takes one vector, as activation.cu does and for its reasons.

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/norm_task.h"

namespace mindiesd::kernels::cuda {
namespace {

// The order of their maps: the sum's strides decide that of the rows.
enum ResidualOperand { kTotal, kFirst, kSecond, kFactor, kResidualOperands };

struct ResidualParameters {
  RowMap<kResidualOperands> map;
  const void* input;
  const void* branch;
  void* sum;
  Modulation gate;
  DataType branch_type, sum_type;
  Divisor vectors;  // of a row
  std::uint32_t total;
  bool gate_tanh;
};

// T: the type of the input; the others have it or float32, or any type where it is float32.
template <typename T>
__global__ void __launch_bounds__(256)
    residual_kernel(const __grid_constant__ ResidualParameters p) {
  constexpr int kCount = 16 / sizeof(T);
  wait_for_previous_kernel();
  allow_next_kernel();
  const std::uint32_t index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index >= p.total) return;
  const std::uint32_t row = p.vectors.quotient(index);
  const int column = static_cast<int>(index - row * p.vectors.value) * kCount;
  float x[kCount], y[kCount];
  load_vector<T, true, true>(p.input, kTypeOf<T>, p.map.offset(row, kFirst) + column, x);
  load_vector<T, false, true>(p.branch, p.branch_type, p.map.offset(row, kSecond) + column, y);
  if (p.gate.data != nullptr) {
    float gate[kCount];
    load_modulation<T, false>(p.gate, p.map.offset(row, kFactor), column, gate);
    if (p.gate_tanh) {
#pragma unroll
      for (float& value : gate) value = tanh_of < sizeof(T) == 4 > (value);
    }
#pragma unroll
    for (int i = 0; i < kCount; ++i) x[i] = fmaf(gate[i], y[i], x[i]);
  } else {
#pragma unroll
    for (int i = 0; i < kCount; ++i) x[i] += y[i];
  }
  store_vector<T, false>(p.sum, p.sum_type, p.map.offset(row, kTotal) + column, x);
}

using Kernel = void (*)(ResidualParameters);

Kernel kernel_of(DataType type) {
  switch (type) {
    case DataType::kFloat16:
      return residual_kernel<__half>;
    case DataType::kBFloat16:
      return residual_kernel<__nv_bfloat16>;
    default:
      return residual_kernel<float>;
  }
}

}  // namespace

LaunchStatus run_residual(const NormTask& task, const Device& device, void* stream) {
  const RowOperand &input = task.operands[kInput], &branch = task.operands[kBranch];
  const RowOperand &gate = task.operands[kGate], &sum = task.operands[kSum];
  const std::int64_t vectors = task.width / (16 / bytes_of(input.type));
  ResidualParameters p;
  p.branch_type = branch.type;
  p.sum_type = sum.type;
  p.vectors = divisor_of(static_cast<std::uint32_t>(vectors));
  p.gate_tanh = task.gate_tanh;
  const Kernel kernel = kernel_of(input.type);
  const auto body = [&](const Rows<kResidualOperands>& rows,
                        const std::array<std::int64_t, kResidualOperands>& offsets) {
    const auto place = [&](const RowOperand& operand, ResidualOperand o) {
      return advance(operand.data, operand.type, offsets[o]);
    };
    p.map = map_of(rows);
    p.input = place(input, kFirst);
    p.branch = place(branch, kSecond);
    p.sum = place(sum, kTotal);
    p.gate = {place(gate, kFactor), gate.type, static_cast<int>(gate.step)};
    p.total = static_cast<std::uint32_t>(rows.count() * vectors);
    return launch(kernel, static_cast<unsigned>(ceil_div(p.total, 256)), 256, 0, device, stream, p);
  };
  const Rows<kResidualOperands> rows =
      merge_rows<kResidualOperands>(task.space, {&sum, &input, &branch, &gate});
  return for_each_piece<kResidualOperands>(rows, vectors, std::cref(body));
}

}  // namespace mindiesd::kernels::cuda
