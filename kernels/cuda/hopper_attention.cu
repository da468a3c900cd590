// Which instance of hopper_attention.cuh computes a problem, the maps of its operands for the copy
// engine, and its launch. Entry points: attention_hopper_supports, attention_hopper (launch.h),
// hopper_supports, hopper_launch.

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>

#include "kernels/cuda/attention_host.h"
#include "kernels/cuda/hopper_instances.h"
#include "kernels/cuda/hopper_maps.h"
#include "kernels/cuda/host.h"
#include "kernels/cuda/mask_rows.h"
#include "kernels/cuda/memory.h"

namespace mindiesd::kernels::cuda {
namespace {

using hopper::HopperParameters;
using hopper::Instance;
using hopper::Masking;
using hopper::Operand;

constexpr std::int64_t kItem = 2;  // bytes of a value

// --- operands ------------------------------------------------------------------------------------

// As the copy engine sees them; packed sequences have no batch.
struct Operands {
  Operand query, key, value, output, mask;

  Operands(const Attention& p, bool packed) {
    const std::int64_t batch = packed ? 1 : p.batch;
    query = {p.query, p.type, p.query_strides, batch, p.query_heads, p.query_length, p.head_dim};
    key = {p.key, p.type, p.key_strides, batch, p.key_heads, p.key_length, p.head_dim};
    value = {p.value, p.type, p.value_strides, batch, p.key_heads, p.key_length, p.value_dim};
    output = {p.output,      p.type,         p.output_strides, batch,
              p.query_heads, p.query_length, p.value_dim};
    mask = {p.mask,        p.mask_type,    p.mask_strides, batch,
            p.query_heads, p.query_length, p.key_length};
  }
};

Masking masking_of(const Attention& p) {
  if (p.mask == nullptr) return Masking::kNone;
  return p.mask_strides[2] == 0 || p.query_length == 1 ? Masking::kRow : Masking::kFull;
}

// Where a mask goes that the copy engine does not read, as those of windows of 7 by 7 or 14 by 14
// patches: to rows at multiples of 16 bytes.
struct MaskCopy {
  std::array<std::int64_t, 3> sizes, strides;  // of [batch, head, query], 1 where the mask repeats
  std::int64_t bytes;

