// The description of a rotation by places in a grid; those of the other operations are in
// problem.h.

#pragma once

#include <cstdint>

#include "kernels/problem.h"

namespace mindiesd::kernels {

// The first tokens of a sample are the cells of a grid of frames, rows and columns, columns
// innermost; the tokens behind them are copied. Neighbours (a, b) of pair j become
// (a c - b s, a s + b c), with (c, s) from pair j of the table's row number `frame` for the first
// pairs[0] pairs, number `row` for the next pairs[1], and number `column` for the others:
// rope_apply of Wan (github.com/Wan-Video/Wan2.1, wan/modules/model.py).
struct GridRotary {
  std::int64_t samples = 0, positions = 0, heads = 0, width = 0;
  const void* input = nullptr;  // rows of `width` values are dense
  void* output = nullptr;
  DataType input_type = DataType::kFloat32, output_type = DataType::kFloat32;
  std::int64_t input_strides[3] = {}, output_strides[3] = {};  // of sample, position, head
  const void* table = nullptr;                                 // rows of dense pairs (c, s)
  DataType table_type = DataType::kFloat64;                    // or kFloat32
  std::int64_t table_stride = 0;                               // of a row
  std::int64_t pairs[2] = {};
  const std::int64_t* grids = nullptr;  // on the host: frames, rows and columns of each sample
};

}  // namespace mindiesd::kernels
