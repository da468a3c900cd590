// Softmax with its guards. Entry point: softmax. The vectorised kernel is in softmax.cuh; here are
// the choice of its instance, the plain kernel for everything that cannot be read in vectors, and
// the maximum of a whole tensor.

#include "kernels/cuda/row_reduce.cuh"
#include "kernels/cuda/softmax.cuh"

#include <cmath>

#include "kernels/cuda/host.h"
#include "kernels/cuda/launch.h"

namespace mindiesd::kernels::cuda {
namespace {

struct Strided {
  const void* data;
  DataType type;
  std::int64_t step;

  __device__ __forceinline__ float at(std::int64_t row, std::int64_t i) const {
    return load_one(data, type, row + i * step);
  }
};

struct PlainParameters {
  RowMap<kSoftmaxOperands> map;
  Strided input, bias, mask;
  void* output;
  DataType output_type;
  std::int64_t output_step;
  Guards guards;
  std::int64_t width;
};

struct Scores {
  const PlainParameters& p;
  std::int64_t input_row, bias_row, mask_row;

  __device__ Scores(const PlainParameters& parameters, std::uint32_t row)
      : p(parameters),
        input_row(p.map.offset(row, kSoftmaxInput)),
        bias_row(p.map.offset(row, kSoftmaxBias)),
        mask_row(p.map.offset(row, kSoftmaxMask)) {}

