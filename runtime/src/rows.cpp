// Checks and row spaces; see rows.h.

#include "rows.h"

namespace mindiesd::runtime {

Check read_input(const mindiesd_tensor* tensor, const char* name, View* input) {
  MINDIESD_RETURN_IF(read_view(tensor, name, input));
  if (input->rank == 0) {
    return invalid(std::string(name) + " must have at least one dimension, but is a scalar");
  }
  return expect_floating(*input);
}

Check read_output(const mindiesd_tensor* tensor, const char* name, const View& input,
                  bool may_be_input, View* output) {
  MINDIESD_RETURN_IF(read_view(tensor, name, output));
  MINDIESD_RETURN_IF(expect_floating(*output));
  MINDIESD_RETURN_IF(expect_same_device(*output, input));
  bool same = input.rank == output->rank;
  for (int d = 0; same && d < input.rank; ++d) same = input.size(d) == output->size(d);
  if (!same) {
    return invalid(std::string(name) + " must have the shape of " + input.name + ", " +
                   shape_of(input) + ", but has " + shape_of(*output));
  }
  MINDIESD_RETURN_IF(expect_no_overlap(*output));
  return expect_no_overlap(*output, input, may_be_input);
}

Check read_operand(const mindiesd_tensor* tensor, const char* name, const View& input, View* view) {
  MINDIESD_RETURN_IF(read_view(tensor, name, view));
  MINDIESD_RETURN_IF(expect_floating(*view));
  MINDIESD_RETURN_IF(expect_same_device(*view, input));
  return broadcast_to(view, input.sizes, input.rank, "input,");
}

Check read_vector(const mindiesd_tensor* tensor, const char* name, const View& input,
                  std::int64_t size, const char* what, const View& output, Vector* vector) {
  if (tensor == nullptr) return {};
  View view;
  MINDIESD_RETURN_IF(read_view(tensor, name, &view));
  MINDIESD_RETURN_IF(expect_rank(view, 1, "[input's last dimension]"));
  MINDIESD_RETURN_IF(expect_floating(view));
  MINDIESD_RETURN_IF(expect_same_device(view, input));
  MINDIESD_RETURN_IF(expect_size(view, 0, size, what));
  MINDIESD_RETURN_IF(expect_no_overlap(output, view, false));
  *vector = {view.data, view.type, view.stride(0)};
  return {};
}

void simplify(kernels::RowSpace* rows, std::initializer_list<kernels::RowOperand*> operands,
              int kept) {
  const int mergeable = rows->rank - kept;
  int count = 0;
  const auto move = [&](int from, int to) {
    rows->sizes[to] = rows->sizes[from];
    for (kernels::RowOperand* operand : operands) operand->strides[to] = operand->strides[from];
  };
  for (int d = 0; d < mergeable; ++d) {
    if (rows->sizes[d] == 1) continue;
    bool merges = count > 0;
    for (const kernels::RowOperand* operand : operands) {
      merges = merges && operand->strides[count - 1] == operand->strides[d] * rows->sizes[d];
    }
    if (merges) {
      const std::int64_t outer = rows->sizes[count - 1];
      move(d, count - 1);
      rows->sizes[count - 1] *= outer;
    } else {
      move(d, count++);
    }
  }
  for (int d = mergeable; d < rows->rank; ++d) move(d, count++);
  rows->rank = count;
}

}  // namespace mindiesd::runtime
