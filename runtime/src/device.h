// Which kernels serve which device: the one place that knows. Entry point: kernels_for.
//
// A device is one table of launchers over the descriptions of kernels/problem.h. Another device
// adds its table and a case in kernels_for and attention_backends; the checks and the interfaces
// above stay as they are.

#pragma once

#include "kernels/grid.h"
#include "kernels/int8_linear.h"
#include "kernels/problem.h"
#include "kernels/upsample.h"
#include "kernels/weighted_sum.h"
#include "view.h"

namespace mindiesd::runtime {

struct DeviceKernels {
  kernels::LaunchStatus (*attention_varlen)(const kernels::VarlenAttention&, void* stream);
  kernels::LaunchStatus (*rotary)(const kernels::RotaryQk&, void* stream);
  kernels::LaunchStatus (*joint_heads)(const kernels::JointHeads&, void* stream);
  kernels::LaunchStatus (*grid_rotary)(const kernels::GridRotary&, void* stream);
  kernels::LaunchStatus (*rms_norm)(const kernels::RmsNorm&, void* stream);
  kernels::LaunchStatus (*fused_norm)(const kernels::FusedNorm&, void* stream);
  kernels::LaunchStatus (*group_norm)(const kernels::GroupNorm&, void* stream);
  kernels::LaunchStatus (*softmax)(const kernels::Softmax&, void* stream);
  kernels::LaunchStatus (*activation)(const kernels::Activate&, void* stream);
  kernels::LaunchStatus (*weighted_sum)(const kernels::WeightedSum&, void* stream);
  kernels::LaunchStatus (*upsample)(const kernels::Upsample&, void* stream);
  kernels::LaunchStatus (*int8_linear)(const kernels::Int8Linear&, void* stream);
  kernels::LaunchStatus (*linear_activation)(const kernels::LinearActivation&, void* stream);
  // Makes a device current for the calling thread and gives the one that was; null: no such notion.
  std::int32_t (*activate)(std::int32_t device_id);
  // Why the last launch of this thread gave kFailed; null: this device never gives it.
  const char* (*last_error)();
};

// Null: this build has no kernels for the device.
const DeviceKernels* kernels_for(std::int32_t device_type);

Check find_kernels(const View& view, const DeviceKernels** kernels);

// The back ends of attention are in backends.h.

// The device of a view, current while this lives.
class OnDevice {
 public:
  OnDevice(const DeviceKernels& device, std::int32_t device_id)
      : activate_(device.activate),
        previous_(activate_ != nullptr ? activate_(device_id) : device_id),
        device_id_(device_id) {}
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() {
    if (activate_ != nullptr && previous_ != device_id_) activate_(previous_);
  }

 private:
  std::int32_t (*activate_)(std::int32_t);
  std::int32_t previous_;
  std::int32_t device_id_;
};

Check check_launch(const DeviceKernels& device, kernels::LaunchStatus status);

// Launches one kernel on the device of its output; nothing where the output is empty.
template <typename Problem>
Check launch(const View& output,
             kernels::LaunchStatus (*DeviceKernels::*kernel)(const Problem&, void*),
             const Problem& problem, void* stream) {
  const DeviceKernels* device = nullptr;
  MINDIESD_RETURN_IF(find_kernels(output, &device));
  if (output.empty()) return {};
  const OnDevice current(*device, output.device_id);
  return check_launch(*device, (device->*kernel)(problem, stream));
}

// The body of every function of the C interface: runs `body`, keeps the text of a failure for
// mindiesd_last_error, lets no exception out.
mindiesd_status guarded(Check (*body)(const void* args), const void* args) noexcept;

// Copies a caller's argument struct: at least `required` bytes, fields beyond its struct_size zero.
Check read_args(const void* from, std::size_t required, std::size_t size, void* to);

}  // namespace mindiesd::runtime
