// Attention by cuDNN, where a process has it. Entry points: attention_cudnn_supports,
// attention_cudnn.
//
// A plan (cudnn_graph.h) takes up to seconds to make, so plans are kept for as long as the process
// lives, refusals too; a handle belongs to one thread. Masks are handed over as what is added to
// the scores: one that cuDNN cannot read where it lies, boolean ones above all, is copied first.
// What cuDNN gives for a query that sees no key is no zero, so such rows are written afterwards.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/cuda/cudnn_graph.h"
#include "kernels/cuda/host.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/mask_rows.h"
#include "kernels/cuda/memory.h"

namespace mindiesd::kernels::cuda {
namespace {

using cudnn::api;
using cudnn::Bias;
using cudnn::Four;
using cudnn::Handle;
using cudnn::Plan;

// --- masks ---------------------------------------------------------------------------------------

// The bias that cuDNN gets for a mask.
struct BiasPlace {
  Bias bias;
  bool copied = false;
  std::int64_t bytes = 0;  // of the copy
};

BiasPlace bias_of(const Attention& p) {
  BiasPlace place;
  if (p.mask == nullptr) return place;
  Bias& bias = place.bias;
  bias.present = true;
  bias.type = p.mask_type == DataType::kBool ? p.type : p.mask_type;
  const Four full = {p.batch, p.query_heads, p.query_length, p.key_length};
  const std::int64_t vector = 16 / bytes_of(bias.type);
  bool readable = p.mask_type != DataType::kBool && p.mask_strides[3] == 1 &&
                  reinterpret_cast<std::uintptr_t>(p.mask) % 16 == 0;
  for (std::size_t d = 0; d < 4; ++d) {
    bias.sizes[d] = d < 3 && p.mask_strides[d] == 0 ? 1 : full[d];
    bias.strides[d] = p.mask_strides[d];
    if (d < 3 && bias.sizes[d] > 1) {
      readable = readable && bias.strides[d] > 0 && bias.strides[d] % vector == 0;
    }
  }
  const std::int64_t row = ceil_div(p.key_length, vector) * vector;
  place.copied = !readable;
  if (place.copied) {
    bias.strides = {bias.sizes[1] * bias.sizes[2] * row, bias.sizes[2] * row, row, 1};
    place.bytes = bias.sizes[0] * bias.strides[0] * bytes_of(bias.type);
  } else {
    // A dimension of one element has no step; cuDNN wants a number all the same.
    for (int d = 2; d >= 0; --d) {
      const auto at = static_cast<std::size_t>(d);
      if (bias.sizes[at] == 1) {
        bias.strides[at] = std::max(row, bias.strides[at + 1] * bias.sizes[at + 1]);
      }
    }
  }
  return place;
}

// --- plans ---------------------------------------------------------------------------------------

// What a plan depends on: device, type, sizes, strides, band, bias.
using Key = std::array<std::int64_t, 33>;

Key key_of(const Attention& p, const Band& band, const Bias& bias, int device) {
  Key key = {device,       static_cast<std::int64_t>(p.type),
             p.batch,      p.query_heads,
             p.key_heads,  p.query_length,
             p.key_length, p.head_dim,
             p.value_dim};
  for (std::size_t d = 0; d < 3; ++d) {
    key[9 + d] = p.query_strides[d];
    key[12 + d] = p.key_strides[d];
    key[15 + d] = p.value_strides[d];
    key[18 + d] = p.output_strides[d];
  }
  key[21] = band.after;
  key[32] = band.before;
  key[22] = bias.present ? 1 : 0;
  key[23] = bias.present ? static_cast<std::int64_t>(bias.type) : 0;
  for (std::size_t d = 0; d < 4; ++d) {
    key[24 + d] = bias.sizes[d];
    key[28 + d] = bias.strides[d];
  }
  return key;
}

// Plans of this process; they are never destroyed, for cuDNN may be gone when statics are. Null:
// cuDNN has no engine, or none was asked for yet and `make` forbids it.
std::shared_ptr<const Plan> plan_for(const Attention& problem, const Band& band, const Bias& bias,
                                     int device, Handle handle, bool make) {
  static std::mutex& mutex = *new std::mutex;
  static auto& plans = *new std::map<Key, std::shared_ptr<const Plan>>;
  const Key key = key_of(problem, band, bias, device);
  const std::lock_guard<std::mutex> lock(mutex);
  const auto known = plans.find(key);
  if (known != plans.end()) return known->second;
  if (!make) return nullptr;
  return plans.emplace(key, cudnn::make_plan(problem, band, bias, handle)).first->second;
}

// Null: there is none for this thread, and `make` forbids to make one or cuDNN refuses.
Handle handle_of(int device, bool make) {
  thread_local std::map<int, Handle> handles;
  Handle& handle = handles[device];
  if (handle == nullptr && make && api().create_handle(&handle) != 0) handle = nullptr;
  return handle;
}

bool aligned(const void* data, const std::int64_t (&strides)[3], const std::int64_t (&sizes)[3]) {
  if (reinterpret_cast<std::uintptr_t>(data) % 16 != 0) return false;
  for (int d = 0; d < 3; ++d) {
    if (sizes[d] > 1 && (strides[d] <= 0 || strides[d] % 8 != 0)) return false;
  }
  return true;
}

bool newer_than_ampere(int device_id) {
  int major = 0, minor = 0;
  if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device_id) != cudaSuccess ||
      cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device_id) != cudaSuccess) {
    cudaGetLastError();
    return false;
  }
  return major * 10 + minor >= 89;
}

