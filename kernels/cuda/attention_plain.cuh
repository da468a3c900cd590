// Attention by multiply-add in float32, for every type, width and stride: what float32 operands
// take, since tensor cores would round them, and what the tensor-core kernel does not take.
//
// A block of 256 threads computes 64 queries and up to 128 columns of value: FlashAttention's loop
// over tiles of 64 keys (arXiv 2205.14135). Each thread has 4 x 4 scores and 4 x 8 results;
// operands pass through shared memory as float32 in chunks of 32 columns.

#pragma once

#include "kernels/cuda/attention.cuh"

namespace mindiesd::kernels::cuda {

inline constexpr int kPlainRows = 64, kPlainKeys = 64, kPlainSlice = 128, kPlainThreads = 256;

using AttentionKernel = void (*)(AttentionParameters);
AttentionKernel attention_plain_kernel(DataType type);

}  // namespace mindiesd::kernels::cuda
