// GroupNorm with or without SiLU: the statistics of groups, and the kernels that use them.
// Instances and launches: group_norm.cu.
//
// A group's values lie together (planes: channels of a sample, each with all its positions) or
// every position has the channels of all groups (channels last). Traffic per element: where a group
// fits the shared memory of a block (96 KB), one read and one write, the group held there between.
// Otherwise a pass that reads and a pass that reads and writes, 1.5 times that of a copy; the
// second goes through the tensor backwards, so that it finds in the second-level cache what the
// first read last, up to all of a tensor of about 30 MB.

#pragma once

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/moments.cuh"
#include "kernels/cuda/row_map.h"

namespace mindiesd::kernels::cuda {

struct GroupParameters {
  const void* input;
  void* output;
  const void* weight;
  const void* bias;
  DataType output_type, weight_type, bias_type;
  std::int64_t weight_step, bias_step;
  std::int64_t input_sample, output_sample;      // strides in elements
  std::int64_t input_position, output_position;  // of channels last
  std::int64_t group_size;                       // values
  std::int64_t positions;
  std::int64_t part;  // of a group in vectors of the kernel; of channels last positions of a sample
  int parts;
  int groups, channels;     // of a sample, of a group
  Divisor plane;            // vectors of a channel
  Divisor group_of_sample;  // divides by `groups`
  Divisor group_of_channel;
  float eps;
  float2* moments;  // mean and squares of each part
};

struct Wide {
  float value, rest;  // rest: what rounding the value lost
};

// 1 / sqrt(variance + eps).
__device__ __forceinline__ Wide root_of(const Moments& group, float eps) {
  const float variance = group.squares / group.count + eps;
  // Rounded to nearest: once a group, and rsqrtf may be two units off.
  const float root = 1.0F / sqrtf(variance);
  // A step of Newton's gives the rest: root * (1 - variance * root * root) / 2.
  const float product = variance * root;
  const float lost = fmaf(variance, root, -product);
  const float apart = fmaf(-lost, root, fmaf(-product, root, 1.0F));
  return {root, 0.5F * root * apart};
}

__device__ __forceinline__ Wide times(const Wide& root, float weight) {
  const float scale = root.value * weight;
  const float rest = fmaf(root.rest, weight, fmaf(root.value, weight, -scale));
  return {scale, rest == rest ? rest : 0.0F};  // of what is not finite there is none
}

__device__ __forceinline__ float channel_value(const void* vector, DataType type, std::int64_t step,
                                               int channel, float absent) {
  return vector == nullptr ? absent : load_one(vector, type, channel * step);
}

// (x - mean) * scale + shift. kExact: with what rounding the difference and the scale loses, for
// torch's x * scale + (shift - mean * scale) rounds less often where the mean is small.
template <bool kExact>
__device__ __forceinline__ float scaled(float x, float mean, const Wide& scale, float shift) {
  const float apart = x - mean;
  if constexpr (kExact) {
    // Knuth's exact error of a difference, of operands of any size.
    const float taken = x - apart;
    const float lost = (x - (apart + taken)) + (taken - mean);
    shift = fmaf(lost, scale.value, fmaf(apart, scale.rest, shift));
  }
  return fmaf(apart, scale.value, shift);
}

template <bool kSilu, bool kExact>
__device__ __forceinline__ float finished(float value) {
  if constexpr (kSilu) return times_sigmoid<kExact>(value, value);
  return value;
}

// kCount values of type T, or one value.
template <typename T, int kCount>
struct Portion {
  Raw<16> raw;

  __device__ __forceinline__ void load(const T* from) { raw = load_operand<16>(from); }
  __device__ __forceinline__ void get(float (&x)[kCount]) const { unpack<T>(raw, x); }
};
template <typename T>
struct Portion<T, 1> {
  T value;

  __device__ __forceinline__ void load(const T* from) { value = *from; }
  __device__ __forceinline__ void get(float (&x)[1]) const {
    x[0] = load_one(&value, kTypeOf<T>, 0);
  }
};

// Normalises a vector of one channel of a group and writes it.
template <typename T, bool kSilu, int kCount>
__device__ __forceinline__ void write_vector(const GroupParameters& p, float (&x)[kCount],
                                             std::uint32_t vector, int first_channel, float mean,
                                             const Wide& root, std::int64_t place) {
  const int channel = first_channel + static_cast<int>(p.plane.quotient(vector));
  const Wide scale =
      times(root, channel_value(p.weight, p.weight_type, p.weight_step, channel, 1.0F));
  const float shift = channel_value(p.bias, p.bias_type, p.bias_step, channel, 0.0F);
#pragma unroll
  for (float& value : x) {
    constexpr bool kExact = sizeof(T) == 4;
    value = finished<kSilu, kExact>(scaled<kExact>(value, mean, scale, shift));
  }
  if constexpr (kCount == 1) {
    store_one(p.output, p.output_type, place, x[0]);
  } else {
    store_vector<T, false>(p.output, p.output_type, place, x);
  }
}

constexpr int kPlaneThreads = 256;
constexpr int kAhead = 4;  // vectors that a thread has on their way

// The vectors of a part, `body(vector, portion, how many of this thread went before)`.
template <typename T, int kCount, typename Body>
__device__ __forceinline__ void for_vectors(const T* from, std::uint32_t begin, std::uint32_t end,
                                            int threads, Body body) {
  int before = 0;
  for (std::uint32_t first = begin + threadIdx.x; first < end; first += kAhead * threads) {
    Portion<T, kCount> portions[kAhead];
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const std::uint32_t vector = first + i * threads;
      if (vector < end) portions[i].load(from + std::int64_t{vector} * kCount);
    }
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const std::uint32_t vector = first + i * threads;
      if (vector < end) body(vector, portions[i], before++);
    }
  }
}

