// mindiesd_rotary_grid: checks, then the kernel of the device.

#include <algorithm>

#include "kernels/grid.h"
#include "rows.h"

namespace mindiesd::runtime {
namespace {

using kernels::DataType;

Check read_table(const mindiesd_tensor* tensor, const View& input, View* table) {
  MINDIESD_RETURN_IF(read_view(tensor, "table", table));
  MINDIESD_RETURN_IF(expect_rank(*table, 3, "[place, pair, 2]"));
  MINDIESD_RETURN_IF(expect_same_device(*table, input));
  if (table->type != DataType::kFloat32 && table->type != DataType::kFloat64) {
    return invalid("table must be float32 or float64, but is " + name_of(table->type));
  }
  MINDIESD_RETURN_IF(expect_size(*table, 1, input.size(3) / 2, "half of input's width,"));
  MINDIESD_RETURN_IF(expect_size(*table, 2, 2, "a cosine and a sine,"));
  if (!table->empty() && (table->stride(2) != 1 || (table->size(1) > 1 && table->stride(1) != 2))) {
    return invalid("table must have dense rows; make it contiguous");
  }
  return {};
}

Check read_grids(const mindiesd_tensor* tensor, const View& input, const View& table,
                 const std::int64_t** grids) {
  View view;
  MINDIESD_RETURN_IF(read_view(tensor, "grid_sizes", &view));
  MINDIESD_RETURN_IF(expect_rank(view, 2, "[sample, 3]"));
  MINDIESD_RETURN_IF(expect_size(view, 0, input.size(0), "input's samples,"));
  MINDIESD_RETURN_IF(expect_size(view, 1, 3, "frames, rows and columns,"));
  if (view.type != DataType::kInt64 || view.device_type != MINDIESD_CPU) {
    return invalid("grid_sizes must be int64 on the CPU, but is " + name_of(view.type) +
                   " on a device of type " + std::to_string(view.device_type));
  }
  const bool dense = view.stride(1) == 1 && (view.size(0) <= 1 || view.stride(0) == 3);
  if (!view.empty() && !dense) return invalid("grid_sizes must be dense; make it contiguous");
  *grids = static_cast<const std::int64_t*>(view.data);
  for (std::int64_t sample = 0; sample < view.size(0); ++sample) {
    const std::int64_t* sizes = *grids + 3 * sample;
    // No size is beyond the table's rows, so that the product cannot overflow before it is too
    // large.
    for (int d = 0; d < 3; ++d) {
      if (sizes[d] < 0 || sizes[d] > table.size(0)) {
        return invalid("grid_sizes must lie in 0 to the table's rows, " +
                       std::to_string(table.size(0)) + ", but one is " + std::to_string(sizes[d]));
      }
    }
    const std::int64_t lines = sizes[0] * sizes[1];
    if (lines > input.size(1) && sizes[2] > 0) {
      return invalid("grid_sizes must have at most input's positions, " +
                     std::to_string(input.size(1)) + ", as cells, but one has more");
    }
    if (lines > 0 && sizes[2] > input.size(1) / lines) {
      return invalid("grid_sizes must have at most input's positions, " +
                     std::to_string(input.size(1)) + ", as cells, but one has more");
    }
  }
  return {};
}

Check rotary_grid(const void* raw) {
  mindiesd_rotary_grid_args args;
  MINDIESD_RETURN_IF(read_args(raw, sizeof(args), sizeof(args), &args));
  View input, table, output;
  MINDIESD_RETURN_IF(read_input(args.input, "input", &input));
  MINDIESD_RETURN_IF(expect_rank(input, 4, "[sample, position, head, width]"));
  MINDIESD_RETURN_IF(expect_dense_last(input));
  if (input.size(3) % 2 != 0) {
    return invalid("input must have an even last dimension, but has shape " + shape_of(input));
  }
  MINDIESD_RETURN_IF(read_table(args.table, input, &table));
  MINDIESD_RETURN_IF(read_output(args.output, "output", input, false, &output));
  MINDIESD_RETURN_IF(expect_dense_last(output));
  MINDIESD_RETURN_IF(expect_no_overlap(output, table, false));
  const std::int64_t pairs = input.size(3) / 2;
  if (args.frame_pairs < 0 || args.row_pairs < 0 || args.frame_pairs > pairs ||
      args.row_pairs > pairs - args.frame_pairs) {
    return invalid("frame_pairs and row_pairs must not be negative and at most " +
                   std::to_string(pairs) + " together, but are " +
                   std::to_string(args.frame_pairs) + " and " + std::to_string(args.row_pairs));
  }
  kernels::GridRotary problem;
  MINDIESD_RETURN_IF(read_grids(args.grid_sizes, input, table, &problem.grids));
  problem.samples = input.size(0);
  problem.positions = input.size(1);
  problem.heads = input.size(2);
  problem.width = input.size(3);
  problem.input = input.data;
  problem.output = output.data;
  problem.input_type = input.type;
  problem.output_type = output.type;
  std::copy(input.strides, input.strides + 3, problem.input_strides);
  std::copy(output.strides, output.strides + 3, problem.output_strides);
  problem.table = table.data;
  problem.table_type = table.type;
  problem.table_stride = table.stride(0);
  problem.pairs[0] = args.frame_pairs;
  problem.pairs[1] = args.row_pairs;
  return launch(output, &DeviceKernels::grid_rotary, problem, args.stream);
}

}  // namespace
}  // namespace mindiesd::runtime

extern "C" mindiesd_status mindiesd_rotary_grid(const mindiesd_rotary_grid_args* args) {
  return mindiesd::runtime::guarded(mindiesd::runtime::rotary_grid, args);
}
