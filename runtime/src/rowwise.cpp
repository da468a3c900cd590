// mindiesd_rotary, mindiesd_rms_norm and mindiesd_softmax: checks, then the kernels of the device.

#include <cmath>
#include <cstddef>
#include <utility>

#include "device.h"

namespace mindiesd::runtime {
namespace {

using kernels::DataType;

Check read_input_and_output(const mindiesd_tensor* input_tensor,
                            const mindiesd_tensor* output_tensor, View* input, View* output) {
  MINDIESD_RETURN_IF(read_view(input_tensor, "input", input));
  MINDIESD_RETURN_IF(read_view(output_tensor, "output", output));
  if (input->rank == 0) return invalid("input must have at least one dimension, but is a scalar");
  MINDIESD_RETURN_IF(expect_floating(*input));
  MINDIESD_RETURN_IF(expect_floating(*output));
  MINDIESD_RETURN_IF(expect_same_device(*output, *input));
  bool same = input->rank == output->rank;
  for (int d = 0; same && d < input->rank; ++d) same = input->size(d) == output->size(d);
  if (!same) {
    return invalid("output must have the shape of input, " + shape_of(*input) + ", but has " +
                   shape_of(*output));
  }
  return expect_no_overlap(*output);
}

Check read_table(const mindiesd_tensor* tensor, const char* name, const View& input,
                 const View& output, View* table, bool* half_width) {
  MINDIESD_RETURN_IF(read_view(tensor, name, table));
  MINDIESD_RETURN_IF(expect_floating(*table));
  MINDIESD_RETURN_IF(expect_same_device(*table, input));
  const std::int64_t width = input.size(input.rank - 1);
  const std::int64_t last = table->rank == 0 ? 0 : table->size(table->rank - 1);
  if (last != width && last != width / 2) {
    return invalid(std::string(name) + " must have " + std::to_string(width) + " or " +
                   std::to_string(width / 2) + " columns, but has shape " + shape_of(*table));
  }
  *half_width = last != width;
  std::int64_t sizes[MINDIESD_MAX_NDIM];
  for (int d = 0; d < input.rank; ++d) sizes[d] = input.size(d);
  sizes[input.rank - 1] = last;
  // The last dimension is not broadcast: a table of one column is half the width of two.
  const std::int64_t step = table->stride(table->rank - 1);
  MINDIESD_RETURN_IF(broadcast_to(table, sizes, input.rank, "input, "));
  if (last == 1) table->strides[input.rank - 1] = step;
  return expect_no_overlap(output, *table, false);
}

Check rotary(const void* raw) {
  mindiesd_rotary_args args;
  MINDIESD_RETURN_IF(read_args(raw, sizeof(args), sizeof(args), &args));
  if (args.rotation != MINDIESD_ROTATED_HALF && args.rotation != MINDIESD_ROTATED_INTERLEAVED) {
    return invalid("rotation must be 0 (half) or 1 (interleaved), but is " +
                   std::to_string(args.rotation));
  }
  View input, output, cos, sin;
  MINDIESD_RETURN_IF(read_input_and_output(args.input, args.output, &input, &output));
  MINDIESD_RETURN_IF(expect_no_overlap(output, input, true));
  const std::int64_t width = input.size(input.rank - 1);
  if (width % 2 != 0) {
    return invalid("input must have an even last dimension, but has shape " + shape_of(input));
  }
  bool half_width_cos = false, half_width_sin = false;
  MINDIESD_RETURN_IF(read_table(args.cos, "cos", input, output, &cos, &half_width_cos));
  MINDIESD_RETURN_IF(read_table(args.sin, "sin", input, output, &sin, &half_width_sin));
  if (half_width_cos != half_width_sin) {
    return invalid("cos and sin must have the same number of columns, but one has " +
                   std::to_string(width) + " and the other " + std::to_string(width / 2));
  }
  kernels::Rotary problem;
  problem.rows = rows_of(input);
  problem.width = width;
  problem.input = operand_of(input);
  problem.cos = operand_of(cos);
  problem.sin = operand_of(sin);
  problem.output = operand_of(output);
  problem.interleaved = args.rotation == MINDIESD_ROTATED_INTERLEAVED;
  problem.half_width_tables = half_width_cos;
  const DeviceKernels* device = nullptr;
  MINDIESD_RETURN_IF(find_kernels(input, &device));
  if (output.empty()) return {};
  return check_launch(device->rotary(problem, args.stream));
}

Check read_vector(const mindiesd_tensor* tensor, const char* name, const View& input,
                  const View& output, const void** data, DataType* type, std::int64_t* step) {
  if (tensor == nullptr) return {};
  View view;
  MINDIESD_RETURN_IF(read_view(tensor, name, &view));
  MINDIESD_RETURN_IF(expect_rank(view, 1, "[input's last dimension]"));
  MINDIESD_RETURN_IF(expect_floating(view));
  MINDIESD_RETURN_IF(expect_same_device(view, input));
  MINDIESD_RETURN_IF(expect_size(view, 0, input.size(input.rank - 1), "input's width,"));
  MINDIESD_RETURN_IF(expect_no_overlap(output, view, false));
  *data = view.data;
  *type = view.type;
  *step = view.stride(0);
  return {};
}

Check read_rounding(std::int32_t dtype, const char* name, DataType* type) {
  if (dtype != MINDIESD_FLOAT32 && dtype != MINDIESD_FLOAT16 && dtype != MINDIESD_BFLOAT16) {
    return invalid(std::string(name) + " must be float32, float16 or bfloat16, but is dtype " +
                   std::to_string(dtype));
  }
  *type = static_cast<DataType>(dtype);
  return {};
}

Check rms_norm(const void* raw) {
  mindiesd_rms_norm_args args;
  MINDIESD_RETURN_IF(read_args(raw, sizeof(args), sizeof(args), &args));
  View input, output;
  MINDIESD_RETURN_IF(read_input_and_output(args.input, args.output, &input, &output));
  MINDIESD_RETURN_IF(expect_no_overlap(output, input, true));
  if (!std::isfinite(args.eps) || args.eps < 0.0) {
    return invalid("eps must be finite and not negative, but is " + std::to_string(args.eps));
  }
  kernels::RmsNorm problem;
  MINDIESD_RETURN_IF(read_vector(args.weight, "weight", input, output, &problem.weight,
                                 &problem.weight_type, &problem.weight_step));
  MINDIESD_RETURN_IF(read_vector(args.bias, "bias", input, output, &problem.bias,
                                 &problem.bias_type, &problem.bias_step));
  MINDIESD_RETURN_IF(read_rounding(args.normalized_dtype, "normalized_dtype", &problem.normalized));
  MINDIESD_RETURN_IF(read_rounding(args.product_dtype, "product_dtype", &problem.product));
  problem.rows = rows_of(input);
  problem.width = input.size(input.rank - 1);
  problem.input = operand_of(input);
  problem.output = operand_of(output);
  problem.eps = static_cast<float>(args.eps);
  const DeviceKernels* device = nullptr;
  MINDIESD_RETURN_IF(find_kernels(input, &device));
  if (output.empty()) return {};
  return check_launch(device->rms_norm(problem, args.stream));
}

// Exchanges a dimension with the last, so that rows run along it.
void move_last(View* view, int dim) {
  std::swap(view->sizes[dim], view->sizes[view->rank - 1]);
  std::swap(view->strides[dim], view->strides[view->rank - 1]);
}

Check softmax(const void* raw) {
  mindiesd_softmax_args args;
  MINDIESD_RETURN_IF(read_args(raw, offsetof(mindiesd_softmax_args, scale), sizeof(args), &args));
  View input, output;
  MINDIESD_RETURN_IF(read_input_and_output(args.input, args.output, &input, &output));
  // Rows are read whole before they are written, but a global maximum needs every row first.
  MINDIESD_RETURN_IF(expect_no_overlap(output, input, args.subtract != MINDIESD_SUBTRACT_GLOBAL));
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
  kernels::Softmax problem;
  if (args.mask != nullptr) {
    View mask;
    MINDIESD_RETURN_IF(read_view(args.mask, "mask", &mask));
    MINDIESD_RETURN_IF(expect_same_device(mask, input));
    if (mask.type != DataType::kBool) MINDIESD_RETURN_IF(expect_floating(mask));
    MINDIESD_RETURN_IF(broadcast_to(&mask, input.sizes, input.rank, "input, "));
    MINDIESD_RETURN_IF(expect_no_overlap(output, mask, false));
    move_last(&mask, dim);
    problem.has_mask = true;
    problem.mask = operand_of(mask);
  }
  move_last(&input, dim);
  move_last(&output, dim);
  problem.rows = rows_of(input);
  problem.width = input.size(input.rank - 1);
  problem.input = operand_of(input);
  problem.output = operand_of(output);
  problem.mask_value = static_cast<float>(args.mask_value);
  problem.subtract = static_cast<kernels::Subtract>(args.subtract);
  problem.has_clamp_min = args.has_clamp_min != 0;
  problem.has_clamp_max = args.has_clamp_max != 0;
  problem.clamp_min = static_cast<float>(args.clamp_min);
  problem.clamp_max = static_cast<float>(args.clamp_max);
  const DeviceKernels* device = nullptr;
  MINDIESD_RETURN_IF(find_kernels(input, &device));
  if (output.empty()) return {};
  return check_launch(device->softmax(problem, args.stream));
}

}  // namespace
}  // namespace mindiesd::runtime

extern "C" {

mindiesd_status mindiesd_rotary(const mindiesd_rotary_args* args) {
  return mindiesd::runtime::guarded(mindiesd::runtime::rotary, args);
}

mindiesd_status mindiesd_rms_norm(const mindiesd_rms_norm_args* args) {
  return mindiesd::runtime::guarded(mindiesd::runtime::rms_norm, args);
}

mindiesd_status mindiesd_softmax(const mindiesd_softmax_args* args) {
  return mindiesd::runtime::guarded(mindiesd::runtime::softmax, args);
}

}  // extern "C"