  __device__ float biased(std::int64_t i) const {
    const float x = p.input.at(input_row, i) * p.guards.scale;
    return p.bias.data == nullptr ? x : x + p.bias.at(bias_row, i);
  }
  __device__ float guarded(std::int64_t i, float shift) const {
    const float x = clamped(biased(i) - shift, p.guards.clamp_min, p.guards.clamp_max);
    if (p.mask.data == nullptr) return x;
    const float mask = p.mask.at(mask_row, i);
    if (p.mask.type != DataType::kBool) return x + mask;
    return mask != 0.0F ? x : p.guards.mask_value;
  }
};

// One block a row, which is read again for each step. Threads keep the positions they read, so the
// output may be the input.
__global__ void __launch_bounds__(256) plain_softmax(const __grid_constant__ PlainParameters p) {
  __shared__ float memory[3][8];
  wait_for_previous_kernel();
  allow_next_kernel();
  const Scores scores(p, blockIdx.x);
  float shift = p.guards.global_maximum != nullptr ? *p.guards.global_maximum : 0.0F;
  float reduced[1] = {Maximum::nothing()};
  if (p.guards.subtract_row) {
    for (std::int64_t i = threadIdx.x; i < p.width; i += blockDim.x) {
      reduced[0] = Maximum::of(reduced[0], scores.biased(i));
    }
    reduce_row<Maximum>(reduced, memory[0]);
    shift = reduced[0];
    reduced[0] = Maximum::nothing();
  }
  for (std::int64_t i = threadIdx.x; i < p.width; i += blockDim.x) {
    reduced[0] = Maximum::of(reduced[0], scores.guarded(i, shift));
  }
  reduce_row<Maximum>(reduced, memory[1]);
  const float largest = reduced[0];
  reduced[0] = 0.0F;
  for (std::int64_t i = threadIdx.x; i < p.width; i += blockDim.x) {
    reduced[0] += expf(scores.guarded(i, shift) - largest);
  }
  reduce_row<Sum>(reduced, memory[2]);
  const std::int64_t output_row = p.map.offset(blockIdx.x, kSoftmaxOutput);
  for (std::int64_t i = threadIdx.x; i < p.width; i += blockDim.x) {
    store_one(p.output, p.output_type, output_row + i * p.output_step,
              expf(scores.guarded(i, shift) - largest) / reduced[0]);
  }
}

// Floats as integers of the same order, so that atomicMax compares them; a NaN is above all.
__device__ __forceinline__ int ordered(float value) {
  if (value != value) return 0x7fffffff;
  const int bits = __float_as_int(value);
  return bits >= 0 ? bits : bits ^ 0x7fffffff;
}
__device__ __forceinline__ float unordered(int bits) {
  return __int_as_float(bits >= 0 ? bits : bits ^ 0x7fffffff);
}

__global__ void begin_maximum(int* result) {
  wait_for_previous_kernel();
  *result = ordered(Maximum::nothing());
}

__global__ void __launch_bounds__(256)
    global_maximum(const __grid_constant__ PlainParameters p, std::uint32_t rows, int* result) {
  __shared__ float memory[8];
  wait_for_previous_kernel();
  float largest[1] = {Maximum::nothing()};
  for (std::uint32_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const Scores scores(p, row);
    for (std::int64_t i = threadIdx.x; i < p.width; i += blockDim.x) {
      largest[0] = Maximum::of(largest[0], scores.biased(i));
    }
  }
  reduce_row<Maximum>(largest, memory);
  if (threadIdx.x == 0) atomicMax(result, ordered(largest[0]));
}

// A vector at a time, where input and bias allow it.
template <typename T>
__global__ void __launch_bounds__(256)
    global_maximum_vectors(const __grid_constant__ SoftmaxParameters p, int* result) {
  constexpr int kCount = 16 / sizeof(T);
  constexpr int kUnroll = 4;
  __shared__ float memory[8];
  wait_for_previous_kernel();
  float largest[1] = {Maximum::nothing()};
  for (std::uint32_t row = blockIdx.x * blockDim.y + threadIdx.y; row < p.rows;
       row += gridDim.x * blockDim.y) {
    const T* input = static_cast<const T*>(p.input) + p.map.offset(row, kSoftmaxInput);
    const std::int64_t bias_row = p.bias.data != nullptr ? p.map.offset(row, kSoftmaxBias) : 0;
    for (int first = static_cast<int>(threadIdx.x); first < p.vectors;
         first += kUnroll * static_cast<int>(blockDim.x)) {
      Raw<16> raw[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        const int vector = first + u * static_cast<int>(blockDim.x);
        if (vector < p.vectors) raw[u] = load_shared_data<16>(input + vector * kCount);
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        const int vector = first + u * static_cast<int>(blockDim.x);
        if (vector >= p.vectors) break;
        float x[kCount], bias[kCount] = {};
        unpack<T>(raw[u], x);
        if (p.bias.data != nullptr) {
          load_modulation<T, false>(p.bias, bias_row, vector * kCount, bias);
        }
#pragma unroll
        for (int i = 0; i < kCount; ++i) {
          largest[0] = Maximum::of(largest[0], x[i] * p.guards.scale + bias[i]);
        }
      }
    }
  }
  // Over the whole block: rows are one kind of part of the tensor here.
  for (int offset = 16; offset > 0; offset /= 2) {
    largest[0] = Maximum::of(largest[0], __shfl_xor_sync(0xffffffffU, largest[0], offset));
  }
  const unsigned index = threadIdx.y * blockDim.x + threadIdx.x;
  if (index % 32 == 0) memory[index / 32] = largest[0];
  __syncthreads();
  if (index == 0) {
    for (unsigned w = 1; w < blockDim.x * blockDim.y / 32; ++w) {
      largest[0] = Maximum::of(largest[0], memory[w]);
    }
    atomicMax(result, ordered(largest[0]));
  }
}

__global__ void end_maximum(int* result) {
  wait_for_previous_kernel();
  const float value = unordered(*result);
  *reinterpret_cast<float*>(result) = value;
}

struct Operands {
  RowOperand of[kSoftmaxOperands];
};

Strided strided(const RowOperand& operand, std::int64_t offset) {
  return {advance(operand.data, operand.type, offset), operand.type, operand.step};
}

Modulation modulation(const RowOperand& operand, std::int64_t offset) {
  return {advance(operand.data, operand.type, offset), operand.type,
          static_cast<int>(operand.step)};
}

using SoftmaxRows = Rows<kSoftmaxOperands>;
using Offsets = std::array<std::int64_t, kSoftmaxOperands>;

class Run {
 public:
  Run(const Softmax& problem, const Operands& operands, const Device& device, void* stream)
      : problem_(problem), operands_(operands), device_(device), stream_(stream) {
    constexpr float kInfinity = __builtin_huge_valf();
    guards_.scale = problem.scale;
    guards_.mask_value = problem.mask_value;
    guards_.clamp_min = problem.has_clamp_min ? problem.clamp_min : -kInfinity;
    guards_.clamp_max = problem.has_clamp_max ? problem.clamp_max : kInfinity;
    guards_.clamps = problem.has_clamp_min || problem.has_clamp_max;
    guards_.subtract_row = problem.subtract == Subtract::kRow;
    guards_.global_maximum = nullptr;
    // Where nothing between it and the softmax sees the difference, a row's maximum need not be
    // subtracted twice.
    if (!guards_.clamps && !problem.has_mask) guards_.subtract_row = false;
  }

  LaunchStatus all() {
    if (problem_.subtract != Subtract::kGlobal) return rows();
    int* maximum = nullptr;
    auto* stream = static_cast<cudaStream_t>(stream_);
    const cudaError_t error =
        cudaMallocAsync(reinterpret_cast<void**>(&maximum), sizeof(*maximum), stream);
    if (error != cudaSuccess) return failed(error);
    LaunchStatus status = find_maximum(maximum);
    guards_.global_maximum = reinterpret_cast<const float*>(maximum);
    if (status == LaunchStatus::kOk) status = rows();
    const cudaError_t freed = cudaFreeAsync(maximum, stream);
    return status == LaunchStatus::kOk && freed != cudaSuccess ? failed(freed) : status;
  }

