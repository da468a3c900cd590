// Images of twice the size. Entry point: upsample.
//
// Traffic: the input once, the output once. Where places are elements, a thread takes 8 bytes of a
// row and stores 16 in each of two rows; where they are vectors of channels, it takes 16 bytes and
// stores them at four places. Threads that follow each other store what lies behind each other.

#include <algorithm>

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/host.h"
#include "kernels/cuda/upsample.h"

namespace mindiesd::kernels::cuda {
namespace {

constexpr int kThreads = 256;

// Two copies of each element of a word.
template <int kBytes>
__device__ __forceinline__ uint2 twice(unsigned word) {
  if constexpr (kBytes == 4) return make_uint2(word, word);
  return make_uint2((word & 0xffffU) * 0x10001U, (word >> 16) * 0x10001U);
}

// Places are elements of kBytes; `vectors`: of 8 bytes in a row.
template <int kBytes>
__global__ void __launch_bounds__(kThreads)
    widen_elements(const __grid_constant__ Upsample p, unsigned vectors) {
  wait_for_previous_kernel();
  allow_next_kernel();
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  const unsigned row = i / vectors;
  if (row >= p.count * p.height) return;
  const Raw<8> raw = load_operand<8>(static_cast<const char*>(p.input) + std::int64_t{i} * 8);
  const uint2 first = twice<kBytes>(raw.words[0]), second = twice<kBytes>(raw.words[1]);
  const Raw<16> pair = {{first.x, first.y, second.x, second.y}};
  // Two lines of the output for each row of the input.
  const std::int64_t line = std::int64_t{vectors} * 16;
  char* to = static_cast<char*>(p.output) + 2 * row * line + std::int64_t{i - row * vectors} * 16;
  store_raw<16>(to, pair);
  store_raw<16>(to + line, pair);
}

// Places are vectors of channels; `vectors`: of 16 bytes in a place.
__global__ void __launch_bounds__(kThreads)
    widen_places(const __grid_constant__ Upsample p, unsigned vectors) {
  wait_for_previous_kernel();
  allow_next_kernel();
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  const unsigned place = i / vectors, width = static_cast<unsigned>(p.width);
  const unsigned row = place / width;
  if (row >= p.count * p.height) return;
  const Raw<16> raw = load_operand<16>(static_cast<const char*>(p.input) + std::int64_t{i} * 16);
  // Two lines of the output for each row of the input, in each of them two places for each place.
  const std::int64_t size = std::int64_t{vectors} * 16, line = 2 * size * width;
  char* to = static_cast<char*>(p.output) + 2 * row * line + 2 * size * (place - row * width) +
             std::int64_t{i - place * vectors} * 16;
  store_raw<16>(to, raw);
  store_raw<16>(to + size, raw);
  store_raw<16>(to + line, raw);
  store_raw<16>(to + line + size, raw);
}

// Any width and address: an element of T of the output at a time.
template <typename T>
__global__ void __launch_bounds__(kThreads) widen_plain(const __grid_constant__ Upsample p) {
  wait_for_previous_kernel();
  allow_next_kernel();
  const std::int64_t inner = p.bytes / std::int64_t{sizeof(T)};
  const std::int64_t line = 2 * p.width * inner;
  const std::int64_t all = p.count * 2 * p.height * line;
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < all; i += step) {
    const std::int64_t row = i / line, column = (i - row * line) / inner;
    const std::int64_t part = i - row * line - column * inner;
    // Rows of all images follow each other, and each has an even number of them.
    const std::int64_t from = ((row / 2) * p.width + column / 2) * inner + part;
    static_cast<T*>(p.output)[i] = static_cast<const T*>(p.input)[from];
  }
}

bool on_vectors(const void* address, std::uintptr_t bytes) {
  return reinterpret_cast<std::uintptr_t>(address) % bytes == 0;
}

}  // namespace

LaunchStatus upsample(const Upsample& p, void* stream) {
  if (p.count * p.height * p.width * p.bytes == 0) return LaunchStatus::kOk;
  const Device* device = current_device();
  if (device == nullptr) return LaunchStatus::kFailed;
  const std::int64_t row = p.width * p.bytes, all = p.count * p.height * row;
  const bool elements = p.bytes <= 4;
  const std::int64_t vector = elements ? 8 : 16;
  const std::int64_t blocks = ceil_div(all / vector, std::int64_t{kThreads});
  const bool whole = (elements ? row : p.bytes) % vector == 0 &&
                     on_vectors(p.input, static_cast<std::uintptr_t>(vector)) &&
                     on_vectors(p.output, 16) && blocks * kThreads <= std::int64_t{0x7fffffff};
  if (whole && elements) {
    const auto kernel = p.bytes == 2 ? widen_elements<2> : widen_elements<4>;
    return launch(kernel, static_cast<unsigned>(blocks), kThreads, 0, *device, stream, p,
                  static_cast<unsigned>(row / 8));
  }
  if (whole) {
    return launch(widen_places, static_cast<unsigned>(blocks), kThreads, 0, *device, stream, p,
                  static_cast<unsigned>(p.bytes / 16));
  }
  const std::int64_t few = std::min(ceil_div(2 * all, std::int64_t{kThreads}),
                                    std::int64_t{device->multiprocessors} * 64);
  const bool words = p.bytes % 4 == 0 && on_vectors(p.input, 4) && on_vectors(p.output, 4);
  const auto kernel = words ? widen_plain<std::uint32_t> : widen_plain<std::uint16_t>;
  return launch(kernel, static_cast<unsigned>(few), kThreads, 0, *device, stream, p);
}

}  // namespace mindiesd::kernels::cuda
