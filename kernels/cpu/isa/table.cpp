// The launcher table of one instruction set (see launch.h), compiled once for each.

#include "kernels/cpu/isa/kernels.h"
#include "kernels/cpu/launch.h"

namespace mindiesd::kernels::cpu::MINDIESD_ISA {

#define MINDIESD_TEXT_OF(name) #name
#define MINDIESD_TEXT(name) MINDIESD_TEXT_OF(name)

extern const Launchers kLaunchers;
const Launchers kLaunchers = {MINDIESD_TEXT(MINDIESD_ISA),
                              attention,
                              attention_varlen,
                              rotary,
                              joint_heads,
                              grid_rotary,
                              rms_norm,
                              fused_norm,
                              group_norm,
                              softmax,
                              activation,
                              weighted_sum,
                              upsample,
                              int8_linear};

}  // namespace mindiesd::kernels::cpu::MINDIESD_ISA
