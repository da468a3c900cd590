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

// Of the instances of the first width that holds a head, the one that takes least: a multiprocessor
// computes one tile after the other, and most of them the same number. Null: there is none.
const Instance* instance_of(const Attention& problem, const AttentionParameters& p,
                            const Device& device) {
  const Masking masking = masking_of(problem);
  const std::int64_t width = std::max(problem.head_dim, problem.value_dim);
  const std::int64_t heads = problem.query_heads * (p.cu_query != nullptr ? 1 : problem.batch);
  constexpr double kTileTime = 1.3;
  const Instance* best = nullptr;
  double least = 0.0;
  for (const Instance& instance : instances_of(problem.type)) {
    if (!reads(instance, masking) || width > instance.width ||
        (best != nullptr && instance.width > best->width)) {
      continue;
    }
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

// Where tiles are too few for the device, each is computed by as many blocks of threads as there is
// room for, up to the size of a cluster, with two blocks of keys at least.
unsigned parts_of_tile(const HopperParameters& h, const Attention& problem,
                       const Instance& instance, const Device& device) {
  constexpr unsigned kMost = 8;
  const std::int64_t blocks = ceil_div(problem.key_length, instance.keys);
  unsigned parts = 1;
  while (parts < kMost && std::int64_t{h.units} * parts * 2 <= device.multiprocessors &&
         blocks >= std::int64_t{parts} * 4) {
    parts *= 2;
  }
  return parts;
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
    h->value_pieces = o.value.width % 64 == 0;
    return make_map(&h->query_map, o.query, hopper::kWideRows) &&
           make_map(&h->key_map, o.key, hopper::kWideKeys) &&
           (h->value_pieces ? make_pieces_map(&h->value_map, o.value, hopper::kWideValueRows,
                                              instance.width / 64)
                            : make_map(&h->value_map, o.value, hopper::kWideValueRows));
  }
  constexpr int kGroupRows = 64;
  const auto make = packed ? hopper::make_packed_map : hopper::make_map;
  return make_map(&h->query_map, o.query, instance.rows) &&
         make(&h->key_map, o.key, instance.keys) && make(&h->value_map, o.value, instance.keys) &&
         make(&h->output_map, o.output, kGroupRows);
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
  const bool full_mask = masking_of(problem) == Masking::kFull;
  const std::int64_t width = std::max(problem.head_dim, problem.value_dim);
  const bool wide = width > 256;
  if (wide && (packed || width > 512)) return false;
  if (full_mask && !wide && (width > 128 || problem.mask_strides[3] != 1 || !reachable(o.mask))) {
    return false;
  }
  return reachable(o.query) && reachable(o.key) && reachable(o.value) && reachable(o.output);
}

LaunchStatus hopper_launch(const Attention& problem, const AttentionParameters& parameters,
                           void* stream) {
  const Device* device = current_device();
  if (device == nullptr) return LaunchStatus::kFailed;
  const Instance* instance = instance_of(problem, parameters, *device);
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
  unsigned parts = 1;
  if (instance->wide) {
    parts = parts_of_tile(h, problem, *instance, *device);
    blocks = static_cast<unsigned>(h.units) * parts;
  }
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
