// The norm family for rows that lie side by side: neighbours in memory belong to different rows, as
// behind `conv(x).flatten(2).transpose(1, 2)` and the sums that keep its strides. A warp reads one
// column of 32 rows at a time, so that memory is read in whole sectors; operands whose rows lie one
// behind the other go through shared memory. Entry points: lies_in_columns, run_columns_norm.

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/norm_task.h"

namespace mindiesd::kernels::cuda {
namespace {

constexpr int kRows = 32;        // of a block, one for each lane
constexpr int kWarps = 16;       // of a block
constexpr int kWarpColumns = 8;  // of a tile, for each warp
constexpr int kColumns = kWarps * kWarpColumns;
constexpr int kThreads = kWarps * 32;
// Rows of a warp where its lanes go along the columns.
constexpr int kWarpRows = kRows / kWarps;

struct ColumnsParameters {
  RowMap<kNormOperands> map;
  RowOperand operands[kNormOperands];
  RowOperand weight, bias;
  std::int64_t rows;
  int width;
  DataType normalized, product;
  bool centered, gate_tanh;
  float eps;
};

// A tile's rows, an odd number of words apart: lanes that read one column use different banks.
template <typename T>
struct Tile {
  static constexpr int kPitch = kColumns + 4 / static_cast<int>(sizeof(T));
  T values[kRows][kPitch];
};

// Count, mean and the sum of squared deviations of some values; without `centered` the mean is 0.
struct Moments {
  float count = 0.0F, mean = 0.0F, squares = 0.0F;

  // Chan, Golub, LeVeque: Updating formulae and a pairwise algorithm for computing sample
  // variances, 1979, equation 2.1.
  __device__ __forceinline__ void add(const Moments& other) {
    if (other.count == 0.0F) return;
    const float total = count + other.count;
    const float delta = other.mean - mean;
    const float part = __fdividef(other.count, total);
    mean = fmaf(delta, part, mean);
    squares += fmaf(delta * delta, count * part, other.squares);
    count = total;
  }
};

// What a block keeps in shared memory.
template <typename T>
struct Shared {
  std::int64_t offsets[kNormOperands][kRows];
  // A tile of the dense one of input and branch, then of a dense sum; and one of the result.
  Tile<T> staged, result;
  float modulators[kNormOperands][kColumns];  // of gate, scale, shift, where the rows share them
  float weight[kColumns], bias[kColumns];
  Moments moments[kWarps][kRows];
};

// One tile after the other of a block's 32 rows. A lane has a row, a warp eight columns of a tile;
// lanes beyond the last row read that row once more and store nothing.
constexpr std::uint32_t kModulators = 1U << kGate | 1U << kScale | 1U << kShift;

template <typename T>
class Columns {
 public:
  __device__ __forceinline__ Columns(const ColumnsParameters& parameters, Shared<T>& shared,
                                     std::int64_t first_row)
      : p_(parameters),
        shared_(shared),
        lane_(static_cast<int>(threadIdx.x) & 31),
        warp_(static_cast<int>(threadIdx.x) >> 5),
        rows_(static_cast<int>(min(p_.rows - first_row, std::int64_t{kRows}))) {
    for (int i = static_cast<int>(threadIdx.x); i < kNormOperands * kRows; i += kThreads) {
      const std::int64_t row = min(first_row + i % kRows, p_.rows - 1);
      shared_.offsets[i / kRows][i % kRows] =
          p_.map.offset(static_cast<std::uint32_t>(row), i / kRows);
    }
    __syncthreads();
    for (const NormOperand o : {kGate, kScale, kShift}) {
      const bool same = shared_.offsets[o][lane_] == shared_.offsets[o][0];
      if (__syncthreads_and(same ? 1 : 0) != 0) alike_ |= 1U << o;
    }
  }

  // Goes to the tile that begins at that column: what its columns share and what is dense come to
  // shared memory. Every thread must have done with the tile before.
  __device__ __forceinline__ void enter(int first, bool result) {
    first_ = first + warp_ * kWarpColumns;
    count_ = min(max(p_.width - first_, 0), kWarpColumns);
    const bool stages = dense(kInput) || dense(kBranch);
    if (!result && !stages && p_.operands[kGate].data == nullptr) return;
    __syncthreads();
    if (stages) stage(dense(kInput) ? kInput : kBranch, first);
    fetch(first, result);
    __syncthreads();
  }

  __device__ __forceinline__ bool inside(int i) const { return lane_ < rows_ && i < count_; }

