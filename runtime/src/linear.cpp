// mindiesd_linear_activation and mindiesd_int8_linear: checks, then the kernel of the device.

#include "rows.h"

namespace mindiesd::runtime {
namespace {

using kernels::DataType;

// An operand's rows as one dimension with one stride; false where they are not that.
bool as_rows(const View& view, std::int64_t* stride) {
  const int last = view.rank - 1;
  if (view.size(last) > 1 && view.stride(last) != 1) return false;
  kernels::RowSpace rows = rows_of(view);
  kernels::RowOperand operand = operand_of(view);
  simplify(&rows, {&operand});
  if (rows.rank > 1) return false;
  // A single row has no step; the kernels want a number all the same.
  *stride = rows.rank == 1 ? operand.strides[0] : view.size(last);
  return *stride >= view.size(last);
}

Check read_output(const mindiesd_tensor* tensor, const View& input, const View& weight,
                  View* output) {
  MINDIESD_RETURN_IF(read_view(tensor, "output", output));
  MINDIESD_RETURN_IF(expect_same_type(*output, input));
  MINDIESD_RETURN_IF(expect_same_device(*output, input));
  View wanted = input;
  wanted.sizes[input.rank - 1] = weight.size(0);
  bool same = output->rank == input.rank;
  for (int d = 0; same && d < input.rank; ++d) same = output->size(d) == wanted.size(d);
  if (!same) {
    return invalid("output must have input's shape with weight's first dimension as its last, " +
                   shape_of(wanted) + ", but has " + shape_of(*output));
  }
  MINDIESD_RETURN_IF(expect_no_overlap(*output));
  MINDIESD_RETURN_IF(expect_no_overlap(*output, input, false));
  return expect_no_overlap(*output, weight, false);
}

Check linear_activation(const void* raw) {
  mindiesd_linear_activation_args args;
  MINDIESD_RETURN_IF(read_args(raw, sizeof(args), sizeof(args), &args));
  if (args.activation < MINDIESD_GELU || args.activation > MINDIESD_RELU) {
    return invalid("activation must be 0 to 5, but is " + std::to_string(args.activation));
  }
  View input, weight, output;
  MINDIESD_RETURN_IF(read_input(args.input, "input", &input));
  MINDIESD_RETURN_IF(read_view(args.weight, "weight", &weight));
  MINDIESD_RETURN_IF(expect_rank(weight, 2, "[output's last dimension, input's last dimension]"));
  MINDIESD_RETURN_IF(expect_same_type(weight, input));
  MINDIESD_RETURN_IF(expect_same_device(weight, input));
  MINDIESD_RETURN_IF(expect_size(weight, 1, input.size(input.rank - 1), "input's last dimension,"));
  MINDIESD_RETURN_IF(read_output(args.output, input, weight, &output));
  kernels::LinearActivation problem;
  Vector bias;
  MINDIESD_RETURN_IF(read_vector(args.bias, "bias", input, weight.size(0),
                                 "weight's first dimension,", output, &bias));
  const bool served = (bias.data == nullptr || (bias.type == input.type && bias.step == 1)) &&
                      as_rows(input, &problem.input_stride) &&
                      as_rows(weight, &problem.weight_stride) &&
                      as_rows(output, &problem.output_stride);
  if (!served) {
    return Failure{MINDIESD_UNSUPPORTED,
                   "no kernel of this build reads or writes matrices with these strides or a bias "
                   "of another type"};
  }
  problem.type = input.type;
  problem.depth = input.size(input.rank - 1);
  problem.width = weight.size(0);
  problem.rows = rows_of(input).count();
  problem.input = input.data;
  problem.weight = weight.data;
  problem.bias = bias.data;
  problem.output = output.data;
  problem.activation = static_cast<kernels::Activation>(args.activation);
  return launch(output, &DeviceKernels::linear_activation, problem, args.stream);
}

Check expect_type(const View& view, DataType type) {
  if (view.type == type) return {};
  return invalid(std::string(view.name) + " must be " + name_of(type) + ", but is " +
                 name_of(view.type));
}

Check read_weight(const mindiesd_int8_linear_args& args, const View& input, View* weight,
                  View* scales) {
  MINDIESD_RETURN_IF(read_view(args.weight, "weight", weight));
  MINDIESD_RETURN_IF(expect_rank(*weight, 2, "[output's last dimension, input's last dimension]"));
  MINDIESD_RETURN_IF(expect_type(*weight, DataType::kInt8));
  MINDIESD_RETURN_IF(expect_same_device(*weight, input));
  MINDIESD_RETURN_IF(
      expect_size(*weight, 1, input.size(input.rank - 1), "input's last dimension,"));
  MINDIESD_RETURN_IF(read_view(args.scales, "scales", scales));
  MINDIESD_RETURN_IF(expect_rank(*scales, 1, "[weight's first dimension]"));
  MINDIESD_RETURN_IF(expect_type(*scales, DataType::kFloat32));
  MINDIESD_RETURN_IF(expect_same_device(*scales, input));
  return expect_size(*scales, 0, weight->size(0), "weight's first dimension,");
}

Check int8_linear(const void* raw) {
  mindiesd_int8_linear_args args;
  MINDIESD_RETURN_IF(read_args(raw, sizeof(args), sizeof(args), &args));
  View input, weight, scales, output;
  MINDIESD_RETURN_IF(read_input(args.input, "input", &input));
  MINDIESD_RETURN_IF(read_weight(args, input, &weight, &scales));
  MINDIESD_RETURN_IF(read_output(args.output, input, weight, &output));
  MINDIESD_RETURN_IF(expect_no_overlap(output, scales, false));
  Vector bias;
  MINDIESD_RETURN_IF(read_vector(args.bias, "bias", input, weight.size(0),
                                 "weight's first dimension,", output, &bias));
  kernels::Int8Linear problem;
  const bool served =
      (bias.data == nullptr || (bias.type == input.type && bias.step == 1)) &&
      (scales.size(0) < 2 || scales.stride(0) == 1) && as_rows(input, &problem.input_stride) &&
      as_rows(weight, &problem.weight_stride) && as_rows(output, &problem.output_stride);
  if (!served) {
    return Failure{MINDIESD_UNSUPPORTED,
                   "no kernel of this build reads or writes matrices, scales or a bias with these "
                   "strides, or a bias of another type"};
  }
  problem.type = input.type;
  problem.rows = rows_of(input).count();
  problem.depth = input.size(input.rank - 1);
  problem.width = weight.size(0);
  problem.input = input.data;
  problem.weight = static_cast<const std::int8_t*>(weight.data);
  problem.scales = static_cast<const float*>(scales.data);
  problem.bias = bias.data;
  problem.output = output.data;
  return launch(output, &DeviceKernels::int8_linear, problem, args.stream);
}

}  // namespace
}  // namespace mindiesd::runtime

extern "C" mindiesd_status mindiesd_linear_activation(const mindiesd_linear_activation_args* args) {
  return mindiesd::runtime::guarded(mindiesd::runtime::linear_activation, args);
}
extern "C" mindiesd_status mindiesd_int8_linear(const mindiesd_int8_linear_args* args) {
  return mindiesd::runtime::guarded(mindiesd::runtime::int8_linear, args);
}
