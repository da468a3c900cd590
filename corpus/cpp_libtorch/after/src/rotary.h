#ifndef DIT_ROTARY_H_
#define DIT_ROTARY_H_

#include <mindiesd/functional.h>
#include <torch/torch.h>

namespace dit {

inline torch::Tensor rotate_half(const torch::Tensor& x) {
  auto halves = x.chunk(2, /*dim=*/-1);
  return torch::cat({-halves[1], halves[0]}, /*dim=*/-1);
}

// x [..., S, D]; cos and sin [S, D], both halves filled.
inline torch::Tensor apply_rotary(const torch::Tensor& x, const torch::Tensor& cos,
                                  const torch::Tensor& sin) {
  return mindiesd::ext::rotary_position_embedding(
      x, cos, sin, {.rotated_mode = "rotated_chunks", .result_type = "promoted"});
}

// In float32, and the type of x again.
inline torch::Tensor apply_rotary_precise(const torch::Tensor& x, const torch::Tensor& cos,
                                          const torch::Tensor& sin) {
  // (-x2, x1)
  return mindiesd::ext::rotary_position_embedding(x, cos, sin, {.rotated_mode = "rotated_chunks"});
}

}  // namespace dit

#endif  // DIT_ROTARY_H_