  // Whether neighbours in memory are of one row: such an operand goes through shared memory.
  __device__ __forceinline__ bool dense(NormOperand o) const {
    return p_.operands[o].data != nullptr && p_.operands[o].step == 1;
  }

  // input + gate * branch of this lane's row.
  __device__ __forceinline__ void load(float (&x)[kWarpColumns]) const {
    read(kInput, x);
    if (p_.operands[kBranch].data == nullptr) return;
    float y[kWarpColumns];
    read(kBranch, y);
    const bool gated = p_.operands[kGate].data != nullptr;
#pragma unroll
    for (int i = 0; i < kWarpColumns; ++i) {
      float gate = gated ? modulator<false>(kGate, i) : 1.0F;
      if (gated && p_.gate_tanh) gate = tanhf(gate);
      x[i] = fmaf(gate, y[i], x[i]);
    }
  }

  // Whether the block's rows share what is there of gate, scale and shift.
  __device__ __forceinline__ bool alike() const { return alike_ == kModulators; }

  // Gate, scale or shift; kAlike: what alike() says.
  template <bool kAlike>
  __device__ __forceinline__ float modulator(NormOperand o, int i) const {
    if (kAlike) return shared_.modulators[o][warp_ * kWarpColumns + i];
    if ((alike_ >> o & 1U) != 0) return shared_.modulators[o][warp_ * kWarpColumns + i];
    return i < count_ ? load_one(p_.operands[o].data, p_.operands[o].type,
                                 shared_.offsets[o][lane_] + (first_ + i) * p_.operands[o].step)
                      : 0.0F;
  }
  __device__ __forceinline__ float weight(int i) const {
    return shared_.weight[warp_ * kWarpColumns + i];
  }
  __device__ __forceinline__ float bias(int i) const {
    return shared_.bias[warp_ * kWarpColumns + i];
  }

  // Stores the warp's columns: at their place, or in the tile that unload() takes there.
  __device__ __forceinline__ void store(NormOperand o, const float (&values)[kWarpColumns],
                                        Tile<T>& tile) const {
    if (dense(o)) {
      T* row = &tile.values[lane_][warp_ * kWarpColumns];
#pragma unroll
      for (int i = 0; i < kWarpColumns; ++i) store_one(row, kTypeOf<T>, i, values[i]);
      return;
    }
    const std::int64_t step = p_.operands[o].step;
    T* to = static_cast<T*>(p_.operands[o].data) + shared_.offsets[o][lane_] + first_ * step;
#pragma unroll
    for (int i = 0; i < kWarpColumns; ++i, to += step) {
      if (inside(i)) store_one(to, kTypeOf<T>, 0, values[i]);
    }
  }

  // Sum and result of the tile, from the row's moments.
  template <bool kAlike>
  __device__ __forceinline__ void finish(const Moments& row, float down, float factor) {
    float x[kWarpColumns], y[kWarpColumns];
    load(x);
    if (p_.operands[kSum].data != nullptr) store(kSum, x, shared_.staged);
    const auto each = [&](auto change) {
#pragma unroll
      for (int i = 0; i < kWarpColumns; ++i) y[i] = change(y[i], i);
    };
#pragma unroll
    for (int i = 0; i < kWarpColumns; ++i) y[i] = fmaf(x[i], down, -row.mean) * factor;
    if (p_.normalized != DataType::kFloat32) {
      each([&](float v, int) { return round_to(v, p_.normalized); });
    }
    if (p_.weight.data != nullptr) each([&](float v, int i) { return v * weight(i); });
    if (p_.bias.data != nullptr) {
      if (p_.product != DataType::kFloat32) {
        each([&](float v, int) { return round_to(v, p_.product); });
      }
      each([&](float v, int i) { return v + bias(i); });
    }
    if (p_.operands[kScale].data != nullptr) {
      each([&](float v, int i) { return fmaf(v, modulator<kAlike>(kScale, i), v); });
    }
    if (p_.operands[kShift].data != nullptr) {
      each([&](float v, int i) { return v + modulator<kAlike>(kShift, i); });
    }
    store(kOutput, y, shared_.result);
  }

