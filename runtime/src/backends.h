// The back ends of attention on each device. Entry point: attention_backends.
//
// A back end says which problems it computes and launches them. A device lists its back ends in the
// order in which the static choice prefers them; which one is fastest for a shape is measured above
// (the Python package's tuning) and asked for by number (mindiesd_attention_args.backend).

#pragma once

#include <cstdint>
#include <span>

#include "kernels/problem.h"

namespace mindiesd::runtime {

struct AttentionBackend {
  const char* name;
  // Reads types, sizes, strides and options; pointers are valid but not to be followed.
  bool (*supports)(const kernels::Attention& problem, std::int32_t device_id);
  kernels::LaunchStatus (*launch)(const kernels::Attention& problem, void* stream);
};

// Empty: this build has no kernels for the device.
std::span<const AttentionBackend> attention_backends(std::int32_t device_type);

}  // namespace mindiesd::runtime
