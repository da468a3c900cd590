// RMSNorm, LayerNorm and the fused block x + gate * y, norm, scale, shift. Entry points:
// fused_norm, rms_norm. The vectorised kernel is in norm.cuh; here are the choice of its instance
// and of how many rows go together (norm_plan.h, norm_block.cuh).

#include "kernels/cuda/norm.cuh"

#include <optional>

#include "kernels/cuda/host.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/norm_block.cuh"
#include "kernels/cuda/norm_plan.h"
#include "kernels/cuda/norm_rows.cuh"
#include "kernels/cuda/norm_short.cuh"
#include "kernels/cuda/norm_task.h"

namespace mindiesd::kernels::cuda {
namespace {

bool modulated(const NormTask& task) {
  return present(task.operands[kScale]) || present(task.operands[kShift]);
}

Modulation modulation(const RowOperand& operand, std::int64_t offset) {
  return {advance(operand.data, operand.type, offset), operand.type,
          static_cast<int>(operand.step)};
}

NormKernel kernel_of(DataType type, const NormChoice& choice) {
  switch (type) {
    case DataType::kFloat16:
      return norm_kernel_for<__half>(choice);
    case DataType::kBFloat16:
      return norm_kernel_for<__nv_bfloat16>(choice);
    default:
      return norm_kernel_for<float>(choice);
  }
}

// What rows share: gate, scale and shift, weight and bias.
bool shared_by_rows(int operand) {
  return operand == kGate || operand == kScale || operand == kShift;
}

// Whether weight or bias are there beside scale or shift.
bool affine_and_modulated(const NormTask& task) {
  return modulated(task) && (present(task.weight) || present(task.bias));
}

// Whether of norm_kernel it takes kOther.
bool other_form(const NormTask& task) {
  return task.branch_norm || task.gate_tanh || !present(task.operands[kOutput]) ||
         affine_and_modulated(task) || (modulated(task) && !task.centered);
}

// Whether one factor a column, and with a branch one addend, is all that follows the norm: what the
// kernels for many rows know.
bool for_many_rows(const NormTask& task) {
  if (task.branch_norm || !present(task.operands[kOutput])) return false;
  if (task.centered) return !affine_and_modulated(task);
  if (!modulated(task)) return true;
  const bool branches = present(task.operands[kBranch]);
  return !present(task.bias) && (branches || !present(task.operands[kShift]));
}

// Whether norm_kernel takes the task: one type, no repeats within a row, and either at most the
// rounding that most models have, or scale and shift. With `shared` what rows share has that type
// (norm_rows_kernel, norm_block_kernel).
bool simple(const NormTask& task, DataType shared) {
  const DataType type = task.operands[kInput].type;
  const auto is = [](const RowOperand& operand, DataType wanted) {
    return !present(operand) || (operand.type == wanted && operand.step == 1);
  };
  for (int o = 0; o < kNormOperands; ++o) {
    if (!is(task.operands[o], shared_by_rows(o) ? shared : type)) return false;
  }
  for (const RowOperand* vector : {&task.weight, &task.bias, &task.branch_weight}) {
    if (!is(*vector, shared)) return false;
  }
  const bool rounded = task.normalized != DataType::kFloat32;
  if (task.centered || modulated(task)) return !rounded;
  return !present(task.bias) && (!rounded || task.normalized == type);
}

bool vectorised(const NormTask& task) {
  const DataType type = task.operands[kInput].type;
  const int count = static_cast<int>(16 / bytes_of(type));
  if (task.width % count != 0 || task.width > (std::int64_t{1} << 20)) return false;
  const auto loadable = [&](const RowOperand& operand) {
    return !present(operand) || mixes(type, operand.type);
  };
  if (!std::all_of(std::begin(task.operands), std::end(task.operands), loadable)) return false;
  for (const RowOperand* vector : {&task.weight, &task.bias, &task.branch_weight}) {
    if (!loadable(*vector)) return false;
  }
  for (const NormOperand o : {kInput, kOutput, kBranch, kSum}) {
    if (present(task.operands[o]) && task.operands[o].step != 1) return false;
  }
  for (const RowOperand& operand : task.operands) {
    if (!aligned(operand, task.space, count)) return false;
  }
  for (const RowOperand* vector : {&task.weight, &task.bias, &task.branch_weight}) {
    if (present(*vector) && !aligned_vector(vector->data, vector->type, vector->step, count)) {
      return false;
    }
  }
  return true;
}

// Of norm_rows_kernel and those like it.
NormRowsParameters rows_parameters(const NormTask& task, int turns, std::int64_t vectors,
                                   const Rows<kNormOperands>& rows,
                                   const std::array<std::int64_t, kNormOperands>& offsets,
                                   const NormParameters& like) {
  const DataType type = task.operands[kInput].type;
  const int inner = rows.rank - 1;
  const auto place = [&](NormOperand o) {
    return advance(task.operands[o].data, task.operands[o].type, offsets[o]);
  };
  const auto step = [&](NormOperand o) { return rows.strides[o][inner] * bytes_of(type); };
  const auto outer_step = [&](NormOperand o) {
    return inner == 0 ? 0 : rows.strides[o][0] * bytes_of(task.operands[o].type);
  };
  NormRowsParameters p;
  p.input = place(kInput);
  p.output = place(kOutput);
  p.scale = place(kScale);
  p.shift = place(kShift);
  p.input_row = step(kInput);
  p.output_row = step(kOutput);
  p.input_outer = outer_step(kInput);
  p.output_outer = outer_step(kOutput);
  p.scale_outer = outer_step(kScale);
  p.shift_outer = outer_step(kShift);
  p.rows = static_cast<std::uint32_t>(rows.sizes[inner]);
  p.turns = static_cast<std::uint32_t>(turns);
  p.vectors = static_cast<int>(vectors);
  p.eps = like.eps;
  p.per_width = like.per_width;
  p.one_plus = like.one_plus;
  p.factor = like.both && !task.centered ? task.weight.data : nullptr;
  p.rounded = like.normalized != DataType::kFloat32;
  return p;
}

LaunchStatus run_rows(const NormTask& task, const RowsPlan& plan, std::int64_t vectors,
                      const Rows<kNormOperands>& rows,
                      const std::array<std::int64_t, kNormOperands>& offsets,
                      const NormParameters& like, const Device& device, void* stream) {
  const DataType type = task.operands[kInput].type;
  const bool brain = type == DataType::kBFloat16;
  const NormRowsChoice& choice = plan.choice;
  const int row_vectors = static_cast<int>(vectors);
  const NormRowsKernel kernel =
      plan.side_by_side > 1
          ? (brain ? norm_short_kernel_for<__nv_bfloat16>(choice.centered, row_vectors)
                   : norm_short_kernel_for<__half>(choice.centered, row_vectors))
      : brain ? norm_rows_kernel_for<__nv_bfloat16>(choice)
              : norm_rows_kernel_for<__half>(choice);
  const int inner = rows.rank - 1;
  const NormRowsParameters p = rows_parameters(task, plan.turns, vectors, rows, offsets, like);
  const dim3 grid(static_cast<unsigned>(ceil_div(p.rows, plan.block_rows())),
                  inner == 0 ? 1U : static_cast<unsigned>(rows.sizes[0]));
  const dim3 block(static_cast<unsigned>(plan.threads), static_cast<unsigned>(plan.groups));
  return launch(kernel, grid, block, 0, device, stream, p);
}

// The block with a branch over many rows; false where norm_block_kernel does not take it.
bool run_block(const NormTask& task, bool wide, std::int64_t vectors,
               const Rows<kNormOperands>& rows,
               const std::array<std::int64_t, kNormOperands>& offsets, const NormParameters& like,
               const Device& device, void* stream, LaunchStatus* status) {
  const DataType type = task.operands[kInput].type;
  const int inner = rows.rank - 1;
  if (bytes_of(type) != 2 || rows.rank > 2) return false;
  for (const NormOperand o : {kGate, kScale, kShift}) {
    if (rows.strides[o][inner] != 0) return false;
  }
  // As measured on an H200; the other widths' blocks are faster a row at a time.
  std::int64_t threads = vectors / kBlockVectors;
  if (wide) {
    threads = ceil_div(vectors, std::int64_t{32} * kWideBlockVectors) * 32;
    if (threads < 64 || threads > 512) return false;
  } else if (vectors % kBlockVectors != 0 || (threads != 64 && threads != 128 && threads != 256)) {
    return false;
  }
  const std::int64_t own = rows.sizes[inner], outer = rows.count() / own;
  int turns = wide ? 4 : 2;
  unsigned groups = static_cast<unsigned>(std::max<std::int64_t>(256 / threads, 1));
  const auto blocks = [&] { return ceil_div(own, std::int64_t{groups} * turns) * outer; };
  NormBlockChoice choice{task.centered, wide, false, static_cast<int>(threads * groups)};
  const bool enough = blocks() >= std::int64_t{3} * device.multiprocessors;
  choice.shared =
      wide && threads <= kSharedThreads && (threads <= 256 || threads == kSharedThreads || !enough);
  const std::size_t bytes = choice.shared ? norm_block_bytes<__half, float>(vectors) : 0;
  if (choice.shared) {
    groups = static_cast<unsigned>(kSharedThreads / threads);
    choice.threads = static_cast<int>(threads * groups);
    const std::int64_t at_once = blocks_at_once(choice.threads, 800, device);
    turns = fullest({3, 4, 2}, rows.count(), groups, at_once);
    if (2 * blocks() < at_once) return false;
  } else if (!enough || (wide && !task.centered)) {
    return false;
  }
  const std::int64_t block_rows = std::int64_t{groups} * turns;
  if (outer > 1 && (own < 8 * block_rows || outer > 65535)) return false;
  NormBlockParameters p;
  p.rows = rows_parameters(task, turns, vectors, rows, offsets, like);
  const auto place = [&](NormOperand o) {
    return advance(task.operands[o].data, task.operands[o].type, offsets[o]);
  };
  const auto step = [&](NormOperand o, int dim) {
    return dim < 0 ? 0 : rows.strides[o][dim] * bytes_of(task.operands[o].type);
  };
  p.branch = place(kBranch);
  p.gate = place(kGate);
  p.sum = place(kSum);
  p.branch_row = step(kBranch, inner);
  p.sum_row = step(kSum, inner);
  p.branch_outer = step(kBranch, inner - 1);
  p.sum_outer = step(kSum, inner - 1);
  p.gate_outer = step(kGate, inner - 1);
  p.gate_tanh = task.gate_tanh;
  const NormBlockKernel kernel = type == DataType::kBFloat16
                                     ? norm_block_kernel_for<__nv_bfloat16>(choice)
                                     : norm_block_kernel_for<__half>(choice);
  if (choice.shared && !allow_shared(reinterpret_cast<const void*>(kernel), bytes)) return false;
  const dim3 grid(static_cast<unsigned>(ceil_div(own, block_rows)), static_cast<unsigned>(outer));
  *status =
      launch(kernel, grid, dim3(static_cast<unsigned>(threads), groups), bytes, device, stream, p);
  return true;
}

// Without what differs from piece to piece.
NormParameters parameters_of(const NormTask& task, std::int64_t vectors) {
  NormParameters p;
  p.one_plus = modulated(task);
  p.both = affine_and_modulated(task);
  p.centered = task.centered;
  p.zero_mean = !task.centered;
  p.branch_norm = task.branch_norm;
  p.branch_weight = task.branch_weight.data;
  p.branch_weight_type = task.branch_weight.type;
  p.branch_eps = task.branch_eps;
  p.gate_tanh = task.gate_tanh;
  p.branch_type = task.operands[kBranch].type;
  p.output_type = task.operands[kOutput].type;
  p.sum_type = task.operands[kSum].type;
  p.weight = task.weight.data;
  p.bias = task.bias.data;
  p.weight_type = task.weight.type;
  p.bias_type = task.bias.type;
  p.normalized = task.normalized;
  p.product = task.product;
  p.vectors = static_cast<int>(vectors);
  p.eps = task.eps;
  p.per_width = 1.0F / static_cast<float>(task.width);
  return p;
}

LaunchStatus run(NormTask& task, void* stream) {
  if (task.space.count() == 0 || task.width == 0) return LaunchStatus::kOk;
  const Device* device = current_device();
  if (device == nullptr) return LaunchStatus::kFailed;
  const bool branches = present(task.operands[kBranch]);
  // The vectorised kernels store a sum only where they compute one.
  const bool copies = present(task.operands[kSum]) && !branches;
  if (lies_in_columns(task)) return run_columns_norm(task, *device, stream);
  if (copies || !vectorised(task)) return run_plain_norm(task, *device, stream);
  if (!present(task.operands[kOutput]) && !task.branch_norm) {
    return run_residual(task, *device, stream);
  }

  const DataType type = task.operands[kInput].type;
  const std::int64_t vectors = task.width / (16 / bytes_of(type));
  const std::int64_t row_count = task.space.count();
  // Rows of half precision with weights or modulators of float32: for few of them
  // general_norm_kernel.
  const bool one_type = simple(task, type);
  const bool wide = !one_type && bytes_of(type) == 2 && simple(task, DataType::kFloat32);
  const bool other = (one_type || wide) && other_form(task);
  const bool many = (one_type || wide) && for_many_rows(task);
  const bool direct =
      wide && !other && wide_needs_no_plan(task.centered, branches, vectors, row_count);
  NormChoice choice{
      1, task.centered, branches, !one_type && !direct && !other, direct || (wide && other), other};
  const auto most = [](int per_thread) { return norm_threads(per_thread); };
  // As measured on an H200.
  const auto shaped = [&](std::initializer_list<int> choices, int threads) {
    return row_shape(vectors, row_count, *device, choices, threads, most);
  };
  // RMSNorm has larger blocks where its rows are few or very many.
  const std::int64_t total = vectors * row_count;
  const bool small_blocks = bytes_of(type) == 2 && total >= 200000 && total < 16000000;
  const int block_threads = small_blocks ? 256 : 512;
  const bool thirds = ceil_div(vectors, 96) * 96 * 16 <= vectors * 17;  // few idle threads
  const RowShape shape = choice.general            ? shaped({4, 1}, 256)
                         : other && branches       ? shaped({2, 1}, 256)
                         : other                   ? shaped({4, 2, 1}, 256)
                         : direct && branches      ? shaped({thirds ? 3 : 2, 1}, 256)
                         : direct && task.centered ? shaped({5, 4, 3, 2, 1}, 256)
                         : direct                  ? shaped({4, 5, 3, 2, 1}, 256)
                         : branches                ? shaped({3, 2, 4, 1}, 256)
                         : task.centered           ? shaped({4, 5, 3, 2, 8, 1}, 256)
                         : vectors > 1536 && vectors < 2048
                             ? shaped({8, 4}, 256)
                             : shaped({4, 3, 8, 2, 1}, block_threads);
  choice.vectors = shape.per_thread;
  const NormKernel kernel = kernel_of(type, choice);
  if (shape.threads * shape.per_thread < vectors || kernel == nullptr) {
    return run_plain_norm(task, *device, stream);
  }
  NormParameters p = parameters_of(task, vectors);
  // The other kernels know no weight: it is the scale, without the one.
  std::optional<NormTask> copy;
  NormTask& plain_task = choice.general ? copy.emplace(task) : task;
  if (!p.one_plus) {
    plain_task.operands[kScale] = task.weight;
    plain_task.operands[kShift] = task.bias;
  }
  const auto body = [&](const Rows<kNormOperands>& rows,
                        const std::array<std::int64_t, kNormOperands>& offsets) {
    if (many && !direct && !branches) {
      const bool scaled_alike =
          rows.strides[kScale][rows.rank - 1] == 0 && rows.strides[kShift][rows.rank - 1] == 0;
      const std::int64_t own = rows.sizes[rows.rank - 1];
      const RowsPlan plan =
          bytes_of(type) == 2 && rows.rank <= 2 && scaled_alike
              ? rows_plan(task.centered, wide, vectors, own, rows.count() / own, *device)
              : RowsPlan{};
      // norm_short_kernel knows no second factor.
      if (plan.turns > 0 && (plan.side_by_side == 1 || !other)) {
        return run_rows(plain_task, plan, vectors, rows, offsets, p, *device, stream);
      }
    }
    LaunchStatus status;
    if (many && !direct && branches &&
        run_block(plain_task, wide, vectors, rows, offsets, p, *device, stream, &status)) {
      return status;
    }
    const auto place = [&](NormOperand o) {
      return advance(task.operands[o].data, task.operands[o].type, offsets[o]);
    };
    p.map = map_of(rows);
    p.input = place(kInput);
    p.branch = place(kBranch);
    p.output = place(kOutput);
    p.sum = place(kSum);
    p.gate = modulation(task.operands[kGate], offsets[kGate]);
    p.scale = modulation(task.operands[kScale], offsets[kScale]);
    p.shift = modulation(task.operands[kShift], offsets[kShift]);
    p.rows = static_cast<std::uint32_t>(rows.count());
    const dim3 block(static_cast<unsigned>(shape.threads), static_cast<unsigned>(shape.rows));
    const std::int64_t grid = ceil_div(p.rows, shape.rows);
    return launch(kernel, static_cast<unsigned>(grid), block, 0, *device, stream, p);
  };
  return by_rows(task, body);
}

RowOperand vector_operand(const void* data, DataType type, std::int64_t step) {
  RowOperand operand;
  operand.data = const_cast<void*>(data);
  operand.type = type;
  operand.step = step;
  return operand;
}

}  // namespace

LaunchStatus fused_norm(const FusedNorm& problem, void* stream) {
  NormTask task = {};
  task.space = problem.rows;
  task.width = problem.width;
  task.centered = problem.kind == NormKind::kLayer;
  task.operands[kInput] = problem.input;
  task.operands[kOutput] = problem.output;
  task.operands[kBranch] = operand_if(problem.has_branch, problem.branch);
  task.operands[kGate] = operand_if(problem.has_branch && problem.has_gate, problem.gate);
  task.operands[kSum] = operand_if(problem.has_sum, problem.sum);
  task.operands[kScale] = operand_if(problem.has_scale, problem.scale);
  task.operands[kShift] = operand_if(problem.has_shift, problem.shift);
  task.weight = vector_operand(problem.weight, problem.weight_type, problem.weight_step);
  task.bias = vector_operand(problem.bias, problem.bias_type, problem.bias_step);
  task.normalized = task.product = DataType::kFloat32;
  task.eps = problem.eps;
  task.branch_norm = problem.has_branch && problem.branch_norm;
  task.branch_weight = vector_operand(task.branch_norm ? problem.branch_weight : nullptr,
                                      problem.branch_weight_type, problem.branch_weight_step);
  task.branch_eps = problem.branch_eps;
  task.gate_tanh = present(task.operands[kGate]) && problem.gate_tanh;
  return run(task, stream);
}

LaunchStatus rms_norm(const RmsNorm& problem, void* stream) {
  NormTask task = {};
  task.space = problem.rows;
  task.width = problem.width;
  task.centered = false;
  task.operands[kInput] = problem.input;
  task.operands[kOutput] = problem.output;
  task.weight = vector_operand(problem.weight, problem.weight_type, problem.weight_step);
  task.bias = vector_operand(problem.bias, problem.bias_type, problem.bias_step);
  task.normalized = problem.normalized;
  task.product = problem.product;
  task.eps = problem.eps;
  return run(task, stream);
}

}  // namespace mindiesd::kernels::cuda
