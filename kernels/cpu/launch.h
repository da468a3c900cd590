// The CPU launchers. Entry point: cpu::launchers(), the table of the widest instruction set that
// this machine has. A launcher returns when the output is complete; it uses the threads of
// parallel.h.

#pragma once

#include <span>

#include "kernels/grid.h"
#include "kernels/int8_linear.h"
#include "kernels/problem.h"
#include "kernels/upsample.h"
#include "kernels/weighted_sum.h"

namespace mindiesd::kernels::cpu {

struct Launchers {
  const char* name;  // of the instruction set
  LaunchStatus (*attention)(const Attention&);
  LaunchStatus (*attention_varlen)(const VarlenAttention&);
  LaunchStatus (*rotary)(const RotaryQk&);
  LaunchStatus (*joint_heads)(const JointHeads&);
  LaunchStatus (*grid_rotary)(const GridRotary&);
  LaunchStatus (*rms_norm)(const RmsNorm&);
  LaunchStatus (*fused_norm)(const FusedNorm&);
  LaunchStatus (*group_norm)(const GroupNorm&);
  LaunchStatus (*softmax)(const Softmax&);
  LaunchStatus (*activation)(const Activate&);
  LaunchStatus (*weighted_sum)(const WeightedSum&);
  LaunchStatus (*upsample)(const Upsample&);
  LaunchStatus (*int8_linear)(const Int8Linear&);
};

// Chosen once. MINDIESD_CPU_ISA=baseline|avx2|avx512 picks a narrower set, for tests and for
// comparing; a set that the machine lacks is ignored.
const Launchers& launchers();

// Every set that this machine can run, narrowest first.
std::span<const Launchers* const> available_launchers();

}  // namespace mindiesd::kernels::cpu
