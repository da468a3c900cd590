// mindiesd_softmax and mindiesd_activation: checks, then the kernel of the device.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <utility>

#include "rows.h"

namespace mindiesd::runtime {
namespace {

using kernels::DataType;

// Exchanges a dimension with the last, so that rows run along it.
void move_last(View* view, int dim) {
  std::swap(view->sizes[dim], view->sizes[view->rank - 1]);
  std::swap(view->strides[dim], view->strides[view->rank - 1]);
}

Check read_mask(const mindiesd_tensor* tensor, const View& input, View* mask) {
  MINDIESD_RETURN_IF(read_view(tensor, "mask", mask));
  MINDIESD_RETURN_IF(expect_same_device(*mask, input));
  if (mask->type != DataType::kBool) MINDIESD_RETURN_IF(expect_floating(*mask));
  return broadcast_to(mask, input.sizes, input.rank, "input,");
}

Check softmax(const void* raw) {
  mindiesd_softmax_args args;
  MINDIESD_RETURN_IF(read_args(raw, offsetof(mindiesd_softmax_args, scale), sizeof(args), &args));
  View input, output;
  MINDIESD_RETURN_IF(read_input(args.input, "input", &input));
  // Rows are read whole before they are written, but a global maximum needs every row first.
  MINDIESD_RETURN_IF(read_output(args.output, "output", input,
                                 args.subtract != MINDIESD_SUBTRACT_GLOBAL, &output));
  if (args.subtract < MINDIESD_SUBTRACT_NONE || args.subtract > MINDIESD_SUBTRACT_GLOBAL) {
    return invalid("subtract must be 0, 1 or 2, but is " + std::to_string(args.subtract));
  }
  const int dim = args.dim < 0 ? args.dim + input.rank : args.dim;
  if (dim < 0 || dim >= input.rank) {
    return invalid("dim must lie in " + std::to_string(-input.rank) + " to " +
                   std::to_string(input.rank - 1) + ", but is " + std::to_string(args.dim));
  }
  if ((args.has_clamp_min != 0 && std::isnan(args.clamp_min)) ||
      (args.has_clamp_max != 0 && std::isnan(args.clamp_max))) {
    return invalid("clamp_min and clamp_max must be numbers, but one is NaN");
  }
  if (!std::isfinite(args.scale)) {
    return invalid("scale must be finite, but is " + std::to_string(args.scale));
  }
  kernels::Softmax problem;
  if (args.bias != nullptr) {
    View bias;
    MINDIESD_RETURN_IF(read_operand(args.bias, "bias", input, &bias));
    MINDIESD_RETURN_IF(expect_no_overlap(output, bias, false));
    move_last(&bias, dim);
    problem.has_bias = true;
    problem.bias = operand_of(bias);
  }
  if (args.mask != nullptr) {
    View mask;
    MINDIESD_RETURN_IF(read_mask(args.mask, input, &mask));
    MINDIESD_RETURN_IF(expect_no_overlap(output, mask, false));
    move_last(&mask, dim);
    problem.has_mask = true;
    problem.mask = operand_of(mask);
  }
  move_last(&input, dim);
  View result = output;
  move_last(&result, dim);
  problem.rows = rows_of(input);
  problem.width = input.size(input.rank - 1);
  problem.input = operand_of(input);
  problem.output = operand_of(result);
  problem.scale = args.scale == 0.0 ? 1.0F : static_cast<float>(args.scale);
  problem.mask_value = static_cast<float>(args.mask_value);
  problem.subtract = static_cast<kernels::Subtract>(args.subtract);
  problem.has_clamp_min = args.has_clamp_min != 0;
  problem.has_clamp_max = args.has_clamp_max != 0;
  problem.clamp_min = static_cast<float>(args.clamp_min);
  problem.clamp_max = static_cast<float>(args.clamp_max);
  simplify(&problem.rows, {&problem.input, &problem.bias, &problem.mask, &problem.output});
  return launch(output, &DeviceKernels::softmax, problem, args.stream);
}

// Elementwise work takes its dimensions in any order: by the output's strides, so that the
// innermost ones merge into long rows.
void order_by_stride(View* input, View* gate, View* output) {
  for (int d = 1; d < output->rank; ++d) {
    for (int e = d; e > 0 && std::abs(output->strides[e - 1]) < std::abs(output->strides[e]); --e) {
      for (View* view : {input, gate, output}) {
        std::swap(view->sizes[e - 1], view->sizes[e]);
        std::swap(view->strides[e - 1], view->strides[e]);
      }
    }
  }
}

Check activation(const void* raw) {
  mindiesd_activation_args args;
  MINDIESD_RETURN_IF(read_args(raw, sizeof(args), sizeof(args), &args));
  if (args.activation < MINDIESD_GELU || args.activation > MINDIESD_RELU) {
    return invalid("activation must be 0 to 5, but is " + std::to_string(args.activation));
  }
  View input, output, gate;
  MINDIESD_RETURN_IF(read_view(args.input, "input", &input));
  MINDIESD_RETURN_IF(expect_floating(input));
  MINDIESD_RETURN_IF(read_output(args.output, "output", input, true, &output));
  kernels::Activate problem;
  problem.has_gate = args.gate != nullptr;
  if (problem.has_gate) {
    MINDIESD_RETURN_IF(read_view(args.gate, "gate", &gate));
    MINDIESD_RETURN_IF(expect_floating(gate));
    MINDIESD_RETURN_IF(expect_same_device(gate, input));
    if (gate.rank != input.rank || !std::equal(gate.sizes, gate.sizes + gate.rank, input.sizes)) {
      return invalid("gate must have the shape of input, " + shape_of(input) + ", but has " +
                     shape_of(gate));
    }
    MINDIESD_RETURN_IF(expect_no_overlap(output, gate, true));
  }
  const View whole = output;
  order_by_stride(&input, &gate, &output);
  // The innermost dimension is the row; those outside join it below.
  kernels::RowOperand* const operands[3] = {&problem.input, &problem.gate, &problem.output};
  const View* const views[3] = {&input, &gate, &output};
  const int rank = output.rank;
  for (int k = 0; k < 3; ++k) {
    operands[k]->data = views[k]->data;
    operands[k]->type = views[k]->type;
    operands[k]->step = rank > 0 ? views[k]->strides[rank - 1] : 1;
    for (int d = 0; d + 1 < rank; ++d) operands[k]->strides[d] = views[k]->strides[d];
  }
  problem.rows.rank = std::max(rank - 1, 0);
  for (int d = 0; d < problem.rows.rank; ++d) problem.rows.sizes[d] = output.sizes[d];
  problem.width = rank > 0 ? output.sizes[rank - 1] : 1;
  simplify(&problem.rows, {&problem.input, &problem.gate, &problem.output});
  // The last leading dimension joins the row where every operand goes on without a gap.
  while (problem.rows.rank > 0) {
    const int last = problem.rows.rank - 1;
    bool joins = true;
    for (int k = 0; k < 3; ++k) {
      if (k == 1 && !problem.has_gate) continue;
      joins = joins && operands[k]->strides[last] == operands[k]->step * problem.width;
    }
    if (!joins && problem.width != 1) break;
    if (!joins) {
      for (kernels::RowOperand* operand : operands) operand->step = operand->strides[last];
    }
    problem.width *= problem.rows.sizes[last];
    --problem.rows.rank;
  }
  problem.activation = static_cast<kernels::Activation>(args.activation);
  return launch(whole, &DeviceKernels::activation, problem, args.stream);
}

}  // namespace
}  // namespace mindiesd::runtime

extern "C" {

mindiesd_status mindiesd_softmax(const mindiesd_softmax_args* args) {
  return mindiesd::runtime::guarded(mindiesd::runtime::softmax, args);
}

mindiesd_status mindiesd_activation(const mindiesd_activation_args* args) {
  return mindiesd::runtime::guarded(mindiesd::runtime::activation, args);
}

}  // extern "C"
