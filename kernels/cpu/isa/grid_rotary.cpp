// Rotation by places in a grid on the CPU, in float32. Entry point: grid_rotary. A token at a time:
// the table's pairs of its place are brought together once for all heads.

#include "kernels/cpu/isa/kernels.h"
#include "kernels/cpu/isa/simd.h"

namespace mindiesd::kernels::cpu::MINDIESD_ISA {
namespace {

// The pairs (c, s) of one token, first all of c, then all of s; false: the token is copied.
bool gather_turns(const GridRotary& p, int64_t sample, int64_t position, float* cos, float* sin) {
  const int64_t* grid = p.grids + 3 * sample;
  if (position >= grid[0] * grid[1] * grid[2]) return false;
  const int64_t line = position / grid[2];
  const int64_t places[3] = {line / grid[1], line % grid[1], position % grid[2]};
  const int64_t ends[3] = {p.pairs[0], p.pairs[0] + p.pairs[1], p.width / 2};
  int64_t first = 0;
  for (int part = 0; part < 3; ++part) {
    const int64_t place = places[part] * p.table_stride + 2 * first, count = ends[part] - first;
    load_row(cos + first, at(p.table, p.table_type, place), p.table_type, 2, count);
    load_row(sin + first, at(p.table, p.table_type, place + 1), p.table_type, 2, count);
    first = ends[part];
  }
  return true;
}

}  // namespace

LaunchStatus grid_rotary(const GridRotary& p) {
  OutOfMemory memory;
  const int64_t padded = round_up(p.width, 16), pairs = p.width / 2;
  parallel_for(p.samples * p.positions, row_grain(p.heads * p.width),
               [&](int64_t begin, int64_t end) {
                 float* row = scratch(ScratchSlot::kRow, static_cast<size_t>(2 * padded));
                 if (row == nullptr) return memory.set();
                 float* cos = row + padded;
                 float* sin = cos + pairs;
                 for (int64_t token = begin; token < end; ++token) {
                   const int64_t sample = token / p.positions, position = token % p.positions;
                   const bool turned = gather_turns(p, sample, position, cos, sin);
                   const int64_t from = sample * p.input_strides[0] + position * p.input_strides[1];
                   const int64_t to = sample * p.output_strides[0] + position * p.output_strides[1];
                   for (int64_t head = 0; head < p.heads; ++head) {
                     load_row(row, at(p.input, p.input_type, from + head * p.input_strides[2]),
                              p.input_type, 1, p.width);
                     for (int64_t j = 0; turned && j < pairs; ++j) {
                       const float a = row[2 * j], b = row[2 * j + 1];
                       row[2 * j] = a * cos[j] - b * sin[j];
                       row[2 * j + 1] = a * sin[j] + b * cos[j];
                     }
                     store_row(at(p.output, p.output_type, to + head * p.output_strides[2]), row,
                               p.output_type, 1, p.width);
                   }
                 }
               });
  return memory.status();
}

}  // namespace mindiesd::kernels::cpu::MINDIESD_ISA
