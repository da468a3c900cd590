// mindiesd_rms_norm and mindiesd_fused_norm: checks, then the kernel of the device.

#include <cmath>
#include <cstddef>

#include "rows.h"

namespace mindiesd::runtime {
namespace {

using kernels::DataType;

Check expect_eps(const char* name, double eps) {
  if (std::isfinite(eps) && eps >= 0.0) return {};
  return invalid(std::string(name) + " must be finite and not negative, but is " +
                 std::to_string(eps));
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
  MINDIESD_RETURN_IF(read_input(args.input, "input", &input));
  MINDIESD_RETURN_IF(read_output(args.output, "output", input, true, &output));
  MINDIESD_RETURN_IF(expect_eps("eps", args.eps));
  const std::int64_t width = input.size(input.rank - 1);
  Vector weight, bias;
  MINDIESD_RETURN_IF(
      read_vector(args.weight, "weight", input, width, "input's width,", output, &weight));
  MINDIESD_RETURN_IF(read_vector(args.bias, "bias", input, width, "input's width,", output, &bias));
  kernels::RmsNorm problem;
  problem.weight = weight.data;
  problem.weight_type = weight.type;
  problem.weight_step = weight.step;
  problem.bias = bias.data;
  problem.bias_type = bias.type;
  problem.bias_step = bias.step;
  MINDIESD_RETURN_IF(read_rounding(args.normalized_dtype, "normalized_dtype", &problem.normalized));
  MINDIESD_RETURN_IF(read_rounding(args.product_dtype, "product_dtype", &problem.product));
  problem.rows = rows_of(input);
  problem.width = width;
  problem.input = operand_of(input);
  problem.output = operand_of(output);
  problem.eps = static_cast<float>(args.eps);
  simplify(&problem.rows, {&problem.input, &problem.output});
  return launch(output, &DeviceKernels::rms_norm, problem, args.stream);
}

// The results: the sum, the output, or both.
struct Results {
  View views[2];
  int count = 0;

