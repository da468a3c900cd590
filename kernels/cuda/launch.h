// The CUDA launchers: each puts its operation on `stream` (a cudaStream_t) of the current device
// and returns. Pointers are device pointers. Compute capability 8.0 or newer.
//
// A description that fits the vectorised kernels (one element type, dense rows, 16-byte alignment)
// runs at the speed of memory; every other runs in a plain kernel that is right for any strides,
// types, widths and alignments. Entry points: the functions below; configuration is chosen in each
// .cu file.

#pragma once

#include "kernels/problem.h"

namespace mindiesd::kernels::cuda {

LaunchStatus fused_norm(const FusedNorm& problem, void* stream);
LaunchStatus rms_norm(const RmsNorm& problem, void* stream);
LaunchStatus rotary(const RotaryQk& problem, void* stream);
LaunchStatus softmax(const Softmax& problem, void* stream);
LaunchStatus activation(const Activate& problem, void* stream);

// What the device said when a launcher of this thread last gave kFailed.
const char* last_error();

// Makes `device` current for the calling thread and gives the one that was. Where there is no such
// device the next launcher fails and says so.
std::int32_t activate(std::int32_t device);

}  // namespace mindiesd::kernels::cuda