  // Takes a tile from shared memory to a dense operand, by words where they lie so.
  __device__ __forceinline__ void unload(NormOperand o, int first, const Tile<T>& tile) const {
    T* to = static_cast<T*>(p_.operands[o].data) + first;
    const int columns = min(p_.width - first, kColumns);
    for (int r = warp_ * kWarpRows; r < min((warp_ + 1) * kWarpRows, rows_); ++r) {
      T* row = to + shared_.offsets[o][r];
      if (columns == kColumns && (reinterpret_cast<std::uintptr_t>(row) & 3) == 0) {
        constexpr int kWords = kColumns * static_cast<int>(sizeof(T)) / 4;
        const auto* from = reinterpret_cast<const std::uint32_t*>(tile.values[r]);
#pragma unroll
        for (int w = 0; w < kWords / 32; ++w) {
          reinterpret_cast<std::uint32_t*>(row)[w * 32 + lane_] = from[w * 32 + lane_];
        }
        continue;
      }
      for (int c = lane_; c < columns; c += 32) row[c] = tile.values[r][c];
    }
  }

  // Of this lane's row: the moments of all values times `down`.
  __device__ Moments moments(float down) {
    Moments own;
    for (int first = 0; first < p_.width; first += kColumns) {
      enter(first, false);
      float x[kWarpColumns];
      load(x);
      if (count_ == kWarpColumns) {
        own.add(of_tile<true>(x, down));
      } else if (count_ > 0) {
        own.add(of_tile<false>(x, down));
      }
    }
    shared_.moments[warp_][lane_] = own;
    __syncthreads();
    Moments all;
    for (int w = 0; w < kWarps; ++w) all.add(shared_.moments[w][lane_]);
    __syncthreads();
    return all;
  }

 private:
  __device__ __forceinline__ void stage(NormOperand o, int first) {
    const T* from = static_cast<const T*>(p_.operands[o].data) + first;
    const int columns = min(p_.width - first, kColumns);
    for (int r = warp_ * kWarpRows; r < min((warp_ + 1) * kWarpRows, rows_); ++r) {
#pragma unroll
      for (int c = lane_; c < kColumns; c += 32) {
        if (c < columns) shared_.staged.values[r][c] = from[shared_.offsets[o][r] + c];
      }
    }
  }

  // A thread fetches one column's weight, bias and modulators; without `result` the gate alone.
  __device__ __forceinline__ void fetch(int first, bool result) {
    const int c = static_cast<int>(threadIdx.x);
    if (c >= kColumns || first + c >= p_.width) return;
    const auto modulate = [&](NormOperand o) {
      const RowOperand& operand = p_.operands[o];
      if (operand.data == nullptr || (alike_ >> o & 1U) == 0) return;
      shared_.modulators[o][c] =
          load_one(operand.data, operand.type, shared_.offsets[o][0] + (first + c) * operand.step);
    };
    modulate(kGate);
    if (!result) return;
    modulate(kScale);
    modulate(kShift);
    const auto of = [&](const RowOperand& vector) {
      return load_one(vector.data, vector.type, (first + c) * vector.step);
    };
    if (p_.weight.data != nullptr) shared_.weight[c] = of(p_.weight);
    if (p_.bias.data != nullptr) shared_.bias[c] = of(p_.bias);
  }

  __device__ __forceinline__ void read(NormOperand o, float (&x)[kWarpColumns]) const {
    const std::int64_t step = p_.operands[o].step;
    if (dense(o)) {
#pragma unroll
      for (int i = 0; i < kWarpColumns; ++i) {
        x[i] = static_cast<float>(shared_.staged.values[lane_][warp_ * kWarpColumns + i]);
      }
      return;
    }
    const T* from =
        static_cast<const T*>(p_.operands[o].data) + shared_.offsets[o][lane_] + first_ * step;
    T values[kWarpColumns];
    if (count_ == kWarpColumns) {
#pragma unroll
      for (int i = 0; i < kWarpColumns; ++i, from += step) values[i] = *from;
    } else {
#pragma unroll
      for (int i = 0; i < kWarpColumns; ++i, from += step) values[i] = i < count_ ? *from : T(0.0F);
    }
#pragma unroll
    for (int i = 0; i < kWarpColumns; ++i) x[i] = static_cast<float>(values[i]);
  }

  template <bool kFull>
  __device__ __forceinline__ Moments of_tile(const float (&x)[kWarpColumns], float down) const {
    Moments some;
    some.count = kFull ? kWarpColumns : static_cast<float>(count_);
    if (p_.centered) {
#pragma unroll
      for (int i = 0; i < kWarpColumns; ++i) {
        if (kFull || i < count_) some.mean = fmaf(x[i], down, some.mean);
      }
      some.mean = kFull ? some.mean * (1.0F / kWarpColumns) : some.mean / some.count;
    }
#pragma unroll
    for (int i = 0; i < kWarpColumns; ++i) {
      const float deviation = kFull || i < count_ ? fmaf(x[i], down, -some.mean) : 0.0F;
      some.squares = fmaf(deviation, deviation, some.squares);
    }
    return some;
  }

