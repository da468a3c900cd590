// The launch of joint.cuh, and what takes its place for operands that it does not read: a launch
// for each stretch. Entry point: joint_heads.

#include "kernels/cuda/joint.cuh"

#include "kernels/cuda/launch.h"
#include "kernels/cuda/rotary_host.h"

namespace mindiesd::kernels::cuda {
namespace {

using JointKernel = void (*)(JointParameters);

template <typename T>
JointKernel kernel_for(bool neighbours, bool apart_tables) {
  constexpr int kHalves = sizeof(T) == 2 ? 8 : 16;  // see rotary_kernel_of
  if (neighbours) {
    return apart_tables ? joint_kernel<T, 16, true, true> : joint_kernel<T, 16, true, false>;
  }
  return apart_tables ? joint_kernel<T, kHalves, false, true>
                      : joint_kernel<T, kHalves, false, false>;
}

JointKernel kernel_for(DataType type, bool neighbours, bool apart_tables) {
  switch (type) {
    case DataType::kFloat16:
      return kernel_for<__half>(neighbours, apart_tables);
    case DataType::kBFloat16:
      return kernel_for<__nv_bfloat16>(neighbours, apart_tables);
    default:
      return kernel_for<float>(neighbours, apart_tables);
  }
}

bool neighbours_of(const Rotary& rotary) { return rotary.interleaved || rotary.has_matrix; }

// How all stretches are read: those that rotate alike, and the others like them.
struct JointForm {
  DataType type;
  bool neighbours = true, apart_tables = false;
  int bytes = 16;
  std::int64_t pairs = 0;  // of a unit
};

bool form_of(const JointHeads& problem, JointForm* form) {
  const Rotary& first = problem.stretches[0].rotary;
  form->type = first.input.type;
  bool rotates = false;
  for (int i = 0; i < problem.count; ++i) {
    const Stretch& stretch = problem.stretches[i];
    if (!stretch.rotates) continue;
    const bool neighbours = neighbours_of(stretch.rotary);
    const bool own = stretch.rotary.has_matrix || !stretch.rotary.half_width_tables;
    if (rotates && (neighbours != form->neighbours || own != form->apart_tables)) return false;
    form->neighbours = neighbours;
    form->apart_tables = own;
    rotates = true;
  }
  if (!form->neighbours && bytes_of(form->type) == 2) form->bytes = 8;
  const std::int64_t count = form->bytes / bytes_of(form->type);
  form->pairs = form->neighbours ? count / 2 : count;
  const std::int64_t unit = 2 * form->pairs;
  return first.width % unit == 0 && first.width / unit <= 32;
}

bool takes(DataType type, DataType other) { return other == type || other == DataType::kFloat32; }

bool vector_fits(const void* data, DataType type, std::int64_t step, const JointForm& form) {
  return data == nullptr ||
         (takes(form.type, type) &&
          aligned_vector(data, type, step, static_cast<int>(form.bytes / bytes_of(form.type))));
}

bool stretch_fits(const Stretch& stretch, const Rotary& first, const JointForm& form) {
  const Rotary& rotary = stretch.rotary;
  const auto count = static_cast<int>(form.bytes / bytes_of(form.type));
  if (stretch.norm == NormSpan::kHeads || rotary.width != first.width) return false;
  if (rotary.input.step != 1 || rotary.output.step != 1) return false;
  if (rotary.input.type != form.type || rotary.output.type != first.output.type) return false;
  if (!takes(form.type, rotary.output.type)) return false;
  if (!aligned(rotary.input, rotary.rows, count)) return false;
  if (!aligned(rotary.output, rotary.rows, count)) return false;
  return stretch.norm == NormSpan::kNone ||
         (vector_fits(stretch.weight, stretch.weight_type, stretch.weight_step, form) &&
          vector_fits(stretch.bias, stretch.bias_type, stretch.bias_step, form));
}

JointItem item_of(const Stretch& stretch, const Split& split, const RotaryRows& rows,
                  const JointForm& form, int thread_rows) {
  JointItem item = {};
  item.map = map_of(rows);
  item.input = split.operands[kRotaryInput].data;
  item.output = split.operands[kRotaryOutput].data;
  item.outer = static_cast<std::uint32_t>(rows.count());
  item.shared = static_cast<std::uint32_t>(split.inner);
  item.input_stride = split.strides[kRotaryInput];
  item.output_stride = split.strides[kRotaryOutput];
  item.groups = divisor_of(static_cast<std::uint32_t>(ceil_div(split.inner, thread_rows)));
  item.norm = stretch.norm != NormSpan::kNone;
  item.centered = stretch.kind == NormKind::kLayer;
  item.weight = stretch.weight;
  item.weight_type = stretch.weight_type;
  item.bias = stretch.bias;
  item.bias_type = stretch.bias_type;
  item.eps = stretch.eps;
  item.rotates = stretch.rotates;
  if (!stretch.rotates) return item;
  const Rotary& rotary = stretch.rotary;
  item.cos = split.operands[kRotaryCos].data;
  item.sin = split.operands[kRotarySin].data;
  item.table_type = table_type(rotary);
  if (!vector_tables(rotary, form.type, form.pairs, &item.table)) {
    item.loose = loose_tables(rotary);
    if (rotary.has_matrix) {  // the sines begin at m01
      item.sin = advance(split.operands[kRotarySin].data, rotary.matrix.type, rotary.matrix_column);
    }
  }
  return item;
}

// All stretches in one launch; false where the kernel does not take them.
bool run_joint(const JointHeads& problem, const Device& device, void* stream,
               LaunchStatus* status) {
  JointForm form;
  if (!form_of(problem, &form)) return false;
  const Rotary& first = problem.stretches[0].rotary;
  for (int i = 0; i < problem.count; ++i) {
    if (!stretch_fits(problem.stretches[i], first, form)) return false;
  }
  JointParameters p;
  p.count = problem.count;
  p.units = static_cast<std::uint32_t>(first.width / (2 * form.pairs));
  p.output_type = first.output.type;
  p.per_width = 1.0F / static_cast<float>(first.width);
  unsigned lanes = 1;
  while (lanes < p.units) lanes *= 2;
  const dim3 block(lanes, kJointThreads / lanes);
  const int thread_rows = shared_rows(form.neighbours, form.bytes);
  std::int64_t blocks = 0;
  for (int i = 0; i < problem.count; ++i) {
    const Stretch& stretch = problem.stretches[i];
    const Split split = split_at(stretch.rotary, shared_dim(stretch.rotary));
    const RotaryRows rows = merge_rows<kRotaryOperands>(split.outer, split.pointers());
    const std::int64_t tasks = rows.count() * ceil_div(split.inner, thread_rows);
    if (tasks > (std::int64_t{1} << 30)) return false;
    p.items[i] = item_of(stretch, split, rows, form, thread_rows);
    p.items[i].first_block = static_cast<std::uint32_t>(blocks);
    blocks += ceil_div(tasks, block.y);
  }
  if (blocks > (std::int64_t{1} << 31) - 1) return false;
  const JointKernel kernel = kernel_for(form.type, form.neighbours, form.apart_tables);
  *status = launch(kernel, static_cast<unsigned>(blocks), block, 0, device, stream, p);
  return true;
}

// By the rotation's own kernels where it is one of theirs.
LaunchStatus run_stretch(const Stretch& stretch, const Device& device, void* stream) {
  if (!stretch.rotates || stretch.bias != nullptr ||
      (stretch.norm != NormSpan::kNone && stretch.kind != NormKind::kRms)) {
    return run_plain_stretch(stretch, device, stream);
  }
  RotaryQk one;
  one.operands[0] = stretch.rotary;
  one.norm = stretch.norm;
  one.weight[0] = stretch.weight;
  one.weight_type[0] = stretch.weight_type;
  one.weight_step[0] = stretch.weight_step;
  one.eps = stretch.eps;
  return rotary(one, stream);
}

}  // namespace

LaunchStatus joint_heads(const JointHeads& problem, void* stream) {
  JointHeads present;
  for (int i = 0; i < problem.count; ++i) {
    const Rotary& rotary = problem.stretches[i].rotary;
    if (rotary.rows.count() == 0 || rotary.width == 0) continue;
    present.stretches[present.count++] = problem.stretches[i];
  }
  if (present.count == 0) return LaunchStatus::kOk;
  const Device* device = current_device();
  if (device == nullptr) return LaunchStatus::kFailed;
  LaunchStatus status = LaunchStatus::kOk;
  if (run_joint(present, *device, stream, &status)) return status;
  for (int i = 0; i < present.count && status == LaunchStatus::kOk; ++i) {
    status = run_stretch(present.stretches[i], *device, stream);
  }
  return status;
}

}  // namespace mindiesd::kernels::cuda