// A block for each part of each group of planes: its moments.
template <typename T, int kCount>
__global__ void __launch_bounds__(kPlaneThreads)
    plane_moments(const __grid_constant__ GroupParameters p) {
  __shared__ Moments memory[kPlaneThreads / 32];
  wait_for_previous_kernel();
  allow_next_kernel();
  const std::uint32_t sample = p.group_of_sample.quotient(blockIdx.x);
  const int group = static_cast<int>(blockIdx.x - sample * p.groups);
  const T* from = static_cast<const T*>(p.input) + sample * p.input_sample + group * p.group_size;
  const auto vectors = static_cast<std::uint32_t>(p.group_size / kCount);
  const auto begin = static_cast<std::uint32_t>(blockIdx.y * p.part);
  const std::uint32_t end = min(begin + static_cast<std::uint32_t>(p.part), vectors);
  Moments own;
  int count = 0;
  for_vectors<T, kCount>(from, begin, end, kPlaneThreads,
                         [&](std::uint32_t, const Portion<T, kCount>& portion, int before) {
                           float x[kCount];
                           portion.get(x);
                           add_vector(own, x, before);
                           count = before + 1;
                         });
  own.count = static_cast<float>(count * kCount);
  join_block<kPlaneThreads>(own, memory);
  if (threadIdx.x == 0) {
    p.moments[std::int64_t{blockIdx.x} * p.parts + blockIdx.y] = make_float2(own.mean, own.squares);
  }
}

// The same blocks, backwards: joins the moments of a group's parts and writes one part.
template <typename T, int kCount, bool kSilu>
__global__ void __launch_bounds__(kPlaneThreads)
    plane_result(const __grid_constant__ GroupParameters p) {
  __shared__ Moments memory[kPlaneThreads / 32];
  wait_for_previous_kernel();
  allow_next_kernel();
  const std::uint32_t row = gridDim.x - 1 - blockIdx.x;
  const std::uint32_t at = gridDim.y - 1 - blockIdx.y;
  const std::uint32_t sample = p.group_of_sample.quotient(row);
  const int group = static_cast<int>(row - sample * p.groups);
  const auto vectors = static_cast<std::uint32_t>(p.group_size / kCount);
  Moments whole;
  for (int i = static_cast<int>(threadIdx.x); i < p.parts; i += kPlaneThreads) {
    const float2 part = p.moments[std::int64_t{row} * p.parts + i];
    const std::int64_t left = vectors - i * p.part;
    whole.join({static_cast<float>(min(left, p.part) * kCount), part.x, part.y});
  }
  join_block<kPlaneThreads>(whole, memory);
  const Wide root = root_of(whole, p.eps);

  const std::int64_t offset = group * p.group_size;
  const T* from = static_cast<const T*>(p.input) + sample * p.input_sample + offset;
  const std::int64_t to = sample * p.output_sample + offset;
  const auto begin = static_cast<std::uint32_t>(at * p.part);
  const std::uint32_t end = min(begin + static_cast<std::uint32_t>(p.part), vectors);
  for_vectors<T, kCount>(from, begin, end, kPlaneThreads,
                         [&](std::uint32_t vector, const Portion<T, kCount>& portion, int) {
                           float x[kCount];
                           portion.get(x);
                           write_vector<T, kSilu>(p, x, vector, group * p.channels, whole.mean,
                                                  root, to + std::int64_t{vector} * kCount);
                         });
}

constexpr int kHeldThreads = 512;
constexpr std::int64_t kMostHeld = 96 << 10;  // bytes; devices of 8.6 and 8.9 have 99 KB

