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

// Back ends for a dense batch; of the library's own, the better one computes packed sequences too:
//   cudnn  a library that a process may have or not: masks, causality, windows; no softcap, slopes.
//          Only its launch finds out whether it has an engine for the sizes (kUnsupported: it has
//          not, or a graph is captured and the question was not asked before)
//   hopper float16 and bfloat16 on compute capability 9.0, heads of up to 512 values, aligned
//          operands, masks, causality and windows; no softcap, slopes (MINDIESD_HAVE_HOPPER)
//   mma    float16 and bfloat16 on tensor cores, heads of up to 512 values, every option
//   plain  multiply-add in float32, every type and width
// What a back end supports is asked of a device; neither question nor launch waits for it.
bool attention_cudnn_supports(const Attention& problem, std::int32_t device_id);
bool attention_hopper_supports(const Attention& problem, std::int32_t device_id);
bool attention_mma_supports(const Attention& problem, std::int32_t device_id);
bool attention_plain_supports(const Attention& problem, std::int32_t device_id);
LaunchStatus attention_cudnn(const Attention& problem, void* stream);
LaunchStatus attention_hopper(const Attention& problem, void* stream);
LaunchStatus attention_mma(const Attention& problem, void* stream);
LaunchStatus attention_plain(const Attention& problem, void* stream);
LaunchStatus attention_varlen(const VarlenAttention& problem, void* stream);

LaunchStatus fused_norm(const FusedNorm& problem, void* stream);
LaunchStatus rms_norm(const RmsNorm& problem, void* stream);
LaunchStatus rotary(const RotaryQk& problem, void* stream);
LaunchStatus joint_heads(const JointHeads& problem, void* stream);
// kUnsupported: neither are the planes of channels dense in input and output, nor the channels of
// each position in both (in vectors of 16 bytes, at most 512), or output is neither of input's type
// nor float32.
LaunchStatus group_norm(const GroupNorm& problem, void* stream);
LaunchStatus softmax(const Softmax& problem, void* stream);
LaunchStatus activation(const Activate& problem, void* stream);

// By cuBLASLt, a library that a process may have or not. kUnsupported: it has not, or the problem
// is none for its epilogue (any activation but gelu's tanh form, float32, no bias, rows that are
// not at multiples of 16 bytes), or a graph is captured and no handle was made before.
LaunchStatus linear_activation(const LinearActivation& problem, void* stream);

// What the device said when a launcher of this thread last gave kFailed.
const char* last_error();

// Makes `device` current for the calling thread and gives the one that was. Where there is no such
// device the next launcher fails and says so.
std::int32_t activate(std::int32_t device);

}  // namespace mindiesd::kernels::cuda
