// mindiesd_group_norm: checks, then the kernel of the device.

#include <cmath>

#include "rows.h"

namespace mindiesd::runtime {
namespace {

// Strides of [sample, channel, position], the dimensions behind the channels counting as one of
// positions; false where they do not step alike.
bool as_positions(const View& view, std::int64_t (&strides)[3]) {
  kernels::RowSpace space;
  kernels::RowOperand operand;
  space.rank = view.rank - 2;
  for (int d = 0; d < space.rank; ++d) {
    space.sizes[d] = view.size(d + 2);
    operand.strides[d] = view.stride(d + 2);
  }
  simplify(&space, {&operand});
  strides[0] = view.stride(0);
  strides[1] = view.stride(1);
  strides[2] = space.rank > 0 ? operand.strides[0] : 1;
  return space.rank <= 1;
}

Check group_norm(const void* raw) {
  mindiesd_group_norm_args args;
  MINDIESD_RETURN_IF(read_args(raw, sizeof(args), sizeof(args), &args));
  View input, output;
  MINDIESD_RETURN_IF(read_input(args.input, "input", &input));
  if (input.rank < 2) {
    return invalid("input must have the dimensions [sample, channel, ...], but has shape " +
                   shape_of(input));
  }
  MINDIESD_RETURN_IF(read_output(args.output, "output", input, true, &output));
  const std::int64_t channels = input.size(1);
  if (args.groups < 1 || channels % args.groups != 0) {
    return invalid("groups must divide input's channels, " + std::to_string(channels) +
                   ", but is " + std::to_string(args.groups));
  }
  if (!std::isfinite(args.eps) || args.eps < 0.0) {
    return invalid("eps must be finite and not negative, but is " + std::to_string(args.eps));
  }
  if (args.activation != MINDIESD_NO_ACTIVATION && args.activation != MINDIESD_SILU) {
    return invalid("activation must be -1 (none) or 3 (SiLU), but is " +
                   std::to_string(args.activation));
  }
  Vector weight, bias;
  MINDIESD_RETURN_IF(
      read_vector(args.weight, "weight", input, channels, "input's channels,", output, &weight));
  MINDIESD_RETURN_IF(
      read_vector(args.bias, "bias", input, channels, "input's channels,", output, &bias));
  kernels::GroupNorm problem;
  if (!as_positions(input, problem.input_strides) ||
      !as_positions(output, problem.output_strides)) {
    return Failure{MINDIESD_UNSUPPORTED,
                   "no kernel of this build reads or writes positions with these strides"};
  }
  problem.samples = input.size(0);
  problem.groups = args.groups;
  problem.channels = channels / args.groups;
  problem.positions = 1;
  for (int d = 2; d < input.rank; ++d) problem.positions *= input.size(d);
  problem.input = input.data;
  problem.output = output.data;
  problem.input_type = input.type;
  problem.output_type = output.type;
  problem.weight = weight.data;
  problem.weight_type = weight.type;
  problem.weight_step = weight.step;
  problem.bias = bias.data;
  problem.bias_type = bias.type;
  problem.bias_step = bias.step;
  problem.eps = static_cast<float>(args.eps);
  problem.silu = args.activation == MINDIESD_SILU;
  return launch(output, &DeviceKernels::group_norm, problem, args.stream);
}

}  // namespace
}  // namespace mindiesd::runtime

extern "C" mindiesd_status mindiesd_group_norm(const mindiesd_group_norm_args* args) {
  return mindiesd::runtime::guarded(mindiesd::runtime::group_norm, args);
}
