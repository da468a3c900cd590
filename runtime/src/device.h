// Which kernels serve which device: the one place that knows. Entry point: kernels_for.
//
// A device is one table of launchers over the descriptions of kernels/problem.h. Another device
// adds its table and a case in kernels_for; the checks and the interfaces above stay as they are.

#pragma once

#include "kernels/problem.h"
#include "view.h"

namespace mindiesd::runtime {

struct DeviceKernels {
  kernels::LaunchStatus (*attention)(const kernels::Attention&, void* stream);
  kernels::LaunchStatus (*attention_varlen)(const kernels::VarlenAttention&, void* stream);
  kernels::LaunchStatus (*rotary)(const kernels::Rotary&, void* stream);
  kernels::LaunchStatus (*rms_norm)(const kernels::RmsNorm&, void* stream);
  kernels::LaunchStatus (*softmax)(const kernels::Softmax&, void* stream);
};

// Null: this build has no kernels for the device.
const DeviceKernels* kernels_for(std::int32_t device_type);

Check find_kernels(const View& view, const DeviceKernels** kernels);

Check check_launch(kernels::LaunchStatus status);

// The body of every function of the C interface: runs `body`, keeps the text of a failure for
// mindiesd_last_error, lets no exception out.
mindiesd_status guarded(Check (*body)(const void* args), const void* args) noexcept;

// Copies a caller's argument struct: at least `required` bytes, fields beyond its struct_size zero.
Check read_args(const void* from, std::size_t required, std::size_t size, void* to);

}  // namespace mindiesd::runtime
