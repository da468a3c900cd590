// How norms go through many like rows: the choice of an instance of norm_rows.cuh, norm_short.cuh
// and norm_block.cuh and of the shape of its blocks. Entry points: rows_plan, fullest.

#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "kernels/cuda/host.h"
#include "kernels/cuda/norm_rows.cuh"
#include "kernels/cuda/norm_short.cuh"

namespace mindiesd::kernels::cuda {

// How norm_rows_kernel goes through the rows; no turns: it does not.
struct RowsPlan {
  NormRowsChoice choice{};
  int threads = 0;  // of a row
  int groups = 0;   // of a block, each of which has rows of its own
  int turns = 0;
  int side_by_side = 1;   // rows of a group: above 1 it is norm_short_kernel
  bool one_wave = false;  // or two: `turns` were chosen for that

  std::int64_t block_rows() const {
    return std::int64_t{groups} * side_by_side * choice.rows * turns;
  }
};

// The blocks that a device has room for at once, by the registers that a thread
// takes (`room`: how many threads of a multiprocessor find theirs) and by barriers: a block whose
// rows have several warps takes 16 of 64.
inline std::int64_t blocks_at_once(std::int64_t block_threads, int room, const Device& device) {
  return std::min<std::int64_t>(room / block_threads, 4) * device.multiprocessors;
}

// Rows go through in waves of blocks. The part of the multiprocessors that the last wave fills,
// over all waves: 1 where it is full.
inline double fullness(std::int64_t blocks, std::int64_t at_once) {
  return static_cast<double>(blocks) / static_cast<double>(ceil_div(blocks, at_once) * at_once);
}

// Of these numbers of turns the first one whose waves are about as full as any one's.
inline int fullest(std::initializer_list<int> choices, std::int64_t rows, std::int64_t groups,
                   std::int64_t at_once) {
  int best = 0;
  double most = -1.0;
  for (const int turns : choices) {
    const double full = fullness(ceil_div(rows, groups * turns), at_once);
    if (full <= most + 0.02) continue;
    best = turns;
    most = full;
  }
  return best;
}

// With weights or modulators of float32 norm_kernel is the faster one from so many vectors on,
// whose blocks do not fetch them first.
inline bool wide_needs_no_plan(bool centered, bool branches, std::int64_t vectors,
                               std::int64_t rows) {
  const std::int64_t total = vectors * rows;
  if (branches) return total >= (vectors <= 384 ? 16000000 : 4000000);
  return vectors > 64 && total >= (centered ? 16000000 : 4000000);
}

// The others: a thread holds those of two vectors.
inline RowsPlan wide_plan(bool centered, std::int64_t vectors, std::int64_t rows,
                          const Device& device) {
  RowsPlan plan;
  plan.turns = 2;
  plan.choice = {centered, 0, 2, 1, true};
  if (vectors <= 32) {
    plan.choice.lanes = plan.threads = vectors <= 16 ? 16 : 32;
    plan.choice.vectors = 1;
    plan.choice.rows = 2;
  } else if (vectors <= 64) {
    plan.choice.lanes = plan.threads = 32;
  } else if (vectors <= 1024) {
    plan.threads = static_cast<int>(ceil_div(vectors, 64)) * 32;
    plan.choice.threads = plan.threads <= 256 ? 256 : 512;
    plan.turns = 6;
  } else {
    return {};
  }
  plan.groups = std::max(256 / plan.threads, 1);
  if (vectors <= 64) return plan;
  const std::int64_t at_once = blocks_at_once(plan.threads * plan.groups, 800, device);
  if (vectors * rows >= 3000000) {
    plan.turns = fullest({8, 7, 6}, rows, plan.groups, at_once);
    return plan;
  }
  // As many as the blocks of one wave go through, or of two, so that modulators are read least
  // often.
  for (const int waves : {1, 2}) {
    const std::int64_t turns =
        ceil_div(rows, std::max<std::int64_t>(at_once * waves, 1) * plan.groups);
    plan.one_wave = turns > 3 && turns <= 12;
    plan.turns = plan.one_wave ? static_cast<int>(turns) : 3;
    if (turns <= 12) break;
  }
  return plan;
}

// Rows of whole warps with two vectors in a thread, where their blocks run at once, or in two
// waves: what a row takes is mostly waiting then, and the next one is on its way meanwhile. No
// turns where there are too many rows.
inline RowsPlan waves_plan(bool centered, std::int64_t vectors, std::int64_t rows, int waves,
                           const Device& device) {
  RowsPlan plan;
  plan.threads = static_cast<int>(vectors / 2);
  plan.choice = {centered, 0, 2, 1};
  plan.groups = 256 / plan.threads;
  const std::int64_t at_once = blocks_at_once(plan.threads * plan.groups, 1024, device) * waves;
  const std::int64_t turns = ceil_div(rows, std::max<std::int64_t>(at_once, 1) * plan.groups);
  const std::int64_t blocks = ceil_div(rows, turns * plan.groups);
  plan.one_wave = turns >= (waves == 1 ? 1 : 3) && turns <= 4 && 10 * blocks >= 7 * at_once;
  plan.turns = plan.one_wave ? static_cast<int>(turns) : 0;
  return plan;
}

// LayerNorm of long rows likewise, with four vectors in a thread.
inline RowsPlan long_waves_plan(std::int64_t vectors, std::int64_t rows, const Device& device) {
  RowsPlan plan;
  plan.threads = static_cast<int>(vectors / 4);
  plan.choice = {true, 0, 4, 1};
  plan.groups = 1;
  const std::int64_t at_once = blocks_at_once(plan.threads, 512, device);
  const std::int64_t turns = ceil_div(rows, std::max<std::int64_t>(at_once, 1));
  plan.one_wave = turns >= 4 && turns <= 12;
  plan.turns = plan.one_wave ? static_cast<int>(turns) : 0;
  return plan;
}

// Where one of them is the faster one, as measured on an H200. `wide`: what rows share has type
// float32. `outer` times `own` rows; outer ones have modulators of their own.
inline RowsPlan rows_plan(bool centered, bool wide, std::int64_t vectors, std::int64_t own,
                          std::int64_t outer, const Device& device) {
  const std::int64_t count = own * outer, total = count * vectors;
  if (total < 200000) return {};
  const bool few = total < 600000, many = total > 4000000;
  // Of rows within a warp: small blocks, of `block` threads, end and begin at different times.
  const auto lanes = [&](int threads, int each, int at_once, int turns, int block) {
    return RowsPlan{{centered, threads, each, at_once}, threads, block / threads, turns};
  };
  const auto warps = [&](int each, int turns) {
    const int threads = static_cast<int>(vectors) / each;
    return RowsPlan{{centered, 0, each, 1}, threads, 256 / threads, turns};
  };
  RowsPlan plan;
  const bool whole_warps = !wide && vectors % 64 == 0 && vectors <= 512;
  if (whole_warps && vectors >= (centered ? 128 : 192) && (centered || vectors != 384)) {
    plan = waves_plan(centered, vectors, count, 1, device);
  }
  if (plan.turns > 0) {
    // As it is.
  } else if (wide) {
    plan = wide_plan(centered, vectors, count, device);
  } else if (vectors == 9 || vectors == 10) {
    plan = {{centered, 32, 1, kShortTurns}, 32, kShortWarps, 1, 32 / static_cast<int>(vectors)};
  } else if (centered) {
    if (vectors <= 8) {
      plan = lanes(8, 1, 2, 1, 128);
    } else if (vectors == 12) {
      plan = lanes(4, 3, 1, total < 1000000 ? 1 : 2, 128);
    } else if (vectors <= 16) {
      plan = lanes(16, 1, 2, vectors == 16 ? 1 : 2, 128);
    } else if (vectors == 20) {
      plan = lanes(4, 5, 1, 2, 64);
    } else if (vectors == 32) {
      plan = lanes(32, 1, 2, total < 8000000 ? 1 : 2, 128);
    } else if (vectors == 64 && few) {
      plan = lanes(32, 2, 1, 1, 256);
    } else if (vectors > 80 && vectors <= 96) {
      plan = lanes(32, 3, 1, 2, 128);
    } else if (vectors > 128 && vectors <= 160) {
      plan = many ? lanes(32, 5, 1, 3, 64) : lanes(32, 5, 1, 2, 128);
    } else if (vectors == 192 || (vectors == 384 && !many)) {
      plan = warps(3, 3);
    } else if (whole_warps && vectors >= 128) {
      plan = waves_plan(true, vectors, count, 2, device);
    } else if (vectors > 512 && vectors <= 1024 && vectors % 128 == 0) {
      plan = long_waves_plan(vectors, count, device);
    }
  } else if (vectors <= 8) {
    plan = lanes(8, 1, 2, 1, 128);
  } else if (vectors == 12) {
    plan = lanes(4, 3, 1, total < 1000000 ? 1 : 2, 128);
  } else if (vectors == 20) {
    plan = lanes(4, 5, 1, 2, 64);
  } else if (vectors < 16) {
    plan = lanes(16, 1, 4, 2, 256);
  } else if (vectors == 16) {
    plan = lanes(4, 4, 1, 1, 64);
  } else if (vectors < 32) {
    plan = lanes(32, 1, 4, 2, 256);
  } else if (vectors == 32) {
    plan = lanes(8, 4, 1, 1, 64);
  } else if (vectors > 48 && vectors <= 64) {
    plan = lanes(32, 2, 1, few ? 1 : 2, 128);
  } else if (vectors > 80 && vectors <= 96) {
    plan = lanes(32, 3, 1, few ? 1 : 2, few ? 128 : 256);
  } else if (vectors > 112 && vectors <= 128) {
    plan = lanes(32, 4, 1, 1, many ? 256 : 128);
  } else if (vectors > 128 && vectors <= 160) {
    plan = lanes(32, 5, 1, 2, 128);
  } else if (vectors == 192) {
    plan = warps(3, 2);
  } else if (vectors == 256) {
    plan = waves_plan(false, vectors, count, 2, device);
  } else if (vectors == 384 ||
             (vectors >= 512 && vectors <= 1024 && vectors % 128 == 0 && total < 8000000)) {
    plan = warps(4, 2);
  }
  if (plan.turns == 0) return {};
  // Enough blocks, and not many that are nearly empty; the grid's second dimension has 16 bits.
  const bool fills = plan.one_wave || ceil_div(own, plan.block_rows()) * outer >=
                                          std::int64_t{3} * device.multiprocessors;
  if (!fills || (outer > 1 && (own < 8 * plan.block_rows() || outer > 65535))) return {};
  return plan;
}

}  // namespace mindiesd::kernels::cuda