bool execute(const Attention& p, const Band& band, const Plan& plan, Handle handle, void* bias,
             void* workspace, cudaStream_t stream) {
  float scale = p.scale, minus_infinity = -std::numeric_limits<float>::infinity();
  auto query_length = static_cast<std::int32_t>(p.query_length);
  auto key_length = static_cast<std::int32_t>(p.key_length);
  auto shift = static_cast<std::int32_t>(cudnn::last_key_of(p, band, p.mask != nullptr).shift);
  auto window = static_cast<float>(band.before + 1);  // for it is compared with "greater"
  const auto pointer = [&](std::int64_t id) -> void* {
    switch (id) {
      case cudnn::kQuery:
        return const_cast<void*>(p.query);
      case cudnn::kKey:
        return const_cast<void*>(p.key);
      case cudnn::kValue:
        return const_cast<void*>(p.value);
      case cudnn::kOutput:
        return p.output;
      case cudnn::kScale:
        return &scale;
      case cudnn::kBias:
        return bias;
      case cudnn::kAfterLast:
      case cudnn::kBeforeFirst:
        return &minus_infinity;
      case cudnn::kQueryLength:
        return &query_length;
      case cudnn::kKeyLength:
        return &key_length;
      case cudnn::kShift:
        return &shift;
      default:
        return &window;
    }
  };
  std::array<void*, cudnn::kWindow> pointers;
  std::transform(plan.ids.begin(), plan.ids.end(), pointers.begin(), pointer);
  const auto count = static_cast<std::int64_t>(plan.ids.size());
  cudnn::Described pack(cudnn::DescriptorType::kVariantPack);
  pack.set(cudnn::Attribute::kPackIds, cudnn::AttributeType::kInt64, plan.ids.data(), count);
  pack.set(cudnn::Attribute::kPackPointers, cudnn::AttributeType::kPointer, pointers.data(), count);
  pack.set(cudnn::Attribute::kPackWorkspace, cudnn::AttributeType::kPointer, &workspace);
  return pack.finalize() && api().set_stream(handle, stream) == 0 &&
         api().execute(handle, plan.described.get(), pack.get()) == 0;
}

// Every query has a key in the band, which is what cuDNN's engines want.
bool takes(const Attention& p, const Band& band) {
  if (band.ends() && band.after < 0) return false;
  if (!band.begins()) return true;
  // The first key's place is compared as a float.
  if (p.key_length > std::int64_t{1} << 24) return false;
  return p.query_length <= p.key_length && band.before + std::min(band.after, p.key_length) >= 0;
}

}  // namespace

bool attention_cudnn_supports(const Attention& p, std::int32_t device_id) {
  if (p.type == DataType::kFloat32 || p.alibi_slopes != nullptr) return false;
  if (p.softcap > 0.0F || p.lse != nullptr) return false;
  if (p.mask != nullptr) {
    // A narrower type than the operands' would be another rounding.
    if (p.mask_type != DataType::kBool && p.mask_type != p.type &&
        p.mask_type != DataType::kFloat32) {
      return false;
    }
    if (p.mask_strides[3] == 0 && p.key_length > 1) return false;
  }
  if (!takes(p, band_of(p))) return false;
  constexpr std::int64_t kLongest = std::int64_t{1} << 30;
  if (p.key_length < 1 || p.query_length > kLongest || p.key_length > kLongest) return false;
  if (p.head_dim % 8 != 0 || p.value_dim % 8 != 0) return false;
  if (p.head_dim < 8 || p.head_dim > 256 || p.value_dim < 8 || p.value_dim > 256) return false;
  if (!aligned(p.query, p.query_strides, {p.batch, p.query_heads, p.query_length}) ||
      !aligned(p.key, p.key_strides, {p.batch, p.key_heads, p.key_length}) ||
      !aligned(p.value, p.value_strides, {p.batch, p.key_heads, p.key_length}) ||
      !aligned(p.output, p.output_strides, {p.batch, p.query_heads, p.query_length})) {
    return false;
  }
  return newer_than_ampere(device_id) && api().usable;
}

LaunchStatus attention_cudnn(const Attention& p, void* stream) {
  int device = 0;
  const cudaError_t error = cudaGetDevice(&device);
  if (error != cudaSuccess) return failed(error);
  auto* const on = static_cast<cudaStream_t>(stream);
  const bool make = !capturing(on);
  const Handle handle = handle_of(device, make);
  if (handle == nullptr) return LaunchStatus::kUnsupported;
  const BiasPlace place = bias_of(p);
  const Band band = band_of(p);
  const std::shared_ptr<const Plan> plan = plan_for(p, band, place.bias, device, handle, make);
  if (plan == nullptr) return LaunchStatus::kUnsupported;

  const std::int64_t bias_bytes = ceil_div(place.bytes, 256) * 256;
  const Workspace memory(device, bias_bytes + plan->workspace, on);
  if (memory.error() != cudaSuccess) return failed(memory.error());
  void* bias = const_cast<void*>(p.mask);
  if (place.copied) {
    bias = memory.get();
    const LaunchStatus status =
        mask_as_bias(p, bias, place.bias.type, place.bias.sizes, place.bias.strides, stream);
    if (status != LaunchStatus::kOk) return status;
  }
  void* workspace = plan->workspace > 0 ? memory.get() + bias_bytes : nullptr;
  if (!execute(p, band, *plan, handle, bias, workspace, on)) return LaunchStatus::kUnsupported;
  return p.mask == nullptr ? LaunchStatus::kOk : mend_rows(p, place.bias.sizes, stream);
}

}  // namespace mindiesd::kernels::cuda
