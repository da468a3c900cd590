// GroupNorm: which kernel and how many parts. Entry point: group_norm.

#include "kernels/cuda/group_norm.cuh"

#include "kernels/cuda/host.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/memory.h"

namespace mindiesd::kernels::cuda {
namespace {

using Kernel = void (*)(GroupParameters);

struct Kernels {
  Kernel moments, result;          // of planes, in vectors
  Kernel one_moments, one_result;  // a value at a time
  Kernel held;
  Kernel last_moments, last_result;
};

template <typename T, bool kSilu>
Kernels kernels_of() {
  constexpr int kCount = 16 / sizeof(T);
  return {plane_moments<T, kCount>,  plane_result<T, kCount, kSilu>, plane_moments<T, 1>,
          plane_result<T, 1, kSilu>, plane_held<T, kSilu>,           last_moments<T>,
          last_result<T, kSilu>};
}

template <typename T>
Kernels kernels_of(bool silu) {
  return silu ? kernels_of<T, true>() : kernels_of<T, false>();
}

Kernels kernels_of(DataType type, bool silu) {
  switch (type) {
    case DataType::kFloat16:
      return kernels_of<__half>(silu);
    case DataType::kBFloat16:
      return kernels_of<__nv_bfloat16>(silu);
    default:
      return kernels_of<float>(silu);
  }
}

// Whether a group lies together, each channel's positions behind each other.
bool in_planes(const GroupNorm& p, const std::int64_t (&strides)[3]) {
  return (p.positions == 1 || strides[2] == 1) &&
         (p.groups * p.channels == 1 || strides[1] == p.positions);
}

bool channels_last(const GroupNorm& p, const std::int64_t (&strides)[3]) {
  return p.groups * p.channels == 1 || strides[1] == 1;
}

bool at_vectors(const void* data, DataType type, std::int64_t sample, std::int64_t samples) {
  // A vector of the input's type is two or one of the output's.
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 &&
         (samples == 1 || sample * bytes_of(type) % 16 == 0);
}

class Launch {
 public:
  Launch(const GroupNorm& problem, const Device& device, void* stream)
      : problem_(problem),
        device_(device),
        stream_(stream),
        kernels_(kernels_of(problem.input_type, problem.silu)),
        count_(16 / bytes_of(problem.input_type)) {
    const GroupNorm& p = problem;
    all_.input = p.input;
    all_.output = p.output;
    all_.weight = p.weight;
    all_.bias = p.bias;
    all_.output_type = p.output_type;
    all_.weight_type = p.weight_type;
    all_.bias_type = p.bias_type;
    all_.weight_step = p.weight_step;
    all_.bias_step = p.bias_step;
    all_.input_sample = p.input_strides[0];
    all_.output_sample = p.output_strides[0];
    all_.input_position = p.input_strides[2];
    all_.output_position = p.output_strides[2];
    all_.group_size = p.channels * p.positions;
    all_.positions = p.positions;
    all_.groups = static_cast<int>(p.groups);
    all_.channels = static_cast<int>(p.channels);
    all_.group_of_sample = divisor_of(static_cast<std::uint32_t>(p.groups));
    all_.group_of_channel = divisor_of(static_cast<std::uint32_t>(p.channels));
    all_.eps = p.eps;
  }

  LaunchStatus planes() {
    const GroupNorm& p = problem_;
    const bool vectors = p.positions % count_ == 0 &&
                         at_vectors(p.input, p.input_type, p.input_strides[0], p.samples) &&
                         at_vectors(p.output, p.output_type, p.output_strides[0], p.samples);
    const std::int64_t count = vectors ? count_ : 1;
    all_.plane = divisor_of(static_cast<std::uint32_t>(p.positions / count));
    const std::int64_t size = all_.group_size / count;
    const auto groups = static_cast<unsigned>(p.samples * p.groups);
    if (vectors && size * 16 <= kMostHeld) {
      const auto bytes = static_cast<std::size_t>(size * 16);
      if (allow_shared(reinterpret_cast<const void*>(kernels_.held), bytes)) {
        return launch(kernels_.held, groups, kHeldThreads, bytes, device_, stream_, all_);
      }
    }
    // Eight vectors for each thread, or fewer where the blocks would leave multiprocessors idle;
    // a part's moments are read by every block of its group.
    constexpr std::int64_t kMostParts = 256;
    std::int64_t part = 8 * kPlaneThreads;
    while (part > 2 * kPlaneThreads &&
           groups * ceil_div(size, part) < std::int64_t{4} * device_.multiprocessors) {
      part /= 2;
    }
    part = std::max(part, ceil_div(ceil_div(size, kMostParts), kPlaneThreads) * kPlaneThreads);
    return both(vectors ? kernels_.moments : kernels_.one_moments,
                vectors ? kernels_.result : kernels_.one_result, part, ceil_div(size, part), groups,
                dim3(kPlaneThreads));
  }

