// Which instance of hopper_attention.cuh computes a problem, the maps of its operands for the copy
// engine, and its launch. Entry points: attention_hopper_supports, attention_hopper (launch.h),
// hopper_supports, hopper_launch.

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/cuda/attention_host.h"
#include "kernels/cuda/hopper_instances.h"
#include "kernels/cuda/host.h"

namespace mindiesd::kernels::cuda {
namespace {

using hopper::HopperParameters;
using hopper::Instance;

// --- what the copy engine can read ---------------------------------------------------------------

// An operand as [batch, head, position, column]; a batch or head that repeats has a stride of 0.
struct Operand {
  const void* data;
  const std::int64_t* strides;
  std::int64_t batch, heads, length, width;
};

Operand query_of(const Attention& p, bool packed) {
  return {p.query,       p.query_strides, packed ? 1 : p.batch,
          p.query_heads, p.query_length,  p.head_dim};
}
Operand key_of(const Attention& p, bool packed) {
  return {p.key, p.key_strides, packed ? 1 : p.batch, p.key_heads, p.key_length, p.head_dim};
}
Operand value_of(const Attention& p, bool packed) {
  return {p.value, p.value_strides, packed ? 1 : p.batch, p.key_heads, p.key_length, p.value_dim};
}

constexpr std::int64_t kItem = 2;  // bytes of a value

// The copy engine's bound of strides is 2^40 bytes; that of packed positions, 2^34 (make_map).
bool stride_fits(std::int64_t stride, std::int64_t size, int bits) {
  return size <= 1 || (stride >= 0 && stride % 8 == 0 && stride * kItem < std::int64_t{1} << bits);
}

bool readable(const Operand& operand) {
  const bool moves = operand.strides[2] > 0 || operand.length <= 1;
  return reinterpret_cast<std::uintptr_t>(operand.data) % 16 == 0 && operand.width % 8 == 0 &&
         moves && stride_fits(operand.strides[0], operand.batch, 40) &&
         stride_fits(operand.strides[1], operand.heads, 40) &&
         stride_fits(operand.strides[2], operand.length, 34);
}

bool writable(const Attention& p, bool packed) {
  bool fits = reinterpret_cast<std::uintptr_t>(p.output) % 16 == 0;
  for (int d = packed ? 1 : 0; d < 3; ++d) fits = fits && p.output_strides[d] % 8 == 0;
  return fits;
}

using Encode = decltype(&cuTensorMapEncodeTiled);

// The driver's function; null: the driver has none.
Encode find_encode() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  const cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function,
                                                             12000, cudaEnableDefault, &found);
#else
  const cudaError_t error =
      cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &function, cudaEnableDefault, &found);
#endif
  if (error != cudaSuccess) cudaGetLastError();
  return found == cudaDriverEntryPointSuccess ? reinterpret_cast<Encode>(function) : nullptr;
}