 private:
  bool vectorised() const {
    const RowOperand& input = operands_.of[kSoftmaxInput];
    const RowOperand& output = operands_.of[kSoftmaxOutput];
    const int count = static_cast<int>(16 / bytes_of(input.type));
    if (problem_.width % count != 0 || problem_.width > (1 << 20)) return false;
    if (input.step != 1 || output.step != 1) return false;
    for (const RowOperand& operand : operands_.of) {
      if (!aligned(operand, problem_.rows, count)) return false;
      const bool mask = &operand == &operands_.of[kSoftmaxMask] && operand.type == DataType::kBool;
      if (present(operand) && !mask && !mixes(input.type, operand.type)) return false;
    }
    return true;
  }

  GuardForm form() const {
    const DataType type = operands_.of[kSoftmaxInput].type;
    const RowOperand& bias = operands_.of[kSoftmaxBias];
    const RowOperand& mask = operands_.of[kSoftmaxMask];
    const bool same =
        operands_.of[kSoftmaxOutput].type == type &&
        (!present(bias) || (bias.type == type && bias.step == 1)) &&
        (!present(mask) || ((mask.type == type || mask.type == DataType::kBool) && mask.step == 1));
    if (!same) return GuardForm::kAny;
    const bool guarded = present(bias) || present(mask) || guards_.clamps || guards_.subtract_row ||
                         guards_.global_maximum != nullptr;
    if (present(mask) && mask.type == DataType::kBool) return GuardForm::kKept;
    return guarded ? GuardForm::kSame : GuardForm::kNone;
  }

  SoftmaxRows merged() const {
    SoftmaxRows rows = merge_rows<kSoftmaxOperands>(
        problem_.rows, {&operands_.of[0], &operands_.of[1], &operands_.of[2], &operands_.of[3]});
    // Rows that share a mask (the heads of a sample) follow each other where else so much lies
    // between two uses of a row of it that it has left the second-level cache.
    const RowOperand& mask = operands_.of[kSoftmaxMask];
    if (!present(mask)) return rows;
    std::int64_t between = problem_.width * bytes_of(mask.type);
    for (int d = rows.rank - 1; d >= 0; --d) {
      if (rows.strides[kSoftmaxMask][d] != 0) {
        between *= rows.sizes[d];
        continue;
      }
      if (between <= (std::int64_t{2} << 20)) continue;
      for (int to = d; to + 1 < rows.rank; ++to) rows.swap(to, to + 1);
      break;
    }
    return rows;
  }

  PlainParameters plain_parameters(const SoftmaxRows& rows, const Offsets& offsets) const {
    PlainParameters p;
    p.map = map_of(rows);
    p.input = strided(operands_.of[kSoftmaxInput], offsets[kSoftmaxInput]);
    p.bias = strided(operands_.of[kSoftmaxBias], offsets[kSoftmaxBias]);
    p.mask = strided(operands_.of[kSoftmaxMask], offsets[kSoftmaxMask]);
    const RowOperand& output = operands_.of[kSoftmaxOutput];
    p.output = advance(output.data, output.type, offsets[kSoftmaxOutput]);
    p.output_type = output.type;
    p.output_step = output.step;
    p.guards = guards_;
    p.width = problem_.width;
    return p;
  }

  SoftmaxParameters parameters(const SoftmaxRows& rows, const Offsets& offsets) const {
    SoftmaxParameters p;
    const RowOperand& input = operands_.of[kSoftmaxInput];
    const RowOperand& output = operands_.of[kSoftmaxOutput];
    p.map = map_of(rows);
    p.input = advance(input.data, input.type, offsets[kSoftmaxInput]);
    p.output = advance(output.data, output.type, offsets[kSoftmaxOutput]);
    p.output_type = output.type;
    p.bias = modulation(operands_.of[kSoftmaxBias], offsets[kSoftmaxBias]);
    p.mask = modulation(operands_.of[kSoftmaxMask], offsets[kSoftmaxMask]);
    p.guards = guards_;
    p.rows = static_cast<std::uint32_t>(rows.count());
    p.turns = 1;
    p.vectors = static_cast<int>(problem_.width * bytes_of(input.type) / 16);
    return p;
  }

