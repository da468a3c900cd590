// mindiesd_rotary and mindiesd_rotary_qk: checks, then the kernel of the device.

#include <cmath>

#include "rotation.h"

namespace mindiesd::runtime {
namespace {

using kernels::DataType;

// A table beside one operand, its rows broadcast to the operand's.
struct Table {
  View view;
  bool half_width = false;
};

Check expect_table(const View& view) {
  if (is_floating(view.type) || view.type == DataType::kFloat64) return {};
  return invalid(std::string(view.name) +
                 " must be float32, float16, bfloat16 or float64, but is " + name_of(view.type));
}

// `last` columns are not broadcast: a table of one column is half the width of two.
Check broadcast_rows(View* view, const View& input) {
  std::int64_t sizes[MINDIESD_MAX_NDIM];
  for (int d = 0; d < input.rank; ++d) sizes[d] = input.size(d);
  const std::int64_t last = view->size(view->rank - 1);
  const std::int64_t step = view->stride(view->rank - 1);
  sizes[input.rank - 1] = last;
  MINDIESD_RETURN_IF(broadcast_to(view, sizes, input.rank, "input,"));
  if (last == 1) view->strides[input.rank - 1] = step;
  return {};
}

Check read_table(const mindiesd_tensor* tensor, const char* name, const View& input, Table* table) {
  View& view = table->view;
  MINDIESD_RETURN_IF(read_view(tensor, name, &view));
  MINDIESD_RETURN_IF(expect_table(view));
  MINDIESD_RETURN_IF(expect_same_device(view, input));
  const std::int64_t width = input.size(input.rank - 1);
  const std::int64_t last = view.rank == 0 ? 0 : view.size(view.rank - 1);
  if (view.rank == 0 || (last != width && last != width / 2)) {
    return invalid(std::string(name) + " must have " + std::to_string(width) + " or " +
                   std::to_string(width / 2) + " columns, but has shape " + shape_of(view));
  }
  table->half_width = last != width;
  return broadcast_rows(&view, input);
}

// A table [..., D/2, 2, 2], left as [..., D/2] with the strides inside a matrix apart.
Check read_matrices(const mindiesd_tensor* tensor, const View& input, kernels::Rotary* problem,
                    View* view) {
  MINDIESD_RETURN_IF(read_view(tensor, "cos", view));
  MINDIESD_RETURN_IF(expect_table(*view));
  MINDIESD_RETURN_IF(expect_same_device(*view, input));
  const std::int64_t pairs = input.size(input.rank - 1) / 2;
  if (view->rank < 3 || view->size(view->rank - 1) != 2 || view->size(view->rank - 2) != 2 ||
      view->size(view->rank - 3) != pairs) {
    return invalid("cos must be a table of matrices [..., " + std::to_string(pairs) +
                   ", 2, 2] where sin is absent, but has shape " + shape_of(*view));
  }
  problem->matrix_row = view->stride(view->rank - 2);
  problem->matrix_column = view->stride(view->rank - 1);
  view->rank -= 2;
  return broadcast_rows(view, input);
}

}  // namespace

Check expect_rotation(const Tables& tables) {
  if (tables.rotation != MINDIESD_ROTATED_HALF && tables.rotation != MINDIESD_ROTATED_INTERLEAVED) {
    return invalid("rotation must be 0 (half) or 1 (interleaved), but is " +
                   std::to_string(tables.rotation));
  }
  if (tables.sin == nullptr && tables.rotation != MINDIESD_ROTATED_INTERLEAVED) {
    return invalid("rotation must be 1 (interleaved) where cos is a table of matrices, but is 0");
  }
  return {};
}

Check read_rotation(const View& input, const View& output, const Tables& tables, int kept,
                    kernels::Rotary* problem) {
  const std::int64_t width = input.size(input.rank - 1);
  if (width % 2 != 0) {
    return invalid(std::string(input.name) + " must have an even last dimension, but has shape " +
                   shape_of(input));
  }
  problem->rows = rows_of(input);
  problem->width = width;
  problem->input = operand_of(input);
  problem->output = operand_of(output);
  problem->interleaved = tables.rotation == MINDIESD_ROTATED_INTERLEAVED;
  if (tables.sin == nullptr) {
    View matrices;
    MINDIESD_RETURN_IF(read_matrices(tables.cos, input, problem, &matrices));
    // Its four entries reach beyond the view: the whole tensor decides.
    View whole;
    MINDIESD_RETURN_IF(read_view(tables.cos, "cos", &whole));
    MINDIESD_RETURN_IF(expect_no_overlap(output, whole, false));
    problem->has_matrix = true;
    problem->matrix = operand_of(matrices);
  } else {
    Table cos, sin;
    MINDIESD_RETURN_IF(read_table(tables.cos, "cos", input, &cos));
    MINDIESD_RETURN_IF(read_table(tables.sin, "sin", input, &sin));
    if (cos.half_width != sin.half_width) {
      return invalid("cos and sin must have the same number of columns, but one has " +
                     std::to_string(width) + " and the other " + std::to_string(width / 2));
    }
    MINDIESD_RETURN_IF(expect_no_overlap(output, cos.view, false));
    MINDIESD_RETURN_IF(expect_no_overlap(output, sin.view, false));
    problem->cos = operand_of(cos.view);
    problem->sin = operand_of(sin.view);
    problem->half_width_tables = cos.half_width;
  }
  simplify(&problem->rows,
           {&problem->input, &problem->output, &problem->cos, &problem->sin, &problem->matrix},
           kept);
  return {};
}

void move_heads_last(kernels::Rotary* p, int from) {
  const auto turn = [&](std::int64_t* values) {
    const std::int64_t value = values[from];
    for (int d = from; d < p->rows.rank - 1; ++d) values[d] = values[d + 1];
    values[p->rows.rank - 1] = value;
  };
  turn(p->rows.sizes);
  for (kernels::RowOperand* operand : {&p->input, &p->cos, &p->sin, &p->matrix, &p->output}) {
    turn(operand->strides);
  }
}

namespace {

Check rotary(const void* raw) {
  mindiesd_rotary_args args;
  MINDIESD_RETURN_IF(read_args(raw, sizeof(args), sizeof(args), &args));
  const Tables tables = {args.cos, args.sin, args.rotation};
  MINDIESD_RETURN_IF(expect_rotation(tables));
  View input, output;
  MINDIESD_RETURN_IF(read_input(args.input, "input", &input));
  MINDIESD_RETURN_IF(read_output(args.output, "output", input, true, &output));
  kernels::RotaryQk problem;
  MINDIESD_RETURN_IF(read_rotation(input, output, tables, 0, &problem.operands[0]));
  return launch(output, &DeviceKernels::rotary, problem, args.stream);
}

Check rotary_qk(const void* raw) {
  mindiesd_rotary_qk_args args;
  MINDIESD_RETURN_IF(read_args(raw, sizeof(args), sizeof(args), &args));
  const Tables tables = {args.cos, args.sin, args.rotation};
  MINDIESD_RETURN_IF(expect_rotation(tables));
  if (args.norm < MINDIESD_QK_NORM_NONE || args.norm > MINDIESD_QK_NORM_ALL) {
    return invalid("norm must be 0, 1 or 2, but is " + std::to_string(args.norm));
  }
  if (!std::isfinite(args.eps) || args.eps < 0.0) {
    return invalid("eps must be finite and not negative, but is " + std::to_string(args.eps));
  }
  if ((args.key == nullptr) != (args.key_output == nullptr)) {
    return invalid("key and key_output must be given together, but one is null");
  }
  kernels::RotaryQk problem;
  problem.count = args.key != nullptr ? 2 : 1;
  problem.norm = static_cast<kernels::NormSpan>(args.norm);
  problem.eps = static_cast<float>(args.eps);
  const mindiesd_tensor* const inputs[2] = {args.query, args.key};
  const mindiesd_tensor* const outputs[2] = {args.query_output, args.key_output};
  const mindiesd_tensor* const weights[2] = {args.query_weight, args.key_weight};
  static constexpr const char* kNames[2][3] = {{"query", "query_output", "query_weight"},
                                               {"key", "key_output", "key_weight"}};
  const bool over_heads = args.norm == MINDIESD_QK_NORM_ALL;
  View views[2], results[2];
  for (int k = 0; k < problem.count; ++k) {
    View& input = views[k];
    MINDIESD_RETURN_IF(read_input(inputs[k], kNames[k][0], &input));
    MINDIESD_RETURN_IF(read_output(outputs[k], kNames[k][1], input, true, &results[k]));
    int head = 0;
    if (over_heads) {
      head = args.head_dimension < 0 ? args.head_dimension + input.rank : args.head_dimension;
      if (head < 0 || head >= input.rank - 1) {
        return invalid("head_dimension must name a dimension before the last of " +
                       std::string(input.name) + ", which has shape " + shape_of(input) +
                       ", but is " + std::to_string(args.head_dimension));
      }
    }
    kernels::Rotary& operand = problem.operands[k];
    // The heads' dimension is moved last once all operands are broadcast, and simplified after.
    MINDIESD_RETURN_IF(read_rotation(input, results[k], tables, input.rank - 1, &operand));
    if (over_heads) move_heads_last(&operand, head);
    simplify(&operand.rows,
             {&operand.input, &operand.output, &operand.cos, &operand.sin, &operand.matrix},
             over_heads ? 1 : 0);
    const std::int64_t width = input.size(input.rank - 1);
    const std::int64_t values = over_heads ? width * input.size(head) : width;
    Vector weight;
    MINDIESD_RETURN_IF(read_vector(weights[k], kNames[k][2], input, values, "the normalised width,",
                                   results[k], &weight));
    problem.weight[k] = weight.data;
    problem.weight_type[k] = weight.type;
    problem.weight_step[k] = weight.step;
  }
  if (problem.count == 2) {
    MINDIESD_RETURN_IF(expect_same_device(views[1], views[0]));
    MINDIESD_RETURN_IF(expect_size(views[1], views[1].rank - 1, views[0].size(views[0].rank - 1),
                                   "query's head_dim,"));
    MINDIESD_RETURN_IF(expect_no_overlap(results[0], views[1], false));
    MINDIESD_RETURN_IF(expect_no_overlap(results[1], views[0], false));
    MINDIESD_RETURN_IF(expect_no_overlap(results[1], results[0], false));
    if (results[1].empty()) problem.count = 1;
    if (results[0].empty() && problem.count == 2) {
      problem.operands[0] = problem.operands[1];
      problem.weight[0] = problem.weight[1];
      problem.weight_type[0] = problem.weight_type[1];
      problem.weight_step[0] = problem.weight_step[1];
      problem.count = 1;
      return launch(results[1], &DeviceKernels::rotary, problem, args.stream);
    }
  }
  return launch(results[0], &DeviceKernels::rotary, problem, args.stream);
}

}  // namespace
}  // namespace mindiesd::runtime

extern "C" {

mindiesd_status mindiesd_rotary(const mindiesd_rotary_args* args) {
  return mindiesd::runtime::guarded(mindiesd::runtime::rotary, args);
}

mindiesd_status mindiesd_rotary_qk(const mindiesd_rotary_qk_args* args) {
  return mindiesd::runtime::guarded(mindiesd::runtime::rotary_qk, args);
}

}  // extern "C"
