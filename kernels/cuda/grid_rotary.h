// The launcher of a rotation by places in a grid; those of the other operations are in launch.h.

#pragma once

#include "kernels/grid.h"

namespace mindiesd::kernels::cuda {

// kUnsupported: rows are no vectors of 16 bytes or have more than 512 values, or output is neither
// of input's type nor float32.
LaunchStatus grid_rotary(const GridRotary& problem, void* stream);

}  // namespace mindiesd::kernels::cuda
