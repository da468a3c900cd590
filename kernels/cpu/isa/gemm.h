// C (+)= A * B in float32 for the blocks of attention.cpp. Entry point: multiply.
// Register tiles of kTileRows x 2 vectors: at 16 lanes 24 accumulators, two B vectors and one
// broadcast fit the 32 registers of AVX-512, at 8 or 4 lanes 12 + 2 + 1 fit 16 registers. Sums run
// over 16 products before they are added to C: the rounding error of a sum grows with the length of
// its chain, and attention sums over thousands of keys. Short sums are cut at 8, or one chain of 16
// would be less exact than BLAS; they are too small a part of the work for the additions to show.

#pragma once

#include "kernels/cpu/isa/simd.h"

namespace mindiesd::kernels::cpu {
namespace {

constexpr int kTileRows = kLanes == 16 ? 12 : 6;

constexpr int64_t kShortDepth = 32;

inline int64_t chain_length(int64_t depth) { return depth <= kShortDepth ? 8 : 16; }

typedef float Vector __attribute__((vector_size(kLanes * sizeof(float)), aligned(4), may_alias));

// A is any matrix (element [i, k] at a[i * a_row + k * a_column]); B has dense rows.
struct Matrices {
  const float* a;
  int64_t a_row, a_column;
  const float* b;
  int64_t b_row;
  float* c;
  int64_t c_row;
  int64_t depth;
  bool accumulate;
};

template <int kRows, int kVectors>
inline void multiply_tile(const Matrices& m, int64_t row, int64_t column) {
  const float* a = m.a + row * m.a_row;
  const float* b = m.b + column;
  float* c = m.c + row * m.c_row + column;
  const int64_t chain = chain_length(m.depth);
  bool add = m.accumulate;
  int64_t k = 0;
  do {
    const int64_t end = min_of(m.depth, k + chain);
    Vector sum[kRows][kVectors] = {};
    for (; k < end; ++k) {
      Vector b_row[kVectors];
      for (int v = 0; v < kVectors; ++v) {
        b_row[v] = *reinterpret_cast<const Vector*>(b + k * m.b_row + v * kLanes);
      }
      for (int i = 0; i < kRows; ++i) {
        const float value = a[i * m.a_row + k * m.a_column];
        for (int v = 0; v < kVectors; ++v) sum[i][v] += value * b_row[v];
      }
    }
    for (int i = 0; i < kRows; ++i) {
      for (int v = 0; v < kVectors; ++v) {
        Vector* target = reinterpret_cast<Vector*>(c + i * m.c_row + v * kLanes);
        *target = add ? *target + sum[i][v] : sum[i][v];
      }
    }
    add = true;
  } while (k < m.depth);
}

template <int kRows, int kVectors>
inline void multiply_rest(const Matrices& m, int64_t row, int64_t rows, int64_t column) {
  if constexpr (kRows > 0) {
    if (rows == kRows) {
      multiply_tile<kRows, kVectors>(m, row, column);
    } else {
      multiply_rest<kRows - 1, kVectors>(m, row, rows, column);
    }
  }
}

template <int kVectors>
inline void multiply_panel(const Matrices& m, int64_t rows, int64_t column) {
  int64_t row = 0;
  for (; row + kTileRows <= rows; row += kTileRows) {
    multiply_tile<kTileRows, kVectors>(m, row, column);
  }
  multiply_rest<kTileRows - 1, kVectors>(m, row, rows - row, column);
}

// `columns` is a multiple of kLanes.
inline void multiply(const Matrices& m, int64_t rows, int64_t columns) {
  int64_t column = 0;
  for (; column + 2 * kLanes <= columns; column += 2 * kLanes) multiply_panel<2>(m, rows, column);
  if (column < columns) multiply_panel<1>(m, rows, column);
}

}  // namespace
}  // namespace mindiesd::kernels::cpu