// The map of an operand whose boxes have `rows` rows; `ends`: of packed sequences that end anywhere
// (hopper_tiles.cuh).
bool make_map(CUtensorMap* map, const Operand& operand, DataType type, int rows, bool ends) {
  static const Encode encode = find_encode();
  if (encode == nullptr) return false;
  const auto bytes = [](std::int64_t stride, std::int64_t size) {
    return static_cast<cuuint64_t>(size > 1 && stride > 0 ? stride * kItem : 16);
  };
  const auto repeated = [](std::int64_t stride, std::int64_t size) {
    return static_cast<cuuint64_t>(stride == 0 ? 1 : size);
  };
  const std::int64_t* const strides = operand.strides;
  const auto width = static_cast<cuuint64_t>(operand.width);
  const auto length = static_cast<cuuint64_t>(operand.length);
  const cuuint64_t step = bytes(strides[2], operand.length);
  const cuuint64_t heads = repeated(strides[1], operand.heads);
  const cuuint64_t head_step = bytes(strides[1], operand.heads);
  constexpr cuuint64_t kFar = hopper::kFar;
  const cuuint64_t dense[5] = {width, length, 1, heads, repeated(strides[0], operand.batch)};
  const cuuint64_t dense_steps[4] = {step, step, head_step, bytes(strides[0], operand.batch)};
  const cuuint64_t packed[5] = {width, kFar, length + 1, kFar + 1, heads};
  const cuuint64_t packed_steps[4] = {step, step, (cuuint64_t{1} << 34) - step, head_step};
  const cuuint32_t box[5] = {64, static_cast<cuuint32_t>(rows), 1, 1, 1};
  const cuuint32_t every[5] = {1, 1, 1, 1, 1};
  return encode(map,
                type == DataType::kFloat16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                                           : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
                5, const_cast<void*>(operand.data), ends ? packed : dense,
                ends ? packed_steps : dense_steps, box, every, CU_TENSOR_MAP_INTERLEAVE_NONE,
                CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

// --- the choice ----------------------------------------------------------------------------------

bool has_band(const AttentionParameters& p) {
  return p.causal != CausalAlignment::kNone || p.window_left >= 0 || p.window_right >= 0;
}

std::int64_t tiles_of_head(const AttentionParameters& p, int rows) {
  // Each packed sequence may end in a tile that is not full, and so may what lies around them.
  const bool packed = p.cu_query != nullptr;
  return packed ? p.query_length / rows + p.sequences + 2 : ceil_div(p.query_length, rows);
}

// Whether rows of keys or values begin elsewhere than at multiples of what memory moves at once.
bool ragged(const Attention& problem) {
  constexpr std::int64_t kSector = 32 / kItem;
  const auto off = [](std::int64_t stride, std::int64_t size) {
    return size > 1 && stride % kSector != 0;
  };
  return off(problem.key_strides[1], problem.key_heads) ||
         off(problem.key_strides[2], problem.key_length) ||
         off(problem.value_strides[1], problem.key_heads) ||
         off(problem.value_strides[2], problem.key_length);
}

// Of the instances of the first width that holds a head, the one that takes least: a multiprocessor
// computes one tile after the other, and most of them the same number.
const Instance* instance_of(const Attention& problem, const AttentionParameters& p,
                            const Device& device) {
  const bool half = problem.type == DataType::kFloat16;
  const auto& instances = half ? hopper::half_instances() : hopper::bfloat16_instances();
  const std::int64_t width = std::max(problem.head_dim, problem.value_dim);
  const std::int64_t heads = problem.query_heads * (p.cu_query != nullptr ? 1 : problem.batch);
  constexpr double kTileTime = 1.3;
  const Instance* best = nullptr;
  double least = 0.0;
  for (const Instance& instance : instances) {
    if (width > instance.width || (best != nullptr && instance.width > best->width)) continue;
    const double block = ragged(problem) ? instance.ragged_time : instance.block_time;
    const auto blocks = static_cast<double>(ceil_div(problem.key_length, instance.keys));
    const auto rounds = static_cast<double>(
        ceil_div(tiles_of_head(p, instance.rows) * heads, device.multiprocessors));
    const double time = rounds * (blocks * block + kTileTime);
    if (best == nullptr || time < least) best = &instance, least = time;
  }
  return best;
}

// Compute capability 9.0, asked once for each device and thread.
bool is_hopper(std::int32_t device_id) {
  thread_local std::array<signed char, kMaxDevices> known = {};
  signed char& answer = known[static_cast<std::size_t>(device_id % kMaxDevices)];
  if (answer == 0) {
    int major = 0, minor = 0;
    if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device_id) !=
            cudaSuccess ||
        cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device_id) !=
            cudaSuccess) {
      cudaGetLastError();
      return false;
    }
    answer = major == 9 && minor == 0 ? 1 : -1;
  }
  return answer == 1;
}

// --- the launch ----------------------------------------------------------------------------------

// Heads whose keys and values stay in the cache together while their tiles are computed.
std::int64_t section_heads(const Attention& problem) {
  constexpr std::int64_t kCacheBytes = 24 << 20;
  const std::int64_t bytes = problem.key_length * (problem.head_dim + problem.value_dim) * kItem;
  return std::max<std::int64_t>(kCacheBytes / bytes, 1) * (problem.query_heads / problem.key_heads);
}

