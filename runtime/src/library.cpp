// What the functions of the C interface share: devices, error text, version, threads.

#include <cstring>
#include <new>

#include "backends.h"
#include "cuda.h"
#include "device.h"
#include "kernels/cpu/launch.h"
#include "kernels/cpu/parallel.h"

namespace mindiesd::runtime {
namespace {

namespace cpu = kernels::cpu;

constexpr DeviceKernels kCpuKernels = {
    [](const kernels::VarlenAttention& problem, void*) {
      return cpu::launchers().attention_varlen(problem);
    },
    [](const kernels::RotaryQk& problem, void*) { return cpu::launchers().rotary(problem); },
    [](const kernels::JointHeads& problem, void*) { return cpu::launchers().joint_heads(problem); },
    [](const kernels::GridRotary& problem, void*) { return cpu::launchers().grid_rotary(problem); },
    [](const kernels::RmsNorm& problem, void*) { return cpu::launchers().rms_norm(problem); },
    [](const kernels::FusedNorm& problem, void*) { return cpu::launchers().fused_norm(problem); },
    [](const kernels::GroupNorm& problem, void*) { return cpu::launchers().group_norm(problem); },
    [](const kernels::Softmax& problem, void*) { return cpu::launchers().softmax(problem); },
    [](const kernels::Activate& problem, void*) { return cpu::launchers().activation(problem); },
    [](const kernels::WeightedSum& problem, void*) {
      return cpu::launchers().weighted_sum(problem);
    },
    [](const kernels::Upsample& problem, void*) { return cpu::launchers().upsample(problem); },
    [](const kernels::Int8Linear& problem, void*) { return cpu::launchers().int8_linear(problem); },
    // Matrix products are left to a library that is made for them.
    [](const kernels::LinearActivation&, void*) { return kernels::LaunchStatus::kUnsupported; },
    nullptr,
    nullptr,
};

constexpr AttentionBackend kCpuAttention[] = {
    {"cpu", [](const kernels::Attention&, std::int32_t) { return true; },
     [](const kernels::Attention& problem, void*) { return cpu::launchers().attention(problem); }},
};

thread_local std::string t_last_error;
thread_local const char* t_fixed_error = nullptr;  // where there is no memory for a string

}  // namespace

const DeviceKernels* kernels_for(std::int32_t device_type) {
  switch (device_type) {
    case MINDIESD_CPU:
      return &kCpuKernels;
    case MINDIESD_CUDA:
      return cuda_kernels();
    default:
      return nullptr;
  }
}

std::span<const AttentionBackend> attention_backends(std::int32_t device_type) {
  switch (device_type) {
    case MINDIESD_CPU:
      return kCpuAttention;
    case MINDIESD_CUDA:
      return cuda_attention();
    default:
      return {};
  }
}

Check find_kernels(const View& view, const DeviceKernels** kernels) {
  *kernels = kernels_for(view.device_type);
  if (*kernels != nullptr) return {};
  return Failure{MINDIESD_UNSUPPORTED, std::string(view.name) + " is on a device of type " +
                                           std::to_string(view.device_type) +
                                           ", for which this build has no kernels"};
}

Check check_launch(const DeviceKernels& device, kernels::LaunchStatus status) {
  switch (status) {
    case kernels::LaunchStatus::kOk:
      return {};
    case kernels::LaunchStatus::kOutOfMemory:
      return Failure{MINDIESD_OUT_OF_MEMORY, "no memory for the working space of the kernel"};
    case kernels::LaunchStatus::kUnsupported:
      return Failure{MINDIESD_UNSUPPORTED, "no kernel of this build serves these operands"};
    case kernels::LaunchStatus::kFailed:
      break;
  }
  return Failure{MINDIESD_INTERNAL, device.last_error != nullptr
                                        ? device.last_error()
                                        : "the device refused the launch and gave no reason"};
}

mindiesd_status guarded(Check (*body)(const void* args), const void* args) noexcept {
  t_fixed_error = nullptr;
  try {
    Check failure = body(args);
    if (!failure) return MINDIESD_OK;
    t_last_error = std::move(failure->text);
    return failure->code;
  } catch (const std::bad_alloc&) {
    t_fixed_error = "out of memory";
    return MINDIESD_OUT_OF_MEMORY;
  } catch (...) {
    t_fixed_error = "an unexpected exception inside libmindiesd";
    return MINDIESD_INTERNAL;
  }
}

Check read_args(const void* from, std::size_t required, std::size_t size, void* to) {
  if (from == nullptr) return invalid("the argument struct is null");
  std::size_t given = 0;
  std::memcpy(&given, from, sizeof(given));
  if (given < required) {
    return invalid("struct_size must be at least " + std::to_string(required) + ", but is " +
                   std::to_string(given) + "; set it to sizeof the argument struct");
  }
  std::memset(to, 0, size);
  std::memcpy(to, from, given < size ? given : size);
  return {};
}

}  // namespace mindiesd::runtime

extern "C" {

const char* mindiesd_last_error(void) {
  return mindiesd::runtime::t_fixed_error != nullptr ? mindiesd::runtime::t_fixed_error
                                                     : mindiesd::runtime::t_last_error.c_str();
}

const char* mindiesd_version(void) { return MINDIESD_VERSION; }

int32_t mindiesd_abi_version(void) { return MINDIESD_ABI_VERSION; }

int32_t mindiesd_has_device(int32_t device_type) {
  return mindiesd::runtime::kernels_for(device_type) != nullptr ? 1 : 0;
}

void mindiesd_set_num_threads(int32_t threads) { mindiesd::kernels::cpu::set_num_threads(threads); }

int32_t mindiesd_num_threads(void) { return mindiesd::kernels::cpu::num_threads(); }

const char* mindiesd_cpu_isa(void) { return mindiesd::kernels::cpu::launchers().name; }

}  // extern "C"