  const ColumnsParameters& p_;
  Shared<T>& shared_;
  int lane_, warp_, rows_;
  int first_ = 0, count_ = 0;  // of this warp's columns
  std::uint32_t alike_ = 0;    // a bit for each modulator that the block's rows share
};

// A block takes 32 rows and reads them twice: for their moments, and for the result.
template <typename T>
__global__ void __launch_bounds__(kThreads, 2)
    columns_norm(const __grid_constant__ ColumnsParameters p) {
  __shared__ Shared<T> shared;
  wait_for_previous_kernel();
  allow_next_kernel();
  Columns<T> block(p, shared, std::int64_t{blockIdx.x} * kRows);

  float down = 1.0F, eps = p.eps;
  Moments all = block.moments(1.0F);
  // Squares that do not fit float32: see norm_kernel.
  if (__syncthreads_or(is_finite(all.squares) ? 0 : 1) != 0) {
    const Moments again = block.moments(kDown);
    if (!is_finite(all.squares)) {
      all = again;
      down = kDown;
      eps = eps_down(p.eps);
    }
  }
  const float factor = 1.0F / sqrtf(all.squares / static_cast<float>(p.width) + eps);

  const bool sums = p.operands[kSum].data != nullptr;
  for (int first = 0; first < p.width; first += kColumns) {
    block.enter(first, true);
    if (block.alike()) {
      block.template finish<true>(all, down, factor);
    } else {
      block.template finish<false>(all, down, factor);
    }
    __syncthreads();
    if (sums && block.dense(kSum)) block.unload(kSum, first, shared.staged);
    if (block.dense(kOutput)) block.unload(kOutput, first, shared.result);
  }
}

}  // namespace

bool lies_in_columns(const NormTask& task) {
  const RowOperand& input = task.operands[kInput];
  if (task.branch_norm || !present(task.operands[kOutput]) || task.width < kColumns ||
      task.width > (std::int64_t{1} << 20) || !is_floating(input.type)) {
    return false;
  }
  const auto beside = [&](const RowOperand& operand) {
    if (!present(operand) || operand.step == 1) return false;
    for (int d = 0; d < task.space.rank; ++d) {
      if (operand.strides[d] == 1 && task.space.sizes[d] >= kRows) return true;
    }
    return false;
  };
  for (const NormOperand o : {kInput, kBranch, kSum, kOutput}) {
    const RowOperand& operand = task.operands[o];
    if (present(operand) &&
        (operand.type != input.type || (operand.step != 1 && !beside(operand)))) {
      return false;
    }
  }
  const RowOperand& branch = task.operands[kBranch];
  // One of the two may be staged. Where both are dense the vectorised kernels are as fast.
  return beside(input) || (beside(branch) && input.step == 1);
}

LaunchStatus run_columns_norm(const NormTask& task, const Device& device, void* stream) {
  ColumnsParameters p;
  p.width = static_cast<int>(task.width);
  p.weight = task.weight;
  p.bias = task.bias;
  p.normalized = task.normalized;
  p.product = task.product;
  p.centered = task.centered;
  p.gate_tanh = task.gate_tanh;
  p.eps = task.eps;
  const DataType type = task.operands[kInput].type;
  const auto kernel = type == DataType::kFloat32   ? columns_norm<float>
                      : type == DataType::kFloat16 ? columns_norm<__half>
                                                   : columns_norm<__nv_bfloat16>;
  const auto body = [&](const Rows<kNormOperands>& rows,
                        const std::array<std::int64_t, kNormOperands>& offsets) {
    p.map = map_of(rows);
    p.rows = rows.count();
    for (int o = 0; o < kNormOperands; ++o) {
      p.operands[o] = task.operands[o];
      p.operands[o].data = advance(task.operands[o].data, task.operands[o].type, offsets[o]);
    }
    return launch(kernel, static_cast<unsigned>(ceil_div(p.rows, std::int64_t{kRows})), kThreads, 0,
                  device, stream, p);
  };
  return by_rows(task, body);
}

}  // namespace mindiesd::kernels::cuda