// False where tiles are too many to count.
bool arrange_tiles(HopperParameters* h, const Attention& problem, const Instance& instance,
                   const Device& device, unsigned* blocks) {
  const AttentionParameters& p = h->problem;
  const bool packed = p.cu_query != nullptr;
  const std::int64_t in_head = tiles_of_head(p, instance.rows);
  const std::int64_t heads = packed ? problem.query_heads : problem.query_heads * problem.batch;
  if (in_head * heads > std::int64_t{1} << 30) return false;
  h->tiles = static_cast<int>(in_head * heads);
  h->longest_first = has_band(p) && !packed;
  const std::int64_t section = std::min(section_heads(problem), heads);
  const std::int64_t sections = ceil_div(heads, section);
  h->sections = static_cast<int>(sections);
  const auto divisor = [](std::int64_t n) { return divisor_of(static_cast<std::uint32_t>(n)); };
  h->tiles_of_head = divisor(in_head);
  h->heads = divisor(problem.query_heads);
  h->heads_per_key = divisor(problem.query_heads / problem.key_heads);
  h->section = divisor(section);
  h->last_section = divisor(heads - (sections - 1) * section);
  h->tiles_of_section = divisor(section * in_head);
  *blocks = static_cast<unsigned>(std::min(h->tiles, device.multiprocessors));
  h->rounds = static_cast<int>(ceil_div(h->tiles, *blocks));
  return true;
}

bool make_maps(HopperParameters* h, const Attention& problem, const Instance& instance) {
  const bool packed = h->problem.cu_query != nullptr;
  const Operand query = query_of(problem, packed), key = key_of(problem, packed);
  const Operand value = value_of(problem, packed);
  const auto grows = [](std::int64_t stride) { return stride != 0 ? 1 : 0; };
  h->query_head = grows(query.strides[1]), h->query_batch = grows(query.strides[0]);
  h->key_head = grows(key.strides[1]), h->key_batch = grows(key.strides[0]);
  h->value_head = grows(value.strides[1]), h->value_batch = grows(value.strides[0]);
  return make_map(&h->query_map, query, problem.type, instance.rows, false) &&
         make_map(&h->key_map, key, problem.type, instance.keys, packed) &&
         make_map(&h->value_map, value, problem.type, instance.keys, packed);
}

}  // namespace

bool hopper_supports(const Attention& problem, bool packed, std::int32_t device_id) {
  const bool half = problem.type == DataType::kFloat16 || problem.type == DataType::kBFloat16;
  return half && is_hopper(device_id) && attention_in_range(problem) && problem.mask == nullptr &&
         problem.alibi_slopes == nullptr && problem.softcap == 0.0F && problem.scale > 0.0F &&
         problem.key_length > 0 && problem.query_length > 0 && problem.value_dim > 0 &&
         std::max(problem.head_dim, problem.value_dim) <= 256 &&
         readable(query_of(problem, packed)) && readable(key_of(problem, packed)) &&
         readable(value_of(problem, packed)) && writable(problem, packed);
}

LaunchStatus hopper_launch(const Attention& problem, const AttentionParameters& parameters,
                           void* stream) {
  const Device* device = current_device();
  if (device == nullptr) return LaunchStatus::kFailed;
  const Instance* instance = instance_of(problem, parameters, *device);
  if (instance == nullptr) return LaunchStatus::kUnsupported;
  HopperParameters h = {};
  h.problem = parameters;
  h.factor = problem.scale * kLog2e;
  unsigned blocks = 0;
  if (!arrange_tiles(&h, problem, *instance, *device, &blocks) ||
      !make_maps(&h, problem, *instance) ||
      !allow_shared(reinterpret_cast<const void*>(instance->kernel),
                    static_cast<std::size_t>(instance->bytes))) {
    return LaunchStatus::kUnsupported;
  }
  return launch(instance->kernel, blocks, static_cast<unsigned>(instance->threads),
                static_cast<std::size_t>(instance->bytes), *device, stream, h);
}

bool attention_hopper_supports(const Attention& problem, std::int32_t device_id) {
  return hopper_supports(problem, false, device_id);
}

LaunchStatus attention_hopper(const Attention& problem, void* stream) {
  return hopper_launch(problem, attention_parameters(problem), stream);
}

}  // namespace mindiesd::kernels::cuda