// A block for each group of planes, which it holds in shared memory.
template <typename T, bool kSilu>
__global__ void __launch_bounds__(kHeldThreads)
    plane_held(const __grid_constant__ GroupParameters p) {
  constexpr int kCount = 16 / sizeof(T);
  extern __shared__ uint4 held[];
  __shared__ Moments memory[kHeldThreads / 32];
  wait_for_previous_kernel();
  allow_next_kernel();
  const std::uint32_t sample = p.group_of_sample.quotient(blockIdx.x);
  const int group = static_cast<int>(blockIdx.x - sample * p.groups);
  const std::int64_t offset = group * p.group_size;
  const T* from = static_cast<const T*>(p.input) + sample * p.input_sample + offset;
  const auto vectors = static_cast<std::uint32_t>(p.group_size / kCount);
  Moments own;
  int count = 0;
  for_vectors<T, kCount>(from, 0, vectors, kHeldThreads,
                         [&](std::uint32_t vector, const Portion<T, kCount>& portion, int before) {
                           store_raw(held + vector, portion.raw);
                           float x[kCount];
                           portion.get(x);
                           add_vector(own, x, before);
                           count = before + 1;
                         });
  own.count = static_cast<float>(count * kCount);
  join_block<kHeldThreads>(own, memory);
  const Wide root = root_of(own, p.eps);
  const std::int64_t to = sample * p.output_sample + offset;
  // Each thread reads what it wrote itself.
  for (std::uint32_t vector = threadIdx.x; vector < vectors; vector += kHeldThreads) {
    const uint4 value = held[vector];
    Raw<16> raw;
    raw.words[0] = value.x, raw.words[1] = value.y, raw.words[2] = value.z, raw.words[3] = value.w;
    float x[kCount];
    unpack<T>(raw, x);
    write_vector<T, kSilu>(p, x, vector, group * p.channels, own.mean, root,
                           to + std::int64_t{vector} * kCount);
  }
}

// --- channels last -------------------------------------------------------------------------------

// A thread has one vector of channels, threadIdx.x, at every blockDim.y-th position of its part.
constexpr int kLastThreads = 512;
constexpr int kMostGroups = 1024;

__device__ __forceinline__ int positions_of_thread(std::int64_t begin, std::int64_t end, int row,
                                                   int rows) {
  const std::int64_t left = end - begin - row;
  return left <= 0 ? 0 : static_cast<int>((left + rows - 1) / rows);
}

// kAhead values more of one channel, which are a share of all that the thread has then. One mean of
// several values is rounded less often than a mean that takes them one by one.
template <int kCount>
__device__ __forceinline__ void add_column(float& mean, float& square,
                                           const float (&x)[kAhead][kCount], int c, float share) {
  float sum = 0.0F, squares = 0.0F;
#pragma unroll
  for (int i = 0; i < kAhead; ++i) sum += x[i][c];
  const float of_these = sum * (1.0F / kAhead);
#pragma unroll
  for (int i = 0; i < kAhead; ++i) squares = fmaf(x[i][c] - of_these, x[i][c] - of_these, squares);
  const float apart = of_these - mean;
  mean = fmaf(apart, share, mean);
  square += fmaf(apart * apart * kAhead, 1.0F - share, squares);
}

// A block for each part of a sample: the moments of all groups of the part.
template <typename T>
__global__ void __launch_bounds__(kLastThreads)
    last_moments(const __grid_constant__ GroupParameters p) {
  constexpr int kCount = 16 / sizeof(T);
  __shared__ float means[kLastThreads * kCount], squares[kLastThreads * kCount];
  wait_for_previous_kernel();
  allow_next_kernel();
  const int rows = static_cast<int>(blockDim.y), row = static_cast<int>(threadIdx.y);
  const std::int64_t begin = blockIdx.y * p.part;
  const std::int64_t end = min(begin + p.part, p.positions);
  const T* from = static_cast<const T*>(p.input) + blockIdx.x * p.input_sample +
                  static_cast<std::int64_t>(threadIdx.x) * kCount;
  float mean[kCount] = {}, square[kCount] = {};
  int fours = 0;  // portions of kAhead positions that went before
  for (std::int64_t first = begin + row; first < end; first += kAhead * rows) {
    Raw<16> raw[kAhead];
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const std::int64_t position = first + i * rows;
      if (position < end) raw[i] = load_operand<16>(from + position * p.input_position);
    }
    if (first + (kAhead - 1) * rows < end) {
      float x[kAhead][kCount];
#pragma unroll
      for (int i = 0; i < kAhead; ++i) unpack<T>(raw[i], x[i]);
      const float share = share_of_last(++fours);
#pragma unroll
      for (int c = 0; c < kCount; ++c) add_column(mean[c], square[c], x, c, share);
      continue;
    }
    int before = fours * kAhead;
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      if (first + i * rows >= end) break;
      float x[kCount];
      unpack<T>(raw[i], x);
      const float share = share_of_last(++before);
#pragma unroll
      for (int c = 0; c < kCount; ++c) {
        const float apart = x[c] - mean[c];
        mean[c] = fmaf(apart, share, mean[c]);
        square[c] = fmaf(apart, x[c] - mean[c], square[c]);
      }
    }
  }
  const int width = static_cast<int>(blockDim.x) * kCount;
