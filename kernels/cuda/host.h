// What the CUDA launchers share on the host: the rows of an operation brought to few dimensions,
// what may be read in vectors, and the launch itself. Entry points: merge_rows, for_each_piece,
// launch.

#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <utility>

#include "kernels/cuda/row_map.h"
#include "kernels/problem.h"

namespace mindiesd::kernels::cuda {

inline bool present(const RowOperand& operand) { return operand.data != nullptr; }

// An operand that the description says is there, else an absent one.
inline RowOperand operand_if(bool has, const RowOperand& operand) {
  return has ? operand : RowOperand{};
}

inline std::int64_t bytes_of(DataType type) {
  switch (type) {
    case DataType::kFloat16:
    case DataType::kBFloat16:
      return 2;
    case DataType::kBool:
    case DataType::kInt8:
      return 1;
    case DataType::kInt64:
    case DataType::kFloat64:
      return 8;
    default:
      return 4;
  }
}

inline bool is_floating(DataType type) {
  return type == DataType::kFloat32 || type == DataType::kFloat16 || type == DataType::kBFloat16;
}

// Whether an operand of type `other` may stand beside those of `type` in a vectorised kernel.
inline bool mixes(DataType type, DataType other) {
  return other == type || other == DataType::kFloat32 ||
         (type == DataType::kFloat32 && is_floating(other));
}

inline Divisor divisor_of(std::uint32_t value) {
  Divisor divisor;
  divisor.value = value;
  if (value <= 1) return divisor;
  const auto log = static_cast<unsigned>(32 - __builtin_clz(value - 1));
  divisor.multiplier =
      static_cast<std::uint32_t>(((std::uint64_t{1} << (31 + log)) + value - 1) / value);
  divisor.shift = log - 1;
  return divisor;
}

// Rows of several operands: sizes and, for each operand, strides in elements; outermost first.
template <int kOperands>
struct Rows {
  int rank = 0;
  std::int64_t sizes[kMaxRank] = {};
  std::int64_t strides[kOperands][kMaxRank] = {};

