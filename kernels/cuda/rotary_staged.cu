// The choice of rotary_staged.cuh's instances. Entry point: run_staged.

#include "kernels/cuda/rotary_staged.cuh"

#include <algorithm>
#include <numeric>

#include "kernels/cuda/host.h"
#include "kernels/cuda/rotary_host.h"

namespace mindiesd::kernels::cuda {
namespace {

// Bytes of rows for a multiprocessor, below which the other kernels are as fast: 3.5 MB and 69 MB
// on an H200.
constexpr std::int64_t kLeastWork = 26 * 1024, kLeastWorkOfNeighbours = 512 * 1024;
constexpr std::int64_t kMostHeads = 512;  // of both operands, for which tiles are looked for

// Whether outer rows lie evenly apart, and then how far, in elements.
bool even(const RotaryRows& rows, RotaryOperand which, std::int64_t* step) {
  const std::int64_t* strides = rows.strides[which];
  for (int d = 1; d < rows.rank; ++d) {
    if (strides[d - 1] != strides[d] * rows.sizes[d]) return false;
  }
  *step = strides[rows.rank - 1];
  return true;
}

RotaryStagedKernel staged_kernel(DataType type, const StagedChoice& choice) {
  switch (type) {
    case DataType::kFloat16:
      return rotary_staged_kernel_for<__half>(choice);
    case DataType::kBFloat16:
      return rotary_staged_kernel_for<__nv_bfloat16>(choice);
    default:
      return rotary_staged_kernel_for<float>(choice);
  }
}

// What is known of a call before its tiles are.
struct StagedSizes {
  std::int64_t heads[2] = {};
  std::int64_t tokens = 0;
  std::int64_t blocks = 0;  // at once
  std::uint32_t units = 0;  // of a row
  std::uint32_t row_bytes = 0, cos_bytes = 0, sin_bytes = 0;
  // 0, or: a token's table is not a multiple of 16 bytes, so that tiles have even numbers of
  // tokens, of which this is one.
  std::int64_t whole = 0;
};

struct StagedShape {
  std::uint32_t groups = 0;  // 0: there is no shape
  std::uint32_t tokens = 0;  // of a tile
  std::uint32_t fours = 0;   // of a token
  int stages = 0;
  StagedLayout layout = {};
};

// As few groups of heads as a block can have, and tiles that suit the memory best. What a tile
// costs besides its bytes is hidden from about 6 KB on; beyond that many small ones are better than
// few large ones, and a last round of the blocks that is nearly full.
StagedShape staged_shape(const StagedSizes& sizes) {
  constexpr std::uint32_t kLeastBytes = 5700;
  constexpr int kLeastStages = 5;
  StagedShape best;
  double best_score = 0.0;
  const std::int64_t common = std::gcd(sizes.heads[0], sizes.heads[1]);
  const std::int64_t most = kStagedThreads / sizes.units * kStagedRows;  // rows of a block
  for (std::int64_t groups = ceil_div(sizes.heads[0] + sizes.heads[1], most);
       groups <= common && best.groups == 0; ++groups) {
    if (common % groups != 0) continue;
    std::uint32_t rows = 0, fours = 0;
    for (const std::int64_t of : sizes.heads) {
      rows += static_cast<std::uint32_t>(of / groups);
      fours += static_cast<std::uint32_t>(ceil_div(of / groups, kStagedRows));
    }
    for (std::uint32_t tokens = 1; tokens * fours * sizes.units <= kStagedThreads; ++tokens) {
      if (sizes.whole != 0 && (tokens % 2 != 0 || sizes.whole % tokens != 0)) continue;
      const StagedLayout layout =
          staged_layout(tokens, rows, sizes.row_bytes, sizes.cos_bytes, sizes.sin_bytes);
      const auto fitting = static_cast<int>((kStagedBytes - layout.sums_bytes) / layout.tile_bytes);
      const int stages = std::min(fitting, kStagedStages);
      if (stages < kLeastStages || tokens * rows * sizes.row_bytes < kLeastBytes) continue;
      const std::int64_t tiles = ceil_div(sizes.tokens, tokens) * groups;
      const std::int64_t rounds = ceil_div(tiles, sizes.blocks);
      const double score = (1.05 - 0.05 * tokens) * stages * layout.tile_bytes *
                           static_cast<double>(tiles) / static_cast<double>(rounds * sizes.blocks);
      if (score <= best_score) continue;
      best_score = score;
      best = {static_cast<std::uint32_t>(groups), tokens, fours, stages, layout};
    }
  }
  return best;
}

}  // namespace

// Rows of 72, 80 or 96 values, of one operand or of two that have the same tables, side by side in
// each token. False where rotary_staged_kernel does not take them.
bool run_staged(const RotaryQk& problem, const Device& device, void* stream, LaunchStatus* status) {
  const Rotary& query = problem.operands[0];
  const bool neighbours = query.interleaved || query.has_matrix;
  const bool narrow = bytes_of(query.input.type) == 2;
  if (query.width % 8 != 0 || query.width > 96 || !device.programmatic_launch) return false;
  const DataType tables = table_type(query);
  const auto units = static_cast<std::uint32_t>(query.width / 8);
  const StagedChoice choice{static_cast<int>(units), neighbours, tables == DataType::kFloat32};
  const RotaryStagedKernel kernel = staged_kernel(query.input.type, choice);
  Form form;
  if (kernel == nullptr || !form_of(problem, narrow && !neighbours ? 8 : 16, &form)) return false;
  if (form.loose.loose) return false;
  StagedParameters p;
  Split splits[2];
  RotaryRows rows[2];
  StagedSizes sizes;
  const int dim = shared_dim(query);
  const std::int64_t item_bytes = bytes_of(form.type);
  const int vector = static_cast<int>(16 / item_bytes);
  for (int i = 0; i < problem.count; ++i) {
    const Rotary& rotary = problem.operands[i];
    if (rotary.rows.rank != query.rows.rank || table_type(rotary) != tables) return false;
    if (dim >= 0 && shared_dim(rotary) != dim && rotary.rows.sizes[dim] != 1) return false;
    if (rotary.output.type != form.type || !aligned(rotary.input, rotary.rows, vector) ||
        !aligned(rotary.output, rotary.rows, vector)) {
      return false;
    }
    const Split& split = splits[i] = split_at(problem, i, dim);
    rows[i] = merge_rows<kRotaryOperands>(split.outer, split.pointers());
    sizes.heads[i] = split.inner;
    StagedItem& item = p.items[i];
    const auto beside = [&](RotaryOperand o) {
      return split.inner == 1 || split.strides[o] == query.width;
    };
    if (!beside(kRotaryInput) || !beside(kRotaryOutput) ||
        !even(rows[i], kRotaryInput, &item.input_token) ||
        !even(rows[i], kRotaryOutput, &item.output_token)) {
      return false;
    }
    item.input_token *= item_bytes;
    item.output_token *= item_bytes;
    item.input = split.operands[kRotaryInput].data;
    item.output = split.operands[kRotaryOutput].data;
    item.weight = split.weight;
    item.weight_type = split.weight_type;
  }
  // Where the other kernels are faster: float32 with rows of 72 values after a norm, and neighbours
  // without one, while query and key have as many heads.
  const bool alike = problem.count == 1 || sizes.heads[0] == sizes.heads[1];
  const bool norm = problem.norm == NormSpan::kRow;
  if (alike && (norm ? !narrow && units == 9 : neighbours)) return false;
  const RotaryRows& tokens = rows[0];
  if (tokens.count() >= std::int64_t{1} << 30) return false;
  const auto like_query = [&](const std::int64_t* of, const std::int64_t* query_of) {
    return std::equal(of, of + tokens.rank, query_of);
  };
  if (problem.count == 2) {
    if (rows[1].rank != tokens.rank || !like_query(rows[1].sizes, tokens.sizes)) return false;
    for (const RotaryOperand o : {kRotaryCos, kRotarySin}) {
      if (splits[1].operands[o].data != splits[0].operands[o].data ||
          !like_query(rows[1].strides[o], tokens.strides[o])) {
        return false;
      }
    }
  }
  const std::int64_t table_bytes = bytes_of(tables);
  const bool one_table = form.table == Table::kMatrix || form.table == Table::kComplex;
  const std::int64_t pair_values = form.table == Table::kMatrix ? 4
                                   : form.table == Table::kHalf ? 1
                                                                : 2;
  const std::int64_t table_row = query.width / 2 * pair_values;
  p.cos_bytes = static_cast<std::uint32_t>(table_row * table_bytes);
  p.sin_bytes = one_table ? 0 : p.cos_bytes;
  const int last = tokens.rank - 1;
  const auto table_dim = static_cast<std::uint32_t>(tokens.sizes[last]);
  bool in_order = true;
  for (const RotaryOperand o : {kRotaryCos, kRotarySin}) {
    if (o == kRotarySin && one_table) continue;
    in_order = in_order && tokens.strides[o][last] == table_row;
  }
  // The copy engine moves multiples of 16 bytes; where a token's table has 8 more, those of two at
  // once.
  const bool pairs = p.cos_bytes % 16 != 0;
  if (pairs && (p.cos_bytes % 16 != 8 || !in_order || table_dim % 2 != 0)) return false;
  for (const RotaryOperand o : {kRotaryCos, kRotarySin}) {
    RowOperand flat;
    flat.data = splits[0].operands[o].data;
    flat.type = tables;
    flat.step = 1;
    std::copy_n(tokens.strides[o], tokens.rank, flat.strides);
    if (o == kRotarySin && one_table) continue;
    if (!aligned(flat, pairs ? last : tokens.rank, tokens.sizes,
                 static_cast<int>(16 / table_bytes))) {
      return false;
    }
  }
  sizes.tokens = tokens.count();
  sizes.blocks = std::int64_t{device.multiprocessors} * kStagedBlocks;
  sizes.units = units;
  sizes.row_bytes = units * 8 * static_cast<std::uint32_t>(item_bytes);
  sizes.cos_bytes = p.cos_bytes;
  sizes.sin_bytes = p.sin_bytes;
  sizes.whole = pairs ? table_dim : 0;
  const std::int64_t token_heads = sizes.heads[0] + sizes.heads[1];
  const std::int64_t work = sizes.tokens * token_heads * sizes.row_bytes / device.multiprocessors;
  const std::int64_t least = !norm && neighbours ? kLeastWorkOfNeighbours : kLeastWork;
  if (token_heads > kMostHeads || work < least) return false;
  const StagedShape shape = staged_shape(sizes);
  if (shape.groups == 0) return false;
  for (int i = 0; i < 2; ++i) {
    p.items[i].rows = static_cast<std::uint32_t>(sizes.heads[i]) / shape.groups;
    p.items[i].fours =
        divisor_of(static_cast<std::uint32_t>(ceil_div(p.items[i].rows, kStagedRows)));
  }
  const std::int64_t tiles = ceil_div(sizes.tokens, shape.tokens) * shape.groups;
  if (tiles >= std::int64_t{1} << 30 ||
      !allow_shared(reinterpret_cast<const void*>(kernel), kStagedBytes, true)) {
    return false;
  }
  p.map = map_of(tokens);
  p.cos = splits[0].operands[kRotaryCos].data;
  p.sin = splits[0].operands[kRotarySin].data;
  p.table = form.table;
  p.sin_place = shape.layout.sin_place;
  p.tile_bytes = shape.layout.tile_bytes;
  p.table_period = divisor_of(in_order ? table_dim : 0);
  p.tokens = static_cast<std::uint32_t>(tokens.count());
  p.tile_tokens = shape.tokens;
  p.tiles = static_cast<std::uint32_t>(tiles);
  p.groups = divisor_of(shape.groups);
  p.stages = shape.stages;
  p.norm = norm;
  p.eps = problem.eps;
  p.per_width = 1.0F / static_cast<float>(query.width);
  p.keep_tables = false;
  for (int d = 0; d < tokens.rank; ++d) {
    const bool repeated = tokens.strides[kRotaryCos][d] == 0 && tokens.strides[kRotarySin][d] == 0;
    p.keep_tables = p.keep_tables || (repeated && tokens.sizes[d] > 1);
  }
  const std::int64_t workers = ceil_div(shape.tokens * shape.fours * units, 32) * 32;
  const std::size_t bytes =
      std::size_t{shape.layout.tile_bytes} * shape.stages + shape.layout.sums_bytes;
  *status = launch(kernel, static_cast<unsigned>(std::min(tiles, sizes.blocks)),
                   static_cast<unsigned>(workers + 32), bytes, device, stream, p);
  return true;
}

}  // namespace mindiesd::kernels::cuda
