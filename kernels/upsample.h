// The description of an enlargement of images; those of the other operations are in problem.h.

#pragma once

#include <cstdint>

namespace mindiesd::kernels {

// Each place of `count` images of height * width places becomes a square of two by two, which holds
// copies of its `bytes` bytes. Input and output are dense, [count, height, width, bytes] and
// [count, 2 * height, 2 * width, bytes], and share no memory. Planes of channels are images whose
// places are elements; channels last are images whose places are vectors of channels.
struct Upsample {
  std::int64_t count = 0, height = 0, width = 0;
  std::int64_t bytes = 0;
  const void* input = nullptr;
  void* output = nullptr;
};

}  // namespace mindiesd::kernels