  LaunchStatus last() {
    const GroupNorm& p = problem_;
    const auto columns = static_cast<unsigned>(p.groups * p.channels / count_);
    const unsigned rows = kLastThreads / columns;
    // Two blocks for a multiprocessor, each with some positions for every row of threads.
    const std::int64_t wanted = ceil_div(std::int64_t{2} * device_.multiprocessors, p.samples);
    const std::int64_t part = std::max<std::int64_t>(ceil_div(p.positions, wanted), 4 * rows);
    return both(kernels_.last_moments, kernels_.last_result, part, ceil_div(p.positions, part),
                static_cast<unsigned>(p.samples), dim3(columns, rows));
  }

 private:
  LaunchStatus both(Kernel moments, Kernel result, std::int64_t part, std::int64_t parts,
                    unsigned blocks, dim3 threads) {
    int id = 0;
    const cudaError_t error = cudaGetDevice(&id);
    if (error != cudaSuccess) return failed(error);
    const std::int64_t groups = problem_.samples * problem_.groups;
    const Workspace memory(id, groups * parts * static_cast<std::int64_t>(sizeof(float2)),
                           static_cast<cudaStream_t>(stream_));
    if (memory.error() != cudaSuccess) return failed(memory.error());
    all_.moments = reinterpret_cast<float2*>(memory.get());
    all_.part = part;
    all_.parts = static_cast<int>(parts);
    const dim3 grid(blocks, static_cast<unsigned>(parts));
    const LaunchStatus status = launch(moments, grid, threads, 0, device_, stream_, all_);
    if (status != LaunchStatus::kOk) return status;
    return launch(result, grid, threads, 0, device_, stream_, all_);
  }

  const GroupNorm& problem_;
  const Device& device_;
  void* stream_;
  Kernels kernels_;
  std::int64_t count_;
  GroupParameters all_ = {};
};

}  // namespace

LaunchStatus group_norm(const GroupNorm& p, void* stream) {
  if (p.samples * p.groups * p.channels * p.positions == 0) return LaunchStatus::kOk;
  const Device* device = current_device();
  if (device == nullptr) return LaunchStatus::kFailed;
  // Groups, and vectors of a group, are counted in 31 bits.
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  if (p.samples * p.groups > kMost || p.channels * p.positions > kMost ||
      !mixes(p.input_type, p.output_type)) {
    return LaunchStatus::kUnsupported;
  }
  Launch call(p, *device, stream);
  if (in_planes(p, p.input_strides) && in_planes(p, p.output_strides)) return call.planes();
  const std::int64_t count = 16 / bytes_of(p.input_type), channels = p.groups * p.channels;
  const bool last = channels_last(p, p.input_strides) && channels_last(p, p.output_strides) &&
                    channels % count == 0 && channels / count <= kLastThreads &&
                    p.groups <= kMostGroups &&
                    at_vectors(p.input, p.input_type, p.input_strides[0], p.samples) &&
                    at_vectors(p.output, p.output_type, p.output_strides[0], p.samples) &&
                    at_vectors(p.input, p.input_type, p.input_strides[2], p.positions) &&
                    at_vectors(p.output, p.output_type, p.output_strides[2], p.positions);
  return last ? call.last() : LaunchStatus::kUnsupported;
}

}  // namespace mindiesd::kernels::cuda