  LaunchStatus plain_rows() const {
    const unsigned threads = problem_.width <= 256 ? 32 : 256;
    const auto body = [&](const SoftmaxRows& rows, const Offsets& offsets) {
      return launch(plain_softmax, static_cast<unsigned>(rows.count()), threads, 0, device_,
                    stream_, plain_parameters(rows, offsets));
    };
    return for_each_piece<kSoftmaxOperands>(merged(), 1, std::cref(body));
  }

  // Two rows that share a row of a boolean mask, one after the other in the threads that read it.
  static std::uint32_t turns_of(const SoftmaxRows& rows, GuardForm form, int block_rows) {
    const int inner = rows.rank - 1;
    const bool shared = rows.strides[kSoftmaxMask][inner] == 0;
    const bool even = rows.sizes[inner] % (std::int64_t{2} * block_rows) == 0;
    return form == GuardForm::kKept && shared && even ? 2 : 1;
  }

  LaunchStatus rows() const {
    if (!vectorised()) return plain_rows();
    const DataType type = operands_.of[kSoftmaxInput].type;
    const std::int64_t vectors = problem_.width * bytes_of(type) / 16;
    const std::int64_t row_count = problem_.rows.count();
    const RowShape shape = row_shape(vectors, row_count, device_, {4, 8, 1}, 256,
                                     [](int per_thread) { return softmax_threads(per_thread); });
    if (shape.threads * shape.per_thread < vectors) return plain_rows();
    const GuardForm guard_form = form();
    const SoftmaxKernel kernel =
        type == DataType::kFloat16 ? softmax_kernel_for<__half>(shape.per_thread, guard_form)
        : type == DataType::kBFloat16
            ? softmax_kernel_for<__nv_bfloat16>(shape.per_thread, guard_form)
            : softmax_kernel_for<float>(shape.per_thread, guard_form);
    if (kernel == nullptr) return plain_rows();
    const auto body = [&](const SoftmaxRows& rows, const Offsets& offsets) {
      const dim3 block(static_cast<unsigned>(shape.threads), static_cast<unsigned>(shape.rows));
      SoftmaxParameters p = parameters(rows, offsets);
      p.turns = turns_of(rows, guard_form, shape.rows);
      const std::int64_t grid = ceil_div(rows.count(), std::int64_t{shape.rows} * p.turns);
      return launch(kernel, static_cast<unsigned>(grid), block, 0, device_, stream_, p);
    };
    return for_each_piece<kSoftmaxOperands>(merged(), 1, std::cref(body));
  }

  LaunchStatus find_maximum(int* maximum) const {
    LaunchStatus status = launch(begin_maximum, 1, 1, 0, device_, stream_, maximum);
    const auto body = [&](const SoftmaxRows& rows, const Offsets& offsets) {
      const auto count = static_cast<std::uint32_t>(rows.count());
      const auto most = static_cast<std::uint32_t>(device_.multiprocessors) * 8;
      if (!vectorised()) {
        return launch(global_maximum, std::min(count, most), 256, 0, device_, stream_,
                      plain_parameters(rows, offsets), count, maximum);
      }
      const DataType type = operands_.of[kSoftmaxInput].type;
      const auto kernel = type == DataType::kFloat16    ? global_maximum_vectors<__half>
                          : type == DataType::kBFloat16 ? global_maximum_vectors<__nv_bfloat16>
                                                        : global_maximum_vectors<float>;
      const SoftmaxParameters p = parameters(rows, offsets);
      const unsigned threads = p.vectors >= 128 ? 256 : 32;
      const dim3 block(threads, 256 / threads);
      const auto blocks = static_cast<std::uint32_t>(ceil_div(count, block.y));
      return launch(kernel, std::min(blocks, most), block, 0, device_, stream_, p, maximum);
    };
    if (status == LaunchStatus::kOk) {
      status = for_each_piece<kSoftmaxOperands>(merged(), 1, std::cref(body));
    }
    if (status != LaunchStatus::kOk) return status;
    return launch(end_maximum, 1, 1, 0, device_, stream_, maximum);
  }

  const Softmax& problem_;
  const Operands& operands_;
  const Device& device_;
  void* stream_;
  Guards guards_;
};

}  // namespace

LaunchStatus softmax(const Softmax& problem, void* stream) {
  if (problem.rows.count() == 0 || problem.width == 0) return LaunchStatus::kOk;
  const Device* device = current_device();
  if (device == nullptr) return LaunchStatus::kFailed;
  Operands operands;
  operands.of[kSoftmaxInput] = problem.input;
  operands.of[kSoftmaxOutput] = problem.output;
  operands.of[kSoftmaxBias] = operand_if(problem.has_bias, problem.bias);
  operands.of[kSoftmaxMask] = operand_if(problem.has_mask, problem.mask);
  return Run(problem, operands, *device, stream).all();
}

}  // namespace mindiesd::kernels::cuda
