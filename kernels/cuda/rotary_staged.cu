// The choice of rotary_staged.cuh's instances. Entry point: run_staged.

#include "kernels/cuda/rotary_staged.cuh"

#include <algorithm>

#include "kernels/cuda/host.h"
#include "kernels/cuda/rotary_host.h"

namespace mindiesd::kernels::cuda {
namespace {

// Whether outer rows lie evenly apart, and then how far, in elements.
bool even(const RotaryRows& rows, RotaryOperand which, std::int64_t* step) {
  const std::int64_t* strides = rows.strides[which];
  for (int d = 1; d < rows.rank; ++d) {
    if (strides[d - 1] != strides[d] * rows.sizes[d]) return false;
  }
  *step = strides[rows.rank - 1];
  return true;
}

}  // namespace

// Query and key of 9, 10 or 12 vectors a row after their norms, the rows side by side in each
// token, with the same tables. False where rotary_staged_kernel does not take them.
bool run_staged(const RotaryQk& problem, const Device& device, void* stream, LaunchStatus* status) {
  const Rotary& query = problem.operands[0];
  const bool neighbours = query.interleaved || query.has_matrix;
  const std::int64_t vectors = query.width / 8;
  Form form;
  if (problem.count != 2 || query.width % 8 != 0 || bytes_of(query.input.type) != 2 ||
      !device.programmatic_launch || !form_of(problem, neighbours ? 16 : 8, &form) ||
      table_type(query) != DataType::kFloat32) {
    return false;
  }
  StagedParameters p;
  Split splits[2];
  RotaryRows rows[2];
  for (int i = 0; i < 2; ++i) {
    const Rotary& rotary = problem.operands[i];
    if (rotary.output.type != form.type || !aligned(rotary.input, rotary.rows, 8) ||
        !aligned(rotary.output, rotary.rows, 8)) {
      return false;
    }
    const Split& split = splits[i] = split_at(problem, i, shared_dim(rotary));
    rows[i] = merge_rows<kRotaryOperands>(split.outer, split.pointers());
    StagedItem& item = p.items[i];
    if (split.strides[kRotaryInput] != query.width || split.strides[kRotaryOutput] != query.width ||
        !even(rows[i], kRotaryInput, &item.input_token) ||
        !even(rows[i], kRotaryOutput, &item.output_token)) {
      return false;
    }
    item.input_token *= bytes_of(form.type);
    item.output_token *= bytes_of(form.type);
    item.input = split.operands[kRotaryInput].data;
    item.output = split.operands[kRotaryOutput].data;
    item.weight = split.weight;
    item.weight_type = split.weight_type;
  }
  const RotaryRows& tokens = rows[0];
  const auto like_query = [&](const std::int64_t* of, const std::int64_t* query_of) {
    return std::equal(of, of + tokens.rank, query_of);
  };
  if (splits[1].inner != splits[0].inner || rows[1].rank != tokens.rank ||
      !like_query(rows[1].sizes, tokens.sizes) || tokens.count() >= std::int64_t{1} << 30) {
    return false;
  }
  for (const RotaryOperand o : {kRotaryCos, kRotarySin}) {
    if (splits[1].operands[o].data != splits[0].operands[o].data ||
        !like_query(rows[1].strides[o], tokens.strides[o])) {
      return false;
    }
  }
  // As many heads of a token as a block has threads for.
  std::int64_t heads = splits[0].inner / kStagedRows * kStagedRows;
  while (heads > 0 && (heads * vectors > kStagedThreads || splits[0].inner % heads != 0)) {
    heads -= kStagedRows;
  }
  // Where a head is too few for a block, and where blocks would have a tile or two, the other
  // kernels are as fast.
  const std::int64_t blocks = std::int64_t{device.multiprocessors} * kStagedBlocks;
  const std::int64_t groups = heads > 0 ? splits[0].inner / heads : 0;
  const std::int64_t tiles = ceil_div(tokens.count(), kStagedTokens) * groups;
  if (heads * vectors < 96 || tiles < 2 * blocks || tiles >= std::int64_t{1} << 30) return false;
  // The copy engine moves multiples of 16 bytes.
  const bool one_table = form.table == Table::kMatrix || form.table == Table::kComplex;
  const std::int64_t pair_values = form.table == Table::kMatrix ? 4
                                   : form.table == Table::kHalf ? 1
                                                                : 2;
  p.cos_bytes = static_cast<std::uint32_t>(query.width / 2 * pair_values * 4);
  p.sin_bytes = one_table ? 0 : p.cos_bytes;
  for (const RotaryOperand o : {kRotaryCos, kRotarySin}) {
    RowOperand flat = splits[0].operands[o];
    flat.step = 1;
    const bool counts = o == kRotaryCos || !one_table;
    if (counts && (p.cos_bytes % 16 != 0 || !aligned(flat, splits[0].outer, 4))) return false;
  }
  const int row_vectors = static_cast<int>(vectors);
  const RotaryStagedKernel kernel =
      form.type == DataType::kBFloat16
          ? rotary_staged_kernel_for<__nv_bfloat16>(row_vectors, neighbours)
          : rotary_staged_kernel_for<__half>(row_vectors, neighbours);
  if (kernel == nullptr ||
      !allow_shared(reinterpret_cast<const void*>(kernel), kStagedBytes, true)) {
    return false;
  }
  p.map = map_of(tokens);
  p.cos = splits[0].operands[kRotaryCos].data;
  p.sin = splits[0].operands[kRotarySin].data;
  p.table = form.table;
  p.tokens = static_cast<std::uint32_t>(tokens.count());
  p.rows = static_cast<std::uint32_t>(heads);
  p.groups = divisor_of(static_cast<std::uint32_t>(groups));
  p.fours = divisor_of(p.rows / kStagedRows);
  p.eps = problem.eps;
  p.per_width = 1.0F / static_cast<float>(query.width);
  const auto bytes_for = [&](int stages) {
    return staged_bytes(stages, p.rows, static_cast<std::uint32_t>(vectors),
                        p.cos_bytes + p.sin_bytes);
  };
  p.keep_tables = false;
  for (int d = 0; d < tokens.rank; ++d) {
    const bool repeated = tokens.strides[kRotaryCos][d] == 0 && tokens.strides[kRotarySin][d] == 0;
    p.keep_tables = p.keep_tables || (repeated && tokens.sizes[d] > 1);
  }
  p.stages = kStagedStages;
  while (bytes_for(p.stages) > kStagedBytes) --p.stages;
  const unsigned workers = static_cast<unsigned>(ceil_div(heads * vectors, 32) * 32);
  *status = launch(kernel, static_cast<unsigned>(blocks), workers + 32, bytes_for(p.stages), device,
                   stream, p);
  return true;
}

}  // namespace mindiesd::kernels::cuda
