// The maps by which the copy engine of compute capability 9.0 reads and writes operands.

#pragma once

#include <cuda.h>

#include <cstdint>

#include "kernels/problem.h"

namespace mindiesd::kernels::cuda::hopper {

// An operand as [batch, head, position, column] with dense columns; strides count elements, and a
// batch or head that repeats itself has a stride of 0.
struct Operand {
  const void* data;
  DataType type;
  const std::int64_t* strides;  // of the first three
  std::int64_t batch, heads, length, width;
};

// Whether the copy engine reaches it: data and strides are multiples of 16 bytes, strides are not
// negative, and positions differ.
bool reachable(const Operand& operand);

// The map of an operand whose boxes have `rows` rows of 128 bytes, swizzled as wgmma reads them.
// False: the driver makes none.
bool make_map(CUtensorMap* map, const Operand& operand, int rows);
// The same with the columns as two dimensions, [64, length, width / 64, heads, batch]: a box has
// `pieces` groups of 64 columns, each in rows of its own. The width is a multiple of 64.
bool make_pieces_map(CUtensorMap* map, const Operand& operand, int rows, int pieces);
// The same for packed sequences, of a batch of one, that end anywhere (hopper_tiles.cuh).
bool make_packed_map(CUtensorMap* map, const Operand& operand, int rows);

}  // namespace mindiesd::kernels::cuda::hopper
