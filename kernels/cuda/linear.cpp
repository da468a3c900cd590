// A linear layer with bias and gelu's tanh form by cuBLASLt, where a process has it. Entry point:
// linear_activation.
//
// The epilogue of the matrix product adds the bias and takes the activation of float32 sums, so the
// product is written once and never read again. Other activations are not its: its gelu is the tanh
// form. cuBLASLt reads matrices by columns, so it is given the transposed product,
// output^T = weight * input^T.

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <map>
#include <mutex>

#include "kernels/cuda/cublas_api.h"
#include "kernels/cuda/host.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/memory.h"

namespace mindiesd::kernels::cuda {
namespace {

using cublas::api;
using cublas::Descriptor;
using cublas::Handle;

// What NVIDIA recommends for compute capability 9.0; older devices take less of it.
constexpr std::uint64_t kMostWorkspace = std::uint64_t{32} << 20;
constexpr std::int64_t kVector = 8;  // values of 16 bytes

bool takes(const LinearActivation& p) {
  if (p.activation != Activation::kGeluTanh || p.bias == nullptr) return false;
  if (p.type == DataType::kFloat32) return false;
  // Sizes are 32 bits wide inside.
  constexpr std::int64_t kLongest = std::int64_t{1} << 30;
  if (p.rows > kLongest || p.depth > kLongest || p.width > kLongest || p.depth == 0) return false;
  for (const std::int64_t value :
       {p.depth, p.width, p.input_stride, p.weight_stride, p.output_stride}) {
    if (value % kVector != 0) return false;
  }
  for (const void* data : {p.input, p.weight, p.bias, const_cast<const void*>(p.output)}) {
    if (reinterpret_cast<std::uintptr_t>(data) % 16 != 0) return false;
  }
  return true;
}

// Device, type, sizes and strides.
using Key = std::array<std::int64_t, 8>;

struct Plan {
  bool usable = false;
  Descriptor product = nullptr, input = nullptr, weight = nullptr, output = nullptr;
  cublas::Heuristic chosen = {};
};

bool choose(const LinearActivation& p, Handle handle, Plan* plan) {
  Descriptor preference = nullptr;
  if (api().create_preference(&preference) != 0) return false;
  bool good = true;
  const auto prefer = [&](cublas::Preference what, auto value) {
    good = good && api().set_preference(preference, what, &value, sizeof(value)) == 0;
  };
  prefer(cublas::Preference::kWorkspace, kMostWorkspace);
  prefer(cublas::Preference::kReductions, cublas::kWideReductions);
  for (const auto operand : {cublas::Preference::kAlignmentA, cublas::Preference::kAlignmentB,
                             cublas::Preference::kAlignmentC, cublas::Preference::kAlignmentD}) {
    prefer(operand, std::uint32_t{16});
  }
  // Which algorithms there are depends on the epilogue, and that on the bias being there.
  int found = 0;
  good = good &&
         api().set_product(plan->product, cublas::Product::kBias, &p.bias, sizeof(p.bias)) == 0;
  good = good && api().heuristic(handle, plan->product, plan->weight, plan->input, plan->output,
                                 plan->output, preference, 1, &plan->chosen, &found) == 0;
  api().destroy_preference(preference);
  return good && found == 1 && plan->chosen.status == 0;
}

Plan make_plan(const LinearActivation& p, Handle handle) {
  Plan plan;
  const auto type = p.type == DataType::kFloat16 ? cublas::Type::kHalf : cublas::Type::kBFloat16;
  bool good = api().create_product(&plan.product, cublas::kComputeFloat,
                                   static_cast<int>(cublas::Type::kFloat)) == 0;
  const auto set = [&](cublas::Product what, auto value) {
    good = good && api().set_product(plan.product, what, &value, sizeof(value)) == 0;
  };
  set(cublas::Product::kTransposeA, cublas::Operation::kTranspose);
  set(cublas::Product::kTransposeB, cublas::Operation::kNone);
  set(cublas::Product::kEpilogue, cublas::kGeluBias);
  const auto layout = [&](Descriptor* made, std::int64_t rows, std::int64_t columns,
                          std::int64_t stride) {
    good = good && api().create_layout(made, type, static_cast<std::uint64_t>(rows),
                                       static_cast<std::uint64_t>(columns), stride) == 0;
  };
  layout(&plan.weight, p.depth, p.width, p.weight_stride);
  layout(&plan.input, p.depth, p.rows, p.input_stride);
  layout(&plan.output, p.width, p.rows, p.output_stride);
  plan.usable = good && choose(p, handle, &plan);
  return plan;
}

// Handles and plans of this process. They are never destroyed, for cuBLASLt may be gone when
// statics are; whoever uses them holds the lock, since a plan's descriptor holds the bias of a
// call.
struct Kept {
  std::mutex mutex;
  std::map<int, Handle> handles;
  std::map<Key, Plan> plans;
};
Kept& kept() {
  static Kept& all = *new Kept;
  return all;
}

}  // namespace

LaunchStatus linear_activation(const LinearActivation& p, void* stream) {
  if (p.rows == 0 || p.width == 0) return LaunchStatus::kOk;
  if (!takes(p) || !api().usable) return LaunchStatus::kUnsupported;
  int device = 0;
  const cudaError_t error = cudaGetDevice(&device);
  if (error != cudaSuccess) return failed(error);
  auto* const on = static_cast<cudaStream_t>(stream);

  Kept& all = kept();
  const std::lock_guard<std::mutex> lock(all.mutex);
  Handle& handle = all.handles[device];
  if (handle == nullptr && (capturing(on) || api().create_handle(&handle) != 0)) {
    return LaunchStatus::kUnsupported;
  }
  const Key key = {device,          static_cast<std::int64_t>(p.type),
                   p.rows,          p.depth,
                   p.width,         p.input_stride,
                   p.weight_stride, p.output_stride};
  auto found = all.plans.find(key);
  if (found == all.plans.end()) found = all.plans.emplace(key, make_plan(p, handle)).first;
  const Plan& plan = found->second;
  if (!plan.usable) return LaunchStatus::kUnsupported;

  const Workspace memory(device, static_cast<std::int64_t>(plan.chosen.workspace), on);
  if (memory.error() != cudaSuccess) return failed(memory.error());
  const float one = 1.0F, zero = 0.0F;
  const bool launched =
      api().set_product(plan.product, cublas::Product::kBias, &p.bias, sizeof(p.bias)) == 0 &&
      api().multiply(handle, plan.product, &one, p.weight, plan.weight, p.input, plan.input, &zero,
                     p.output, plan.output, p.output, plan.output, &plan.chosen.algorithm,
                     memory.get(), plan.chosen.workspace, on) == 0;
  return launched ? LaunchStatus::kOk : LaunchStatus::kUnsupported;
}

}  // namespace mindiesd::kernels::cuda
