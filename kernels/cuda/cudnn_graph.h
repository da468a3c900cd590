// cuDNN's graph of an attention problem. Entry point: make_plan.
//
// Without a mask, causality and windows it is the one operation for scaled dot-product attention
// that cuDNN has since 9.13.1. That takes neither (it does from 9.21 on), so with one of them the
// graph is the chain of products, pointwise operations and reductions that cuDNN's engines for
// attention recognise; its order is the one that NVIDIA's cudnn-frontend gives them
// (github.com/NVIDIA/cudnn-frontend).

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/cuda/cudnn_api.h"
#include "kernels/cuda/mask_rows.h"
#include "kernels/problem.h"

namespace mindiesd::kernels::cuda::cudnn {

// The tensors that a launch has to name. Scalars are on the host.
enum Id : std::int64_t {
  kQuery = 1,
  kKey,
  kValue,
  kOutput,
  kScale,
  kBias,
  kAfterLast,  // -infinity, what keys outside the band get
  kBeforeFirst,
  kQueryLength,
  kKeyLength,
  kShift,   // of the band's last key
  kWindow,  // of its first
  kFirstVirtual = 100,
};

using Four = std::array<std::int64_t, 4>;

// What is added to the scores: [batch, head, query, key], with sizes of 1 where it repeats.
struct Bias {
  bool present = false;
  DataType type = DataType::kFloat32;
  Four sizes = {}, strides = {};
};

struct Plan {
  Described described{DescriptorType::kExecutionPlan};
  std::int64_t workspace = 0;
  std::vector<std::int64_t> ids;  // of what a launch hands over
};

// What is added to a query's number beside the lengths' difference before it is compared with the
// last key's; whether that difference is added at all. cuDNN takes it in these two steps.
struct LastKey {
  bool from_the_end = false;
  std::int64_t shift = 0;
};
LastKey last_key_of(const Attention& problem, const Band& band, bool has_bias);

// Null where cuDNN has no engine for the problem. Reads its type, sizes and strides.
std::shared_ptr<const Plan> make_plan(const Attention& problem, const Band& band, const Bias& bias,
                                      Handle handle);

}  // namespace mindiesd::kernels::cuda::cudnn
