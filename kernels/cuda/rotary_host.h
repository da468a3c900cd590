// What the host files of the rotations share: an operand with its rows split into outer ones and
// those along one dimension, and how operands can be read in vectors. Entry points: split_at,
// shared_dim, form_of, run_staged, run_few, run_plain_stretch.

#pragma once

#include <cstdlib>

#include "kernels/cuda/host.h"
#include "kernels/cuda/rotary.cuh"

namespace mindiesd::kernels::cuda {

// An operand of the operation with its rows split in two: `outer` ones and `inner` ones, the latter
// along one dimension: the heads of a norm over all heads, or rows that share their table row.
struct Split {
  RowSpace outer;
  std::int64_t inner = 1;
  RowOperand operands[kRotaryOperands];        // strides of the outer dimensions
  std::int64_t strides[kRotaryOperands] = {};  // of the inner one
  std::int64_t matrix_row = 0, matrix_column = 0;
  const void* weight = nullptr;
  DataType weight_type = DataType::kFloat32;

  std::array<const RowOperand*, kRotaryOperands> pointers() const {
    return {&operands[0], &operands[1], &operands[2], &operands[3]};
  }
};

// `dim` < 0: no inner dimension.
inline Split split_at(const Rotary& rotary, int dim) {
  Split split;
  split.operands[kRotaryInput] = rotary.input;
  split.operands[kRotaryOutput] = rotary.output;
  split.operands[kRotaryCos] = rotary.has_matrix ? rotary.matrix : rotary.cos;
  split.operands[kRotarySin] = rotary.has_matrix ? rotary.matrix : rotary.sin;
  split.matrix_row = rotary.matrix_row;
  split.matrix_column = rotary.matrix_column;
  for (int d = 0; d < rotary.rows.rank; ++d) {
    if (d == dim) {
      split.inner = rotary.rows.sizes[d];
      for (int o = 0; o < kRotaryOperands; ++o) split.strides[o] = split.operands[o].strides[d];
      continue;
    }
    const int to = split.outer.rank++;
    split.outer.sizes[to] = rotary.rows.sizes[d];
    // `to` is not above d, so strides still to be read are not overwritten.
    for (RowOperand& operand : split.operands) operand.strides[to] = operand.strides[d];
  }
  return split;
}

inline Split split_at(const RotaryQk& problem, int which, int dim) {
  Split split = split_at(problem.operands[which], dim);
  split.weight = problem.weight[which];
  split.weight_type = problem.weight_type[which];
  return split;
}

// The dimension along which the tables repeat, the innermost one of the input; -1: none.
inline int shared_dim(const Rotary& rotary) {
  const RowOperand& cos = rotary.has_matrix ? rotary.matrix : rotary.cos;
  const RowOperand& sin = rotary.has_matrix ? rotary.matrix : rotary.sin;
  int best = -1;
  for (int d = 0; d < rotary.rows.rank; ++d) {
    if (rotary.rows.sizes[d] == 1 || cos.strides[d] != 0 || sin.strides[d] != 0) continue;
    if (best < 0 || std::llabs(rotary.input.strides[d]) < std::llabs(rotary.input.strides[best])) {
      best = d;
    }
  }
  return best;
}

using RotaryRows = Rows<kRotaryOperands>;

struct Form {
  DataType type;
  int bytes;  // of a vector
  bool neighbours;
  Table table = Table::kFull;
  LooseTables loose;
  bool packed = false;  // rotary_packed_kernel: pairs in vectors of 8 bytes, results in ones of 16
};

inline DataType table_type(const Rotary& rotary) {
  return rotary.has_matrix ? rotary.matrix.type : rotary.cos.type;
}

// Whether vectors of float32 or `type` read the tables, `pairs` pairs at once, and then how they
// lie.
inline bool vector_tables(const Rotary& rotary, DataType type, std::int64_t pairs, Table* table) {
  const DataType of = table_type(rotary);
  if (of != type && of != DataType::kFloat32) return false;
  const bool neighbours = rotary.interleaved || rotary.has_matrix;
  if (rotary.has_matrix) {
    *table = Table::kMatrix;
    RowOperand flat = rotary.matrix;
    flat.step = 1;
    return rotary.matrix.step == 4 && rotary.matrix_row == 2 && rotary.matrix_column == 1 &&
           aligned(flat, rotary.rows, static_cast<int>(4 * pairs));
  }
  *table = rotary.half_width_tables ? Table::kHalf : Table::kFull;
  if (rotary.cos.type != rotary.sin.type) return false;
  if (rotary.cos.step == 2 && rotary.sin.step == 2) {
    bool one_table = rotary.half_width_tables && neighbours &&
                     rotary.sin.data == advance(rotary.cos.data, rotary.cos.type, 1);
    for (int d = 0; d < rotary.rows.rank; ++d) {
      one_table = one_table && rotary.cos.strides[d] == rotary.sin.strides[d];
    }
    RowOperand flat = rotary.cos;
    flat.step = 1;
    *table = Table::kComplex;
    return one_table && aligned(flat, rotary.rows, static_cast<int>(2 * pairs));
  }
  if (rotary.cos.step != 1 || rotary.sin.step != 1) return false;
  const auto values = static_cast<int>(neighbours && *table == Table::kFull ? 2 * pairs : pairs);
  return aligned(rotary.cos, rotary.rows, values) && aligned(rotary.sin, rotary.rows, values);
}

inline LooseTables loose_tables(const Rotary& rotary) {
  LooseTables loose;
  loose.loose = true;
  if (rotary.has_matrix) {  // (m00, m11) and (m01, m10); the latter begin at sines_of
    loose.negative = true;
    loose.types[0] = loose.types[1] = rotary.matrix.type;
    loose.pair[0] = loose.pair[1] = rotary.matrix.step;
    loose.next[0] = rotary.matrix_row + rotary.matrix_column;
    loose.next[1] = rotary.matrix_row - rotary.matrix_column;
    return loose;
  }
  const RowOperand* const tables[2] = {&rotary.cos, &rotary.sin};
  for (int t = 0; t < 2; ++t) {
    const std::int64_t step = tables[t]->step;
    const bool both = rotary.interleaved && !rotary.half_width_tables;
    loose.types[t] = tables[t]->type;
    loose.pair[t] = both ? 2 * step : step;
    loose.next[t] = both ? step : rotary.width / 2 * step;
  }
  return loose;
}

// How the operands of all rotations can be read in vectors of `bytes`; false: not at all. Tables
// that no vector reads are loose.
inline bool form_of(const RotaryQk& problem, int bytes, Form* form) {
  const Rotary& first = problem.operands[0];
  form->type = first.input.type;
  form->bytes = bytes;
  form->neighbours = first.interleaved || first.has_matrix;
  if (bytes == 8 && (form->neighbours || form->type == DataType::kFloat32)) return false;
  const auto takes = [&](DataType type) {
    return type == form->type || type == DataType::kFloat32;
  };
  const std::int64_t count = bytes / bytes_of(form->type);
  const std::int64_t pairs = form->neighbours ? count / 2 : count;  // of a unit
  if (first.width % (2 * pairs) != 0 || first.width > (1 << 20)) return false;
  bool loose = false;
  for (int i = 0; i < problem.count; ++i) {
    const Rotary& rotary = problem.operands[i];
    const bool dense = rotary.input.step == 1 && rotary.output.step == 1;
    if (!dense || rotary.input.type != form->type) return false;
    if (rotary.output.type != first.output.type || !takes(rotary.output.type)) return false;
    if (!aligned(rotary.input, rotary.rows, static_cast<int>(count))) return false;
    if (!aligned(rotary.output, rotary.rows, static_cast<int>(count))) return false;
    if (problem.norm != NormSpan::kNone && problem.weight[i] != nullptr &&
        !(takes(problem.weight_type[i]) &&
          aligned_vector(problem.weight[i], problem.weight_type[i], problem.weight_step[i],
                         static_cast<int>(count)))) {
      return false;
    }
    Table table = Table::kFull;
    loose = !vector_tables(rotary, form->type, pairs, &table) || (i > 0 && table != form->table) ||
            loose;
    form->table = table;
  }
  form->loose = LooseTables{};
  if (loose) {
    form->loose = loose_tables(first);
    form->table = first.has_matrix          ? Table::kMatrix
                  : first.half_width_tables ? Table::kHalf
                                            : Table::kFull;
  }
  return true;
}

// Where the sines of a loose table begin: of matrices, at m01.
inline const void* sines_of(const Rotary& rotary, const Form& form, const void* sin) {
  if (!form.loose.loose || !rotary.has_matrix) return sin;
  return advance(const_cast<void*>(sin), rotary.matrix.type, rotary.matrix_column);
}

// One operand of a rotation as the stretch that it is.
inline Stretch stretch_of(const RotaryQk& problem, int which) {
  Stretch stretch;
  stretch.rotary = problem.operands[which];
  stretch.rotates = true;
  stretch.norm = problem.norm;
  stretch.weight = problem.weight[which];
  stretch.weight_type = problem.weight_type[which];
  stretch.weight_step = problem.weight_step[which];
  stretch.eps = problem.eps;
  return stretch;
}

// What cannot be read in vectors, and has elements (rotary_plain.cu).
LaunchStatus run_plain_stretch(const Stretch& stretch, const Device& device, void* stream);

// Rows that turn by themselves or after their own norms, in rotary_staged_kernel
// (rotary_staged.cu). False where it does not take them.
bool run_staged(const RotaryQk& problem, const Device& device, void* stream, LaunchStatus* status);

// The same, few of them, in rotary_few_kernel (rotary_few.cu). False where it does not take them.
bool run_few(const RotaryQk& problem, const Device& device, void* stream, LaunchStatus* status);

}  // namespace mindiesd::kernels::cuda