  explicit MaskCopy(const Attention& p) {
    const std::int64_t item = bytes_of(p.mask_type);
    const std::int64_t full[] = {p.batch, p.query_heads, p.query_length};
    std::int64_t stride = ceil_div(p.key_length * item, 16) * 16 / item;
    for (int d = 2; d >= 0; --d) {
      const auto at = static_cast<std::size_t>(d);
      sizes[at] = p.mask_strides[d] == 0 ? 1 : full[d];
      strides[at] = stride;
      stride *= sizes[at];
    }
    bytes = stride * item;
  }
};

bool copies_mask(const Attention& p) {
  return masking_of(p) == Masking::kFull && std::max(p.head_dim, p.value_dim) <= hopper::kNarrow &&
         (p.mask_strides[3] != 1 || !reachable(Operands(p, false).mask));
}

// --- the choice ----------------------------------------------------------------------------------

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

const hopper::Instances& instances_of(DataType type) {
  const auto all = [](std::initializer_list<hopper::Instances> parts) {
    hopper::Instances out;
    for (const hopper::Instances& part : parts) out.insert(out.end(), part.begin(), part.end());
    return out;
  };
  static const hopper::Instances half = all(
      {hopper::half_instances(), hopper::half_masked_instances(), hopper::half_wide_instances()});
  static const hopper::Instances bfloat16 =
      all({hopper::bfloat16_instances(), hopper::bfloat16_masked_instances(),
           hopper::bfloat16_wide_instances()});
  return type == DataType::kFloat16 ? half : bfloat16;
}

bool reads(const Instance& instance, Masking masking) {
  return instance.masking == masking ||
         (instance.wide && instance.masking == Masking::kFull && masking == Masking::kRow);
}

// How many clusters of so many blocks the device runs at once, of which each takes a
// multiprocessor: not all of its multiprocessors have as many neighbours. Asked once for each
// device and thread.
std::int64_t clusters_at_once(int blocks, const Instance& instance, const Device& device) {
  if (blocks == 1) return device.multiprocessors;
  constexpr std::size_t kSizes = 4;  // 1, 2, 4, 8 blocks
  thread_local std::array<std::array<int, kSizes>, kMaxDevices> known = {};
  const auto size = static_cast<std::size_t>(blocks == 2 ? 1 : blocks == 4 ? 2 : 3);
  int id = 0;
  if (cudaGetDevice(&id) != cudaSuccess) return 0;
  int& count = known[static_cast<std::size_t>(id % kMaxDevices)][size];
  if (count != 0) return std::max(count, 0);
  cudaLaunchAttribute together = {};
  together.id = cudaLaunchAttributeClusterDimension;
  together.val.clusterDim.x = static_cast<unsigned>(blocks);
  together.val.clusterDim.y = together.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = static_cast<unsigned>(device.multiprocessors / blocks * blocks);
  config.blockDim = static_cast<unsigned>(instance.threads);
  config.dynamicSmemBytes = static_cast<std::size_t>(instance.bytes);
  config.attrs = &together;
  config.numAttrs = 1;
  const auto* const kernel = reinterpret_cast<const void*>(instance.kernel);
  if (!allow_shared(kernel, config.dynamicSmemBytes) ||
      cudaOccupancyMaxActiveClusters(&count, kernel, &config) != cudaSuccess || count == 0) {
    cudaGetLastError();
    count = -1;
  }
  return std::max(count, 0);
}

struct Choice {
  const Instance* instance = nullptr;
  int parts = 1;      // blocks of threads that share a tile's keys
  double time = 0.0;  // about, in microseconds
};

// A multiprocessor computes one tile after the other, and most of them the same number.
Choice alone(const Instance& instance, std::int64_t tiles, double blocks, double block_time,
             const Device& device) {
  constexpr double kTileTime = 1.3;
  const auto rounds = static_cast<double>(ceil_div(tiles, device.multiprocessors));
  return {&instance, 1, rounds * (blocks * block_time + kTileTime)};
}

// Where tiles are too few for the device, each is computed by several blocks of threads, with two
// blocks of keys at least.
Choice shared(const Instance& instance, std::int64_t tiles, std::int64_t blocks,
              const Device& device) {
  const double share_time = 1.0 + instance.width / 64.0;
  Choice best;
  for (const int parts : {1, 2, 4, 8}) {
    const std::int64_t at_once = clusters_at_once(parts, instance, device);
    if (at_once == 0 || (parts > 1 && blocks < 2 * parts)) break;
    const auto rounds = static_cast<double>(ceil_div(tiles, at_once));
    const auto most = static_cast<double>(ceil_div(blocks, parts));
    const double time = rounds * (most * instance.block_time + share_time);
    if (best.instance == nullptr || time < best.time) best = {&instance, parts, time};
  }
  return best;
}

// Of the instances of the first width that holds a head, and of those that share keys, the one that
// takes least. No instance: there is none.
Choice choose(const Attention& problem, const AttentionParameters& p, const Device& device) {
  const Masking masking = masking_of(problem);
  const bool packed = p.cu_query != nullptr, uneven = ragged(problem);
  const std::int64_t width = std::max(problem.head_dim, problem.value_dim);
  const std::int64_t heads = problem.query_heads * (packed ? 1 : problem.batch);
  Choice best;
  int own_width = 0;  // of those that do not share
  for (const Instance& instance : instances_of(problem.type)) {
    if (!reads(instance, masking) || width > instance.width || (instance.wide && packed)) continue;
    const std::int64_t tiles = tiles_of_head(p, instance.rows) * heads;
    const std::int64_t blocks = ceil_div(problem.key_length, instance.keys);
    Choice choice;
    if (instance.wide) {
      choice = shared(instance, tiles, blocks, device);
      if (width <= hopper::kNarrow && choice.parts == 1) continue;
    } else {
      if (own_width != 0 && instance.width > own_width) continue;
      own_width = instance.width;
      choice = alone(instance, tiles, static_cast<double>(blocks),
                     uneven ? instance.ragged_time : instance.block_time, device);
    }
    if (best.instance == nullptr || choice.time < best.time) best = choice;
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

// False where tiles are too many to count.
bool arrange_tiles(HopperParameters* h, const Attention& problem, const Instance& instance,
                   const Device& device, unsigned* blocks) {
  const AttentionParameters& p = h->problem;
  const bool packed = p.cu_query != nullptr;
  const std::int64_t tiles = tiles_of_head(p, instance.rows);
  const std::int64_t heads = packed ? problem.query_heads : problem.query_heads * problem.batch;
  if (tiles * heads > std::int64_t{1} << 30) return false;
  // Where pairs are too few for the device, tiles are more.
  h->paired = p.causal != CausalAlignment::kNone && !packed && !instance.wide &&
              ceil_div(tiles, 2) * heads >= device.multiprocessors;
  const std::int64_t units = h->paired ? ceil_div(tiles, 2) : tiles;
  const auto divisor = [](std::int64_t n) { return divisor_of(static_cast<std::uint32_t>(n)); };
  h->units = static_cast<int>(units * heads);
  h->tiles = static_cast<int>(tiles);
  h->units_of_head = divisor(units);
  h->heads = divisor(problem.query_heads);
  h->heads_per_key = divisor(problem.query_heads / problem.key_heads);
  *blocks = static_cast<unsigned>(std::min(h->units, device.multiprocessors));
  h->rounds = static_cast<int>(ceil_div(h->units, *blocks)) * (h->paired ? 2 : 1);
  return true;
}

bool make_maps(HopperParameters* h, const Attention& problem, const Instance& instance) {
  const bool packed = h->problem.cu_query != nullptr;
  const Operands o(problem, packed);
  const auto grows = [](const Operand& operand, int dimension) {
    return operand.strides[dimension] != 0 ? 1 : 0;
  };
  h->query_head = grows(o.query, 1), h->query_batch = grows(o.query, 0);
  h->key_head = grows(o.key, 1), h->key_batch = grows(o.key, 0);
  h->value_head = grows(o.value, 1), h->value_batch = grows(o.value, 0);
  h->mask_head = grows(o.mask, 1), h->mask_batch = grows(o.mask, 0);
  if (instance.masking == Masking::kFull && !instance.wide &&
      !make_map(&h->mask_map, o.mask, instance.rows)) {
    return false;
  }
  if (instance.wide) {
    const int value_rows = hopper::wide_value_rows(instance.width);
    h->value_pieces = o.value.width % 64 == 0;
    return make_map(&h->query_map, o.query, hopper::kWideRows) &&
           make_map(&h->key_map, o.key, hopper::kWideKeys) &&
           (h->value_pieces
                ? make_pieces_map(&h->value_map, o.value, value_rows, instance.width / 64)
                : make_map(&h->value_map, o.value, value_rows));
  }
  constexpr int kGroupRows = 64;
  const auto make = packed ? hopper::make_packed_map : hopper::make_map;
  return make_map(&h->query_map, o.query, instance.rows) &&
         make(&h->key_map, o.key, instance.keys) && make(&h->value_map, o.value, instance.keys) &&
         make(&h->output_map, o.output, kGroupRows);
}

// One query of heads that share keys, as decoding has them, is the same problem as one head with as
// many queries, and fills fewer tiles.
bool heads_are_queries(const Attention& p) {
  constexpr std::int64_t kFarthest = std::int64_t{1} << 32;  // rows lie no farther apart for maps
  const auto near = [](std::int64_t stride) { return stride > 0 && stride < kFarthest; };
  return p.query_length == 1 && p.query_heads > p.key_heads && near(p.query_strides[1]) &&
         near(p.output_strides[1]) && p.causal != CausalAlignment::kTopLeft && p.window_left < 0 &&
         p.window_right < 0 && (p.mask == nullptr || p.mask_strides[1] == 0);
}
Attention with_heads_as_queries(Attention p) {
  const std::int64_t group = p.query_heads / p.key_heads;
  p.query_heads = p.key_heads;
  p.query_length = group;
  p.causal = CausalAlignment::kNone;  // the one query saw every key
  for (std::int64_t* const strides : {p.query_strides, p.output_strides, p.lse_strides}) {
    strides[2] = strides[1];
    strides[1] *= group;
  }
  p.mask_strides[2] = 0;
  return p;
}

LaunchStatus launch_with_copied_mask(const Attention& problem, void* stream) {
  int device = 0;
  const cudaError_t error = cudaGetDevice(&device);
  if (error != cudaSuccess) return failed(error);
  const MaskCopy copy(problem);
  const Workspace memory(device, copy.bytes, static_cast<cudaStream_t>(stream));
  if (memory.error() != cudaSuccess) return failed(memory.error());
  const LaunchStatus status = copy_mask(problem, memory.get(), copy.sizes, copy.strides, stream);
  if (status != LaunchStatus::kOk) return status;
  Attention p = problem;
  p.mask = memory.get();
  for (std::size_t d = 0; d < 3; ++d) {
    p.mask_strides[d] = copy.sizes[d] == 1 ? 0 : copy.strides[d];
  }
  p.mask_strides[2] = copy.strides[2];  // still a mask of more than one row
  p.mask_strides[3] = 1;
  return hopper_launch(p, attention_parameters(p), stream);
}

}  // namespace

bool hopper_supports(const Attention& problem, bool packed, std::int32_t device_id) {
  const bool half = problem.type == DataType::kFloat16 || problem.type == DataType::kBFloat16;
  if (!half || !is_hopper(device_id) || !attention_in_range(problem)) return false;
  if (problem.alibi_slopes != nullptr || problem.softcap != 0.0F || !(problem.scale > 0.0F) ||
      problem.key_length == 0 || problem.query_length == 0 || problem.value_dim == 0 ||
      problem.head_dim % 8 != 0 || problem.value_dim % 8 != 0) {
    return false;
  }
  const Operands o(problem, packed);
  const std::int64_t width = std::max(problem.head_dim, problem.value_dim);
  const bool wide = width > hopper::kNarrow;
  if (wide && (packed || width > 512)) return false;
  constexpr std::int64_t kMostCopied = std::int64_t{1} << 28;  // bytes
  if (copies_mask(problem) && MaskCopy(problem).bytes > kMostCopied) return false;
  return reachable(o.query) && reachable(o.key) && reachable(o.value) && reachable(o.output);
}

LaunchStatus hopper_launch(const Attention& problem, const AttentionParameters& parameters,
                           void* stream) {
  if (parameters.cu_query == nullptr && copies_mask(problem)) {
    return launch_with_copied_mask(problem, stream);
  }
  if (parameters.cu_query == nullptr && heads_are_queries(problem)) {
    const Attention rows = with_heads_as_queries(problem);
    return hopper_launch(rows, attention_parameters(rows), stream);
  }
  const Device* device = current_device();
  if (device == nullptr) return LaunchStatus::kFailed;
  const Choice choice = choose(problem, parameters, *device);
  const Instance* const instance = choice.instance;
  if (instance == nullptr) return LaunchStatus::kUnsupported;
  HopperParameters h = {};
  h.problem = parameters;
  h.scale = problem.scale;
  // A floating mask is added to scores that were multiplied before.
  const bool added = problem.mask != nullptr && problem.mask_type != DataType::kBool;
  h.factor = (added ? 1.0F : problem.scale) * kLog2e;
  unsigned blocks = 0;
  if (!arrange_tiles(&h, problem, *instance, *device, &blocks) ||
      !make_maps(&h, problem, *instance) ||
      !allow_shared(reinterpret_cast<const void*>(instance->kernel),
                    static_cast<std::size_t>(instance->bytes))) {
    return LaunchStatus::kUnsupported;
  }
  const auto parts = static_cast<unsigned>(choice.parts);
  if (instance->wide) blocks = static_cast<unsigned>(h.units) * parts;
  return launch_clusters(instance->kernel, parts, blocks, static_cast<unsigned>(instance->threads),
                         static_cast<std::size_t>(instance->bytes), *device, stream, h);
}

bool attention_hopper_supports(const Attention& problem, std::int32_t device_id) {
  return hopper_supports(problem, false, device_id);
}

LaunchStatus attention_hopper(const Attention& problem, void* stream) {
  return hopper_launch(problem, attention_parameters(problem), stream);
}

}  // namespace mindiesd::kernels::cuda
