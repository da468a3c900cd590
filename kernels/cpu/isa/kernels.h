// The kernels of one instruction set, for table.cpp. MINDIESD_ISA names the namespace.

#pragma once

#include "kernels/grid.h"
#include "kernels/int8_linear.h"
#include "kernels/problem.h"
#include "kernels/upsample.h"
#include "kernels/weighted_sum.h"

namespace mindiesd::kernels::cpu::MINDIESD_ISA {

LaunchStatus attention(const Attention& problem);
LaunchStatus attention_varlen(const VarlenAttention& problem);
LaunchStatus rotary(const RotaryQk& problem);
LaunchStatus joint_heads(const JointHeads& problem);
LaunchStatus grid_rotary(const GridRotary& problem);
LaunchStatus rms_norm(const RmsNorm& problem);
LaunchStatus fused_norm(const FusedNorm& problem);
// A LayerNorm alone of rows that lie side by side: a part of fused_norm.
bool lies_in_planes(const FusedNorm& problem);
LaunchStatus planes_norm(const FusedNorm& problem);
LaunchStatus group_norm(const GroupNorm& problem);
LaunchStatus softmax(const Softmax& problem);
LaunchStatus activation(const Activate& problem);
LaunchStatus weighted_sum(const WeightedSum& problem);
LaunchStatus upsample(const Upsample& problem);
LaunchStatus int8_linear(const Int8Linear& problem);

}  // namespace mindiesd::kernels::cpu::MINDIESD_ISA
