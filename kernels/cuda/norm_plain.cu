// The norm family for operands that cannot be read in vectors: any strides and types. Entry point:
// run_plain_norm.

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/norm_task.h"
#include "kernels/cuda/row_reduce.cuh"

namespace mindiesd::kernels::cuda {
namespace {

struct PlainOperand {
  void* data;
  DataType type;
  std::int64_t step;
};

struct PlainParameters {
  RowMap<kNormOperands> map;
  PlainOperand operands[kNormOperands];
  PlainOperand weight, bias, branch_weight;
  std::int64_t width;
  DataType normalized, product;
  bool centered, branch_norm, gate_tanh;
  float eps, branch_eps;
};

// One block a row, the row read again for each step.
__global__ void __launch_bounds__(256) plain_norm(const __grid_constant__ PlainParameters p) {
  __shared__ float memory[6][8];
  wait_for_previous_kernel();
  allow_next_kernel();
  std::int64_t offsets[kNormOperands];
  for (int o = 0; o < kNormOperands; ++o) offsets[o] = p.map.offset(blockIdx.x, o);
  const auto load = [&](NormOperand which, std::int64_t i) {
    const PlainOperand& operand = p.operands[which];
    return load_one(operand.data, operand.type, offsets[which] + i * operand.step);
  };
  const auto load_vector = [](const PlainOperand& vector, std::int64_t i) {
    return load_one(vector.data, vector.type, i * vector.step);
  };
  const float width = static_cast<float>(p.width);

  float own = 1.0F;  // the factor of the branch's norm
  if (p.branch_norm) {
    float total[1], down = 1.0F, eps = p.branch_eps;
    for (int round = 0;; ++round) {  // see norm_kernel
      total[0] = 0.0F;
      for (std::int64_t i = threadIdx.x; i < p.width; i += blockDim.x) {
        const float y = load(kBranch, i) * down;
        total[0] = fmaf(y, y, total[0]);
      }
      reduce_row<Sum>(total, memory[4 + round]);
      if (round == 1 || is_finite(total[0])) break;
      down = kDown;
      eps = eps_down(eps);
    }
    own = down / sqrtf(total[0] / width + eps);
  }
  const auto value = [&](std::int64_t i) {
    const float x = load(kInput, i);
    if (p.operands[kBranch].data == nullptr) return x;
    float y = load(kBranch, i) * own;
    if (p.branch_weight.data != nullptr) y *= load_vector(p.branch_weight, i);
    if (p.operands[kGate].data == nullptr) return x + y;
    const float gate = load(kGate, i);
    return fmaf(p.gate_tanh ? tanhf(gate) : gate, y, x);
  };

  const PlainOperand& output = p.operands[kOutput];
  float total[1], mean = 0.0F, down = 1.0F, eps = p.eps, factor = 1.0F;
  if (output.data != nullptr) {
    for (int round = 0;; ++round) {  // see norm_kernel
      total[0] = mean = 0.0F;
      if (p.centered) {
        for (std::int64_t i = threadIdx.x; i < p.width; i += blockDim.x) {
          total[0] += value(i) * down;
        }
        reduce_row<Sum>(total, memory[2 * round]);
        mean = total[0] / width;
        total[0] = 0.0F;
      }
      for (std::int64_t i = threadIdx.x; i < p.width; i += blockDim.x) {
        const float deviation = value(i) * down - mean;
        total[0] = fmaf(deviation, deviation, total[0]);
      }
      reduce_row<Sum>(total, memory[2 * round + 1]);
      if (round == 1 || is_finite(total[0])) break;
      down = kDown;
      eps = eps_down(eps);
    }
    factor = 1.0F / sqrtf(total[0] / width + eps);
  }

  for (std::int64_t i = threadIdx.x; i < p.width; i += blockDim.x) {
    const float x = value(i);
    float y = round_to((x * down - mean) * factor, p.normalized);
    if (p.weight.data != nullptr) y *= load_vector(p.weight, i);
    if (p.bias.data != nullptr) y = round_to(y, p.product) + load_vector(p.bias, i);
    if (p.operands[kScale].data != nullptr) y = fmaf(y, load(kScale, i), y);
    if (p.operands[kShift].data != nullptr) y += load(kShift, i);
    const PlainOperand& sum = p.operands[kSum];
    if (sum.data != nullptr) store_one(sum.data, sum.type, offsets[kSum] + i * sum.step, x);
    if (output.data != nullptr) {
      store_one(output.data, output.type, offsets[kOutput] + i * output.step, y);
    }
  }
}

PlainOperand plain(const RowOperand& operand, std::int64_t offset) {
  return {advance(operand.data, operand.type, offset), operand.type, operand.step};
}

}  // namespace

LaunchStatus run_plain_norm(const NormTask& task, const Device& device, void* stream) {
  PlainParameters p;
  p.width = task.width;
  p.weight = plain(task.weight, 0);
  p.bias = plain(task.bias, 0);
  p.branch_weight = plain(task.branch_weight, 0);
  p.normalized = task.normalized;
  p.product = task.product;
  p.centered = task.centered;
  p.branch_norm = task.branch_norm;
  p.gate_tanh = task.gate_tanh;
  p.eps = task.eps;
  p.branch_eps = task.branch_eps;
  const unsigned threads = task.width <= 256 ? 32 : 256;
  const auto body = [&](const Rows<kNormOperands>& rows,
                        const std::array<std::int64_t, kNormOperands>& offsets) {
    p.map = map_of(rows);
    for (int o = 0; o < kNormOperands; ++o) p.operands[o] = plain(task.operands[o], offsets[o]);
    return launch(plain_norm, static_cast<unsigned>(rows.count()), threads, 0, device, stream, p);
  };
  return by_rows(task, body);
}

}  // namespace mindiesd::kernels::cuda