  std::int64_t count() const {
    std::int64_t rows = 1;
    for (int d = 0; d < rank; ++d) rows *= sizes[d];
    return rows;
  }
  void remove(int dim) {
    for (int d = dim; d + 1 < rank; ++d) {
      sizes[d] = sizes[d + 1];
      for (auto& of : strides) of[d] = of[d + 1];
    }
    --rank;
  }
  // Neighbours that every operand steps through alike become one.
  void merge() {
    for (int d = rank - 1; d > 0; --d) {
      bool same = true;
      for (const auto& of : strides) same = same && of[d - 1] == of[d] * sizes[d];
      if (!same) continue;
      sizes[d] *= sizes[d - 1];
      remove(d - 1);
    }
  }
  void swap(int a, int b) {
    std::swap(sizes[a], sizes[b]);
    for (auto& of : strides) std::swap(of[a], of[b]);
  }
};

// Dimensions of one element go, the others are ordered as the first operand lies in memory, and
// neighbours that every operand steps through alike become one.
template <int kOperands>
Rows<kOperands> merge_rows(const RowSpace& space,
                           const std::array<const RowOperand*, kOperands>& operands) {
  Rows<kOperands> rows;
  for (int d = 0; d < space.rank; ++d) {
    if (space.sizes[d] == 1) continue;
    rows.sizes[rows.rank] = space.sizes[d];
    for (int o = 0; o < kOperands; ++o) {
      rows.strides[o][rows.rank] = present(*operands[o]) ? operands[o]->strides[d] : 0;
    }
    for (int at = rows.rank;
         at > 0 && std::llabs(rows.strides[0][at - 1]) < std::llabs(rows.strides[0][at]); --at) {
      rows.swap(at - 1, at);
    }
    ++rows.rank;
  }
  rows.merge();
  if (rows.rank == 0) {
    rows.rank = 1;
    rows.sizes[0] = 1;
  }
  return rows;
}

template <int kOperands>
RowMap<kOperands> map_of(const Rows<kOperands>& rows) {
  RowMap<kOperands> map;
  map.rank = rows.rank;
  for (int d = 0; d < rows.rank; ++d) {
    map.sizes[d] = divisor_of(static_cast<std::uint32_t>(rows.sizes[d]));
    for (int o = 0; o < kOperands; ++o) map.strides[o][d] = rows.strides[o][d];
  }
  for (int o = 0; o < kOperands; ++o) {
    const bool like = std::equal(rows.strides[o], rows.strides[o] + rows.rank, rows.strides[0]);
    map.like_first |= static_cast<std::uint32_t>(like) << o;
  }
  return map;
}

// The kernels count rows, or `per_row` parts of each row, in 31 bits. Calls the body for pieces of
// the rows that fit, with where each operand's piece begins, in elements.
template <int kOperands>
using PieceBody =
    std::function<LaunchStatus(const Rows<kOperands>&, const std::array<std::int64_t, kOperands>&)>;

template <int kOperands>
LaunchStatus for_each_piece(const Rows<kOperands>& rows, std::int64_t per_row,
                            const PieceBody<kOperands>& body) {
  constexpr std::int64_t kLimit = std::int64_t{1} << 30;
  if (rows.count() * per_row <= kLimit) return body(rows, {});
  // The outermost dimension is cut. Where one step of it is too much already, each step is a piece
  // with one dimension less, which is cut again.
  const std::int64_t size = rows.sizes[0];
  const std::int64_t step = std::max<std::int64_t>(kLimit / (rows.count() / size * per_row), 1);
  for (std::int64_t begin = 0; begin < size; begin += step) {
    Rows<kOperands> piece = rows;
    piece.sizes[0] = std::min(step, size - begin);
    if (piece.sizes[0] == 1 && piece.rank > 1) piece.remove(0);
    const PieceBody<kOperands> shifted = [&](const Rows<kOperands>& inner,
                                             const std::array<std::int64_t, kOperands>& from) {
      std::array<std::int64_t, kOperands> offsets = from;
      for (int o = 0; o < kOperands; ++o) offsets[o] += begin * rows.strides[o][0];
      return body(inner, offsets);
    };
    const LaunchStatus status = for_each_piece<kOperands>(piece, per_row, shifted);
    if (status != LaunchStatus::kOk) return status;
  }
  return LaunchStatus::kOk;
}

inline void* advance(void* data, DataType type, std::int64_t elements) {
  return data == nullptr ? nullptr : static_cast<char*>(data) + elements * bytes_of(type);
}

// Whether `count` values from every multiple of `count` on can be moved in vectors of up to 16
// bytes: dense rows whose beginnings are aligned. A step of 0 is handled as one value for the whole
// row.
inline bool aligned(const RowOperand& operand, int rank, const std::int64_t* sizes, int count) {
  if (!present(operand) || operand.step == 0) return true;
  if (operand.step != 1) return false;
  const std::int64_t item = bytes_of(operand.type);
  const std::int64_t unit = item * count < 16 ? item * count : 16;
  if (reinterpret_cast<std::uintptr_t>(operand.data) % static_cast<std::uintptr_t>(unit) != 0) {
    return false;
  }
  for (int d = 0; d < rank; ++d) {
    if (sizes[d] > 1 && operand.strides[d] * item % unit != 0) return false;
  }
  return true;
}
inline bool aligned(const RowOperand& operand, const RowSpace& rows, int count) {
  return aligned(operand, rows.rank, rows.sizes, count);
}

inline bool aligned_vector(const void* data, DataType type, std::int64_t step, int count) {
  RowOperand operand;
  operand.data = const_cast<void*>(data);
  operand.type = type;
  operand.step = step;
  return step != 0 && aligned(operand, 0, nullptr, count);
}

// Beyond these, devices share what is kept for each.
constexpr int kMaxDevices = 64;

// What the choice of a configuration needs to know of the current device.
struct Device {
  int multiprocessors = 0;
  bool programmatic_launch = false;  // compute capability 9.0 and newer
};

// Null where the device cannot be asked; last_error() then has the text.
const Device* current_device();

// Lets a kernel have that much dynamic shared memory on the current device, of which each kernel
// has to be asked once, thread by thread; false: the device has less. `most`: the multiprocessor is
// to have all of it as shared memory, rather than for its cache.
bool allow_shared(const void* kernel, std::size_t bytes, bool most = false);

LaunchStatus failed(cudaError_t error);

// `cluster`: how many neighbouring blocks run together and see each other's shared memory.
template <typename... Parameters, typename... Arguments>
LaunchStatus launch_clusters(void (*kernel)(Parameters...), unsigned cluster, dim3 grid, dim3 block,
                             std::size_t shared_bytes, const Device& device, void* stream,
                             const Arguments&... arguments) {
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = static_cast<cudaStream_t>(stream);
  cudaLaunchAttribute attributes[2] = {};
  config.attrs = attributes;
  // Only where the launch itself matters: small grids. In large ones the wait of every block costs
  // more than the overlap gains.
  const bool small = std::int64_t{grid.x} * grid.y <= std::int64_t{device.multiprocessors} * 64;
  if (device.programmatic_launch && small) {
    cudaLaunchAttribute& overlap = attributes[config.numAttrs++];
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
  }
  if (cluster > 1) {
    cudaLaunchAttribute& together = attributes[config.numAttrs++];
    together.id = cudaLaunchAttributeClusterDimension;
    together.val.clusterDim.x = cluster;
    together.val.clusterDim.y = together.val.clusterDim.z = 1;
  }
  const void* pointers[] = {static_cast<const void*>(&arguments)...};
  const cudaError_t error = cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(kernel),
                                                const_cast<void**>(pointers));
  return error == cudaSuccess ? LaunchStatus::kOk : failed(error);
}

template <typename... Parameters, typename... Arguments>
LaunchStatus launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes,
                    const Device& device, void* stream, const Arguments&... arguments) {
  return launch_clusters(kernel, 1, grid, block, shared_bytes, device, stream, arguments...);
}

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Threads for a row of `vectors` vectors, vectors of each thread, rows in a block.
struct RowShape {
  int threads = 32, per_thread = 1, rows = 1;
};

// `choices`: the numbers of vectors a thread may hold, best first, while there are many rows;
// `block_threads`: about as many as a block should have; `most_threads` bounds those that hold so
// many vectors. A result that does not cover the row means that no choice does.
RowShape row_shape(std::int64_t vectors, std::int64_t rows, const Device& device,
                   std::initializer_list<int> choices, int block_threads,
                   int (*most_threads)(int per_thread));

}  // namespace mindiesd::kernels::cuda