  Check expect_apart(const View& input, bool allow_same) const {
    for (int i = 0; i < count; ++i) {
      MINDIESD_RETURN_IF(expect_no_overlap(views[i], input, allow_same));
    }
    return {};
  }
};

// An operand that may be absent, broadcast to input; it shares no memory with the results.
Check read_optional(const mindiesd_tensor* tensor, const char* name, const View& input,
                    const Results& results, bool* present, kernels::RowOperand* operand) {
  *present = tensor != nullptr;
  if (tensor == nullptr) return {};
  View view;
  MINDIESD_RETURN_IF(read_operand(tensor, name, input, &view));
  MINDIESD_RETURN_IF(results.expect_apart(view, false));
  *operand = operand_of(view);
  return {};
}

Check read_weight(const mindiesd_tensor* tensor, const char* name, const View& input,
                  const Results& results, Vector* vector) {
  const std::int64_t width = input.size(input.rank - 1);
  for (int i = 0; i < results.count; ++i) {
    MINDIESD_RETURN_IF(
        read_vector(tensor, name, input, width, "input's width,", results.views[i], vector));
  }
  return {};
}

Check read_results(const mindiesd_fused_norm_args& args, const View& input, Results* results,
                   kernels::FusedNorm* problem) {
  if (args.output == nullptr && args.sum == nullptr) {
    return invalid("output must be a tensor where sum is null, but is null");
  }
  if (args.output != nullptr) {
    View& output = results->views[results->count++];
    MINDIESD_RETURN_IF(read_output(args.output, "output", input, true, &output));
    problem->output = operand_of(output);
  }
  if (args.sum != nullptr) {
    View& sum = results->views[results->count++];
    MINDIESD_RETURN_IF(read_output(args.sum, "sum", input, true, &sum));
    if (results->count == 2) {
      MINDIESD_RETURN_IF(expect_no_overlap(results->views[0], sum, false));
    }
    problem->has_sum = true;
    problem->sum = operand_of(sum);
  }
  return {};
}

Check read_residual(const mindiesd_fused_norm_args& args, const View& input, const Results& results,
                    kernels::FusedNorm* problem) {
  if (args.gate_function != MINDIESD_GATE_ITSELF && args.gate_function != MINDIESD_GATE_TANH) {
    return invalid("gate_function must be 0 or 1 (tanh), but is " +
                   std::to_string(args.gate_function));
  }
  if (args.branch == nullptr) {
    const char* given = args.gate != nullptr    ? "gate"
                        : args.sum != nullptr   ? "sum"
                        : args.branch_norm != 0 ? "branch_norm"
                                                : nullptr;
    if (given == nullptr) return {};
    return invalid(std::string(given) + " must be null where branch is, but is given");
  }
  View branch;
  MINDIESD_RETURN_IF(read_view(args.branch, "branch", &branch));
  MINDIESD_RETURN_IF(expect_floating(branch));
  MINDIESD_RETURN_IF(expect_same_device(branch, input));
  bool same = branch.rank == input.rank;
  for (int d = 0; same && d < input.rank; ++d) same = branch.size(d) == input.size(d);
  if (!same) {
    return invalid("branch must have the shape of input, " + shape_of(input) + ", but has " +
                   shape_of(branch));
  }
  MINDIESD_RETURN_IF(results.expect_apart(branch, true));
  problem->has_branch = true;
  problem->branch = operand_of(branch);
  problem->gate_tanh = args.gate_function == MINDIESD_GATE_TANH;
  if (args.branch_norm != 0) {
    MINDIESD_RETURN_IF(expect_eps("branch_eps", args.branch_eps));
    Vector weight;
    MINDIESD_RETURN_IF(read_weight(args.branch_weight, "branch_weight", input, results, &weight));
    problem->branch_norm = true;
    problem->branch_weight = weight.data;
    problem->branch_weight_type = weight.type;
    problem->branch_weight_step = weight.step;
    problem->branch_eps = static_cast<float>(args.branch_eps);
  }
  return read_optional(args.gate, "gate", input, results, &problem->has_gate, &problem->gate);
}

Check fused_norm(const void* raw) {
  mindiesd_fused_norm_args args;
  MINDIESD_RETURN_IF(
      read_args(raw, offsetof(mindiesd_fused_norm_args, branch_weight), sizeof(args), &args));
  if (args.kind != MINDIESD_LAYER_NORM && args.kind != MINDIESD_RMS_NORM) {
    return invalid("kind must be 0 (LayerNorm) or 1 (RMSNorm), but is " +
                   std::to_string(args.kind));
  }
  MINDIESD_RETURN_IF(expect_eps("eps", args.eps));
  View input;
  MINDIESD_RETURN_IF(read_input(args.input, "input", &input));
  Results results;
  kernels::FusedNorm problem;
  MINDIESD_RETURN_IF(read_results(args, input, &results, &problem));
  MINDIESD_RETURN_IF(read_residual(args, input, results, &problem));
  MINDIESD_RETURN_IF(
      read_optional(args.scale, "scale", input, results, &problem.has_scale, &problem.scale));
  MINDIESD_RETURN_IF(
      read_optional(args.shift, "shift", input, results, &problem.has_shift, &problem.shift));
  Vector weight, bias;
  MINDIESD_RETURN_IF(read_weight(args.weight, "weight", input, results, &weight));
  MINDIESD_RETURN_IF(read_weight(args.bias, "bias", input, results, &bias));
  problem.kind = static_cast<kernels::NormKind>(args.kind);
  problem.rows = rows_of(input);
  problem.width = input.size(input.rank - 1);
  problem.input = operand_of(input);
  problem.weight = weight.data;
  problem.weight_type = weight.type;
  problem.weight_step = weight.step;
  problem.bias = bias.data;
  problem.bias_type = bias.type;
  problem.bias_step = bias.step;
  problem.eps = static_cast<float>(args.eps);
  simplify(&problem.rows, {&problem.input, &problem.branch, &problem.gate, &problem.sum,
                           &problem.scale, &problem.shift, &problem.output});
  return launch(results.views[0], &DeviceKernels::fused_norm, problem, args.stream);
}

}  // namespace
}  // namespace mindiesd::runtime

extern "C" {

mindiesd_status mindiesd_rms_norm(const mindiesd_rms_norm_args* args) {
  return mindiesd::runtime::guarded(mindiesd::runtime::rms_norm, args);
}

mindiesd_status mindiesd_fused_norm(const mindiesd_fused_norm_args* args) {
  return mindiesd::runtime::guarded(mindiesd::runtime::fused_norm, args);
}

}  // extern "C"