#pragma unroll
  for (int c = 0; c < kCount; ++c) {
    const int place = row * width + static_cast<int>(threadIdx.x) * kCount + c;
    means[place] = mean[c];
    squares[place] = square[c];
  }
  __syncthreads();
  // A warp for each group in turn. A block whose size is no multiple of 32 has a last warp that is
  // not whole, which does nothing here.
  const int thread = row * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x);
  const int warps = rows * static_cast<int>(blockDim.x) / 32;
  if (thread >= warps * 32) return;
  const int lane = thread & 31;
  for (int group = thread / 32; group < p.groups; group += warps) {
    Moments own;
    for (int i = lane; i < rows * p.channels; i += 32) {
      const auto of_row = static_cast<int>(p.group_of_channel.quotient(static_cast<unsigned>(i)));
      const int channel = i - of_row * p.channels;
      const int place = of_row * width + group * p.channels + channel;
      own.join({static_cast<float>(positions_of_thread(begin, end, of_row, rows)), means[place],
                squares[place]});
    }
    // Lanes are counted over both dimensions of the block here.
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) own.join(own.of_lane(offset));
    if (lane == 0) {
      const std::int64_t place = (std::int64_t{blockIdx.x} * p.groups + group) * p.parts;
      p.moments[place + blockIdx.y] = make_float2(own.mean, own.squares);
    }
  }
}

// The same blocks, backwards: joins the moments of every group's parts and writes one part.
template <typename T, bool kSilu>
__global__ void __launch_bounds__(kLastThreads)
    last_result(const __grid_constant__ GroupParameters p) {
  constexpr int kCount = 16 / sizeof(T);
  __shared__ float means[kMostGroups];
  __shared__ Wide roots[kMostGroups];
  wait_for_previous_kernel();
  allow_next_kernel();
  const std::uint32_t sample = gridDim.x - 1 - blockIdx.x;
  const std::int64_t part = gridDim.y - 1 - blockIdx.y;
  const int rows = static_cast<int>(blockDim.y), row = static_cast<int>(threadIdx.y);
  const int thread = row * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x);
  const int warps = rows * static_cast<int>(blockDim.x) / 32;
  const int lane = thread & 31;
  for (int group = thread / 32; group < p.groups && thread < warps * 32; group += warps) {
    Moments whole;
    for (int i = lane; i < p.parts; i += 32) {
      const std::int64_t place = (std::int64_t{sample} * p.groups + group) * p.parts;
      const float2 found = p.moments[place + i];
      const std::int64_t left = min(p.positions - i * p.part, p.part);
      whole.join({static_cast<float>(left * p.channels), found.x, found.y});
    }
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) whole.join(whole.of_lane(offset));
    if (lane == 0) {
      means[group] = whole.mean;
      roots[group] = root_of(whole, p.eps);
    }
  }
  __syncthreads();
  float mean[kCount], shift[kCount];
  Wide scale[kCount];
  const int first_channel = static_cast<int>(threadIdx.x) * kCount;
#pragma unroll
  for (int c = 0; c < kCount; ++c) {
    const int channel = first_channel + c;
    const std::uint32_t group = p.group_of_channel.quotient(static_cast<unsigned>(channel));
    mean[c] = means[group];
    scale[c] =
        times(roots[group], channel_value(p.weight, p.weight_type, p.weight_step, channel, 1.0F));
    shift[c] = channel_value(p.bias, p.bias_type, p.bias_step, channel, 0.0F);
  }
  const std::int64_t begin = part * p.part;
  const std::int64_t end = min(begin + p.part, p.positions);
  const T* from = static_cast<const T*>(p.input) + sample * p.input_sample + first_channel;
  const std::int64_t to = sample * p.output_sample + first_channel;
  for (std::int64_t first = begin + row; first < end; first += kAhead * rows) {
    Raw<16> raw[kAhead];
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const std::int64_t position = first + i * rows;
      if (position < end) raw[i] = load_operand<16>(from + position * p.input_position);
    }
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const std::int64_t position = first + i * rows;
      if (position >= end) break;
      float x[kCount];
      unpack<T>(raw[i], x);
#pragma unroll
      for (int c = 0; c < kCount; ++c) {
        constexpr bool kExact = sizeof(T) == 4;
        x[c] = finished<kSilu, kExact>(scaled<kExact>(x[c], mean[c], scale[c], shift[c]));
      }
      store_vector<T, false>(p.output, p.output_type, to + position * p.output_position, x);
    }
  }
}

}  // namespace mindiesd::kernels::cuda
