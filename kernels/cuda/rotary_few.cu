// The choice of rotary_few.cuh's instances. Entry point: run_few.

#include "kernels/cuda/rotary_few.cuh"

#include "kernels/cuda/host.h"
#include "kernels/cuda/rotary_host.h"

namespace mindiesd::kernels::cuda {
namespace {

// Threads of a multiprocessor, up to which a launch is one of few rows: as many as it holds. From
// there on tables for each row cost more than the waiting does; for neighbours without a norm,
// whose other kernels wait less, from half of that on.
constexpr std::int64_t kMostThreads = 2048, kMostThreadsOfNeighbours = 1024;
// Up to so many blocks of a multiprocessor small ones are faster; more take too long to start.
constexpr std::int64_t kMostSmallBlocks = 8;
constexpr unsigned kSmallBlock = 64, kLargeBlock = 128;

RotaryFewKernel few_kernel(const Form& form) {
  switch (form.type) {
    case DataType::kFloat16:
      return rotary_few_kernel_for<__half>(form.neighbours, apart(form.table));
    case DataType::kBFloat16:
      return rotary_few_kernel_for<__nv_bfloat16>(form.neighbours, apart(form.table));
    default:
      return rotary_few_kernel_for<float>(form.neighbours, apart(form.table));
  }
}

// The strides of an operand's samples and tokens; false where they do not fit.
bool steps_of(const RotaryRows& rows, RotaryOperand which, std::int32_t* steps) {
  steps[0] = steps[1] = 0;
  for (int d = 0; d < rows.rank; ++d) {
    const std::int64_t stride = rows.strides[which][d];
    if (stride != static_cast<std::int32_t>(stride)) return false;
    steps[2 - rows.rank + d] = static_cast<std::int32_t>(stride);
  }
  return true;
}

}  // namespace

// Rows of up to 32 units, with lanes of their own. False where there are too many of them, or
// rotary_few_kernel does not take them.
bool run_few(const RotaryQk& problem, const Device& device, void* stream, LaunchStatus* status) {
  const Rotary& first = problem.operands[0];
  std::int64_t rows_of_all = 0;
  for (int i = 0; i < problem.count; ++i) rows_of_all += problem.operands[i].rows.count();
  const bool halves = !first.interleaved && !first.has_matrix;
  const bool norm = problem.norm == NormSpan::kRow;
  const std::int64_t most =
      (norm || halves ? kMostThreads : kMostThreadsOfNeighbours) * device.multiprocessors;
  if (rows_of_all > most) return false;
  Form form;
  if (!form_of(problem, halves && bytes_of(first.input.type) == 2 ? 8 : 16, &form)) return false;
  if (form.loose.loose) return false;
  const std::int64_t units =
      first.width * bytes_of(form.type) / (form.neighbours ? form.bytes : 2 * form.bytes);
  if (units > 32) return false;
  unsigned lanes = 1;
  while (lanes < units) lanes *= 2;
  if (rows_of_all * lanes > most) return false;

  FewParameters p = {};
  p.units = static_cast<std::uint32_t>(units);
  p.table = form.table;
  p.output_type = first.output.type;
  p.norm = norm;
  p.float_tables = table_type(first) == DataType::kFloat32;
  p.eps = problem.eps;
  p.per_width = 1.0F / static_cast<float>(first.width);
  const auto pairs = static_cast<std::uint32_t>(first.width / 2 / units);  // of a unit
  const bool one_table = form.table == Table::kMatrix || form.table == Table::kComplex;
  p.pair_step = form.table == Table::kMatrix                                   ? 4
                : one_table || (form.neighbours && form.table == Table::kFull) ? 2
                                                                               : 1;
  p.next = form.neighbours ? pairs : static_cast<std::uint32_t>(first.width / 2);
  const bool small = rows_of_all * lanes <= kMostSmallBlocks * kSmallBlock * device.multiprocessors;
  const dim3 block(lanes, (small ? kSmallBlock : kLargeBlock) / lanes);
  unsigned blocks = 0;
  for (int i = 0; i < problem.count; ++i) {
    const Split split = split_at(problem, i, shared_dim(problem.operands[i]));
    const RotaryRows rows = merge_rows<kRotaryOperands>(split.outer, split.pointers());
    FewItem& item = p.items[i];
    if (rows.rank > 2 || table_type(problem.operands[i]) != table_type(first)) return false;
    if (!steps_of(rows, kRotaryInput, item.input_steps) ||
        !steps_of(rows, kRotaryOutput, item.output_steps) ||
        !steps_of(rows, kRotaryCos, item.cos_steps) ||
        !steps_of(rows, kRotarySin, item.sin_steps)) {
      return false;
    }
    for (const RotaryOperand o : {kRotaryInput, kRotaryOutput}) {
      if (split.strides[o] != static_cast<std::int32_t>(split.strides[o])) return false;
    }
    item.input_steps[2] = static_cast<std::int32_t>(split.strides[kRotaryInput]);
    item.output_steps[2] = static_cast<std::int32_t>(split.strides[kRotaryOutput]);
    item.input = split.operands[kRotaryInput].data;
    item.output = split.operands[kRotaryOutput].data;
    item.cos = split.operands[kRotaryCos].data;
    item.sin = split.operands[kRotarySin].data;
    if (one_table) {
      item.sin = advance(split.operands[kRotaryCos].data, table_type(first),
                         form.table == Table::kMatrix ? 2 * pairs : pairs);
    }
    item.weight = split.weight;
    item.float_weight = split.weight_type == DataType::kFloat32;
    item.rows = static_cast<std::uint32_t>(rows.count() * split.inner);
    item.heads = divisor_of(static_cast<std::uint32_t>(split.inner));
    item.tokens = divisor_of(static_cast<std::uint32_t>(rows.sizes[rows.rank - 1]));
    blocks += static_cast<unsigned>(ceil_div(item.rows, block.y));
    if (i == 0) p.first_blocks = blocks;
  }
  *status = launch(few_kernel(form), dim3(blocks), block, 0, device, stream, p);
  return true;
}

}  // namespace mindiesd::kernels::cuda
