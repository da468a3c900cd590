// What the hosts of the attention kernels share: the kernels' parameters of a problem, and the back
// end of compute capability 9.0, which packed sequences take too (attention.cu).

#pragma once

#include <cstdint>

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/launch.h"

namespace mindiesd::kernels::cuda {

// Whether lengths and counts fit the parameters.
bool attention_in_range(const Attention& problem);
// Of a dense batch; packed sequences add their boundaries.
AttentionParameters attention_parameters(const Attention& problem);

// Of a dense batch or, with `packed`, of sequences one after the other.
bool hopper_supports(const Attention& problem, bool packed, std::int32_t device_id);
LaunchStatus hopper_launch(const Attention& problem, const AttentionParameters& parameters,
                           void* stream);

}  // namespace mindiesd::kernels::cuda
