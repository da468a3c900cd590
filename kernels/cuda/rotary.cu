// Rotary embedding of one or two operands in one launch, alone or after an RMSNorm. Entry point:
// rotary. The vectorised kernels are in rotary.cuh and rotary_heads.cuh; here are the choice of an
// instance; what cannot be read in vectors goes to rotary_plain.cu.

#include "kernels/cuda/rotary.cuh"

#include <cmath>
#include <numeric>

#include "kernels/cuda/host.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/rotary_heads.cuh"
#include "kernels/cuda/rotary_host.h"
#include "kernels/cuda/rotary_packed.cuh"

namespace mindiesd::kernels::cuda {
namespace {

using Offsets = std::array<std::int64_t, kRotaryOperands>;

std::int64_t units_of(std::int64_t width, const Form& form) {
  return width * bytes_of(form.type) / (form.neighbours ? form.bytes : 2 * form.bytes);
}

// Threads of a row that is summed: the next power of two, or, where more than an eighth of those
// would idle, one for each unit, which sum through shared memory.
unsigned threads_of(std::int64_t units) {
  unsigned lanes = 1;
  while (lanes < units) lanes *= 2;
  const bool idle = units * 8 < lanes * std::int64_t{7};
  return idle && units <= 32 ? static_cast<unsigned>(units) : lanes;
}

bool power_of_two(unsigned value) { return (value & (value - 1)) == 0; }

// Whether rotary_packed_kernel is the one, and then how the operands are read.
bool packed(const RotaryQk& problem, Form* form) {
  if (problem.norm != NormSpan::kNone || !form_of(problem, 8, form)) return false;
  const std::int64_t units = units_of(problem.operands[0].width, *form);
  if (units % 2 == 0 || units > 32) return false;
  for (int i = 0; i < problem.count; ++i) {
    const Rotary& rotary = problem.operands[i];
    if (rotary.output.type != form->type) return false;
    if (!aligned(rotary.input, rotary.rows, 8) || !aligned(rotary.output, rotary.rows, 8)) {
      return false;
    }
  }
  form->packed = true;
  return true;
}

template <typename T>
RotaryKernel kernel_of(const Form& form, const RotaryChoice& choice) {
  return form.packed ? rotary_packed_kernel_for<T>(choice.apart) : rotary_kernel_for<T>(choice);
}

RotaryKernel kernel_of(const Form& form, const RotaryChoice& choice) {
  switch (form.type) {
    case DataType::kFloat16:
      return kernel_of<__half>(form, choice);
    case DataType::kBFloat16:
      return kernel_of<__nv_bfloat16>(form, choice);
    default:
      return rotary_kernel_for<float>(choice);
  }
}

RotaryItem item_of(const Split& split, const RotaryRows& rows, const Offsets& offsets, int group) {
  const auto place = [&](RotaryOperand o) {
    return advance(split.operands[o].data, split.operands[o].type, offsets[o]);
  };
  RotaryItem item;
  item.map = map_of(rows);
  item.input = place(kRotaryInput);
  item.output = place(kRotaryOutput);
  item.cos = place(kRotaryCos);
  item.sin = place(kRotarySin);
  item.weight = split.weight;
  item.weight_type = split.weight_type;
  item.outer = static_cast<std::uint32_t>(rows.count());
  item.shared = static_cast<std::uint32_t>(split.inner);
  item.input_stride = split.strides[kRotaryInput];
  item.output_stride = split.strides[kRotaryOutput];
  item.groups = divisor_of(static_cast<std::uint32_t>(ceil_div(split.inner, group)));
  return item;
}

RowMap<1> input_map_of(const RotaryRows& rows) {
  Rows<1> input;
  input.rank = rows.rank;
  std::copy_n(rows.sizes, rows.rank, input.sizes);
  std::copy_n(rows.strides[kRotaryInput], rows.rank, input.strides[0]);
  input.merge();
  return map_of(input);
}

bool tables_alike(const RotaryRows& rows) {
  const std::int64_t* cos = rows.strides[kRotaryCos];
  return std::equal(cos, cos + rows.rank, rows.strides[kRotarySin]);
}

// How many of a block's `rows` are each operand's, so that the blocks end with both at once; false
// where there are no such numbers. Up to a fifth of the rows may idle.
bool share_rows(const std::int64_t (&tasks)[2], std::int64_t rows, std::uint32_t (&own)[2]) {
  const std::int64_t common = std::gcd(tasks[0], tasks[1]);
  if (common == 0 || tasks[0] == 0 || tasks[1] == 0) return false;
  const std::int64_t both = (tasks[0] + tasks[1]) / common, times = rows / both;
  if (5 * times * both < 4 * rows) return false;
  for (int i = 0; i < 2; ++i) own[i] = static_cast<std::uint32_t>(tasks[i] / common * times);
  return true;
}

// Rows of a block whose rows have `threads` lanes and a norm: about 128 threads, whole warps and,
// where two operands share a block, no row idle; else 256 threads, of whose rows some may idle.
unsigned norm_block_rows(const std::int64_t (&tasks)[2], unsigned threads) {
  const unsigned least = std::max(1U, 128 / threads), most = std::max(1U, 256 / threads);
  if (tasks[0] == 0 || tasks[1] == 0) return least;
  const std::int64_t both = (tasks[0] + tasks[1]) / std::gcd(tasks[0], tasks[1]);
  for (unsigned rows = least; rows <= most; ++rows) {
    if (rows % both == 0 && rows * threads % 32 == 0) return rows;
  }
  return most;
}

// Rows that turn by themselves, each after its own norm if there is one.
LaunchStatus run_rows(const RotaryQk& problem, const Form& form, const Device& device,
                      void* stream) {
  const Rotary& first = problem.operands[0];
  const std::int64_t units = units_of(first.width, form);
  const bool norm = problem.norm != NormSpan::kNone;
  Split splits[2];
  RotaryRows rows[2];
  bool shared = norm || form.bytes == 8;
  bool fits = true;
  for (int i = 0; i < problem.count; ++i) {
    splits[i] = split_at(problem, i, shared_dim(problem.operands[i]));
    rows[i] = merge_rows<kRotaryOperands>(splits[i].outer, splits[i].pointers());
    shared = shared || splits[i].inner > 2;
  }
  const RotaryChoice choice{form.bytes, form.neighbours, apart(form.table), shared, norm};
  const int thread_rows = shared ? shared_rows(form.neighbours, form.bytes) : 1;
  const RotaryKernel kernel = kernel_of(form, choice);

  RotaryParameters p;
  p.units = divisor_of(static_cast<std::uint32_t>(units));
  p.table = form.table;
  p.table_type = table_type(first);
  p.loose = form.loose;
  p.output_type = first.output.type;
  p.eps = problem.eps;
  p.per_width = 1.0F / static_cast<float>(first.width);
  const unsigned threads = threads_of(units);
  p.dense = !power_of_two(threads);
  p.own_rows[0] = p.own_rows[1] = 0;
  p.warp_rows = form.packed ? 32 / static_cast<std::uint32_t>(units) : 0;
  std::int64_t tasks[2] = {};
  for (int i = 0; i < problem.count; ++i) {
    tasks[i] = rows[i].count() * ceil_div(splits[i].inner, thread_rows);
  }
  const unsigned block_rows = p.dense ? kRotaryThreads / threads : norm_block_rows(tasks, threads);
  const dim3 block = norm ? dim3(threads, block_rows) : dim3(kRotaryThreads);
  // A row has threads of its own, lanes of its own, or a part of one sequence of threads.
  const bool by_unit = !norm && !form.packed;
  const std::int64_t per_task = by_unit ? units : norm ? threads : 1;
  const std::int64_t per_block = by_unit ? kRotaryThreads
                                 : norm  ? std::int64_t{block.y} * threads
                                         : kRotaryThreads / 32 * std::int64_t{p.warp_rows};
  const auto start = [&](std::int64_t tasks, unsigned items) {
    const dim3 grid(static_cast<unsigned>(ceil_div(tasks * per_task, per_block)), items);
    return launch(kernel, grid, block, 0, device, stream, p);
  };

  for (int i = 0; i < problem.count; ++i) {
    fits = fits && tasks[i] * per_task <= (std::int64_t{1} << 30);
  }
  if (fits) {
    for (int i = 0; i < problem.count; ++i) {
      p.items[i] = item_of(splits[i], rows[i], {}, thread_rows);
      p.items[i].sin = sines_of(problem.operands[i], form, p.items[i].sin);
      p.input_maps[i] = input_map_of(rows[i]);
      p.tables_alike[i] = tables_alike(rows[i]);
    }
    // A part of each block for either operand, so that it reads the tables once for both.
    if (norm && !p.dense && share_rows(tasks, block.y, p.own_rows)) {
      const dim3 grid(static_cast<unsigned>(ceil_div(tasks[0], p.own_rows[0])));
      return launch(kernel, grid, block, 0, device, stream, p);
    }
    return start(std::max(tasks[0], tasks[1]), static_cast<unsigned>(problem.count));
  }
  for (int i = 0; i < problem.count; ++i) {
    const std::int64_t groups = ceil_div(splits[i].inner, thread_rows);
    const auto body = [&](const RotaryRows& piece, const Offsets& offsets) {
      p.items[0] = item_of(splits[i], piece, offsets, thread_rows);
      p.items[0].sin = sines_of(problem.operands[i], form, p.items[0].sin);
      p.input_maps[0] = input_map_of(piece);
      p.tables_alike[0] = tables_alike(piece);
      return start(piece.count() * groups, 1);
    };
    const LaunchStatus status =
        for_each_piece<kRotaryOperands>(rows[i], groups * per_task, std::cref(body));
    if (status != LaunchStatus::kOk) return status;
  }
  return LaunchStatus::kOk;
}

HeadsKernel heads_kernel_of(const Form& form, int units) {
  switch (form.type) {
    case DataType::kFloat16:
      return rotary_heads_kernel_for<__half>(form.neighbours, form.table, units);
    case DataType::kBFloat16:
      return rotary_heads_kernel_for<__nv_bfloat16>(form.neighbours, form.table, units);
    default:
      return rotary_heads_kernel_for<float>(form.neighbours, form.table, units);
  }
}

struct HeadsShape {
  unsigned threads = 0;  // a multiple of 32 and of a head's units; 0: no instance holds the heads
  int units = 0;         // in each thread
};

HeadsShape heads_shape(std::int64_t head_units, std::int64_t heads, bool neighbours) {
  HeadsShape best;
  double best_cost = 1e30;
  const std::int64_t multiple = std::lcm(head_units, std::int64_t{32});
  for (std::int64_t threads = multiple; threads <= 512; threads += multiple) {
    const std::int64_t at_once = threads / head_units;
    for (const int units : {2, 4}) {
      if (units * at_once < heads) continue;
      // Idle threads cost most; else about four vectors in a thread are best.
      const double waste = static_cast<double>(units * at_once) / static_cast<double>(heads);
      const int vectors = neighbours ? units : 2 * units;
      const double cost = waste + 0.05 * std::abs(std::log2(vectors) - 2.0);
      if (cost >= best_cost) continue;
      best_cost = cost;
      best.threads = static_cast<unsigned>(threads);
      best.units = units;
    }
  }
  return best;
}

// Rows that turn after a norm over all heads of a token. False where no instance can.
bool run_heads(const RotaryQk& problem, const Form& form, const Device& device, void* stream,
               LaunchStatus* status) {
  const Rotary& first = problem.operands[0];
  const std::int64_t head_units = units_of(first.width, form);
  HeadsParameters p;
  p.units = divisor_of(static_cast<std::uint32_t>(head_units));
  p.table = form.table;
  p.table_type = table_type(first);
  p.loose = form.loose;
  p.output_type = first.output.type;
  p.eps = problem.eps;
  std::int64_t tokens = 0, heads = 0;
  for (int i = 0; i < problem.count; ++i) {
    const Split split = split_at(problem, i, problem.operands[i].rows.rank - 1);
    const RotaryRows rows = merge_rows<kRotaryOperands>(split.outer, split.pointers());
    const bool one_table = split.strides[kRotaryCos] == 0 && split.strides[kRotarySin] == 0;
    if (rows.count() > (std::int64_t{1} << 30) || (!one_table && split.inner > 1)) return false;
    HeadsItem& item = p.items[i];
    item.map = map_of(rows);
    item.input = split.operands[kRotaryInput].data;
    item.output = split.operands[kRotaryOutput].data;
    item.cos = split.operands[kRotaryCos].data;
    item.sin = sines_of(problem.operands[i], form, split.operands[kRotarySin].data);
    item.weight = split.weight;
    item.weight_type = split.weight_type;
    item.tokens = static_cast<std::uint32_t>(rows.count());
    item.heads = static_cast<std::uint32_t>(split.inner);
    item.input_stride = split.strides[kRotaryInput];
    item.output_stride = split.strides[kRotaryOutput];
    item.per_width = 1.0F / static_cast<float>(split.inner * first.width);
    tokens = std::max<std::int64_t>(tokens, item.tokens);
    heads = std::max(heads, split.inner);
  }
  const HeadsShape shape = heads_shape(head_units, heads, form.neighbours);
  if (shape.threads == 0) return false;
  p.step_heads = shape.threads / static_cast<unsigned>(head_units);
  const HeadsKernel kernel = heads_kernel_of(form, shape.units);
  // Tokens of a block do not wait for each other, and fewer blocks have to start.
  const unsigned block_tokens = std::max(1U, (256 + shape.threads / 2) / shape.threads);
  const dim3 grid(static_cast<unsigned>(ceil_div(tokens, block_tokens)),
                  static_cast<unsigned>(problem.count));
  *status = launch(kernel, grid, dim3(shape.threads, block_tokens), 0, device, stream, p);
  return true;
}

}  // namespace

LaunchStatus rotary(const RotaryQk& problem, void* stream) {
  // An operand without elements has nothing to turn, which must not keep the other from it.
  RotaryQk present = problem;
  present.count = 0;
  for (int i = 0; i < problem.count; ++i) {
    if (problem.operands[i].rows.count() == 0 || problem.operands[i].width == 0) continue;
    const int to = present.count++;
    present.operands[to] = problem.operands[i];
    present.weight[to] = problem.weight[i];
    present.weight_type[to] = problem.weight_type[i];
    present.weight_step[to] = problem.weight_step[i];
  }
  if (present.count == 0) return LaunchStatus::kOk;
  const Device* device = current_device();
  if (device == nullptr) return LaunchStatus::kFailed;

  Form form;
  LaunchStatus status = LaunchStatus::kOk;
  if (present.norm != NormSpan::kHeads && (run_few(present, *device, stream, &status) ||
                                           run_staged(present, *device, stream, &status))) {
    return status;
  }
  if (packed(present, &form)) return run_rows(present, form, *device, stream);
  // Rotations of halves after a norm of their row: see rotary_kernel_of.
  const bool short_vectors = present.norm == NormSpan::kRow && !present.operands[0].interleaved &&
                             !present.operands[0].has_matrix &&
                             present.operands[0].input.type != DataType::kFloat32;
  if ((!short_vectors && form_of(present, 16, &form)) || form_of(present, 8, &form)) {
    const bool row = present.norm == NormSpan::kRow &&
                     units_of(present.operands[0].width, form) <= 256;  // a block's threads
    if (present.norm == NormSpan::kNone || row) {
      return run_rows(present, form, *device, stream);
    }
    if (present.norm == NormSpan::kHeads && form.bytes == 16 &&
        run_heads(present, form, *device, stream, &status)) {
      return status;
    }
  }
  for (int i = 0; i < present.count && status == LaunchStatus::kOk; ++i) {
    status = run_plain_stretch(stretch_of(present, i), *device, stream);
  }
  return status;
}

}  // namespace mindiesd::kernels::cuda
