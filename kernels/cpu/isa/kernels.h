// The kernels of one instruction set, for table.cpp. MINDIESD_ISA names the namespace.

#pragma once

#include "kernels/problem.h"

namespace mindiesd::kernels::cpu::MINDIESD_ISA {

LaunchStatus attention(const Attention& problem);
LaunchStatus attention_varlen(const VarlenAttention& problem);
LaunchStatus rotary(const Rotary& problem);
LaunchStatus rms_norm(const RmsNorm& problem);
LaunchStatus softmax(const Softmax& problem);

}  // namespace mindiesd::kernels::cpu::MINDIESD_ISA
