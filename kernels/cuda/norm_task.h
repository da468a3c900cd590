// What the descriptions of RMSNorm and of the fused block come to, and the kernels for what norm.cu
// does not read in vectors. Entry points: by_rows, run_plain_norm, lies_in_columns,
// run_columns_norm, run_residual.

#pragma once

#include <functional>

#include "kernels/cuda/host.h"

namespace mindiesd::kernels::cuda {

enum NormOperand { kInput, kOutput, kBranch, kGate, kSum, kScale, kShift, kNormOperands };

struct NormTask {
  RowSpace space;
  std::int64_t width;
  bool centered;
  RowOperand operands[kNormOperands];  // by NormOperand; absent ones have no data
  RowOperand weight, bias, branch_weight;
  DataType normalized, product;
  float eps, branch_eps;
  bool branch_norm, gate_tanh;
};

// Calls the body for pieces of the rows; see for_each_piece.
template <typename Launch>
LaunchStatus by_rows(const NormTask& task, const Launch& body) {
  std::array<const RowOperand*, kNormOperands> operands{};
  for (int o = 0; o < kNormOperands; ++o) operands[o] = &task.operands[o];
  return for_each_piece<kNormOperands>(merge_rows<kNormOperands>(task.space, operands), 1,
                                       std::cref(body));
}

// Any strides, types and operands, a block for each row (norm_plain.cu).
LaunchStatus run_plain_norm(const NormTask& task, const Device& device, void* stream);

// Whether the rows of input or branch lie side by side, so that run_columns_norm takes the task:
// operands of one type, and a width that fills a tile (norm_columns.cu).
bool lies_in_columns(const NormTask& task);
LaunchStatus run_columns_norm(const NormTask& task, const Device& device, void* stream);

// input + gate * branch alone, where every operand can be read in vectors (residual.cu).
LaunchStatus run_residual(const NormTask& task, const Device& device, void* stream);

}  // namespace mindiesd::kernels::cuda
