// mindiesd_attention and mindiesd_attention_varlen: checks, then the kernels of the device.

#include <cmath>
#include <cstddef>
#include <initializer_list>

#include "backends.h"
#include "device.h"

namespace mindiesd::runtime {
namespace {

using kernels::Attention;
using kernels::CausalAlignment;
using kernels::DataType;

Check expect_finite(double value, const char* name) {
  if (std::isfinite(value)) return {};
  return invalid(std::string(name) + " must be finite, but is " + std::to_string(value));
}

// Everything that the two forms share: types, devices, heads, scalars.
template <typename Args>
Check read_common(const Args& args, const View& query, const View& key, const View& value,
                  const View& output, int head_dimension, Attention* problem) {
  MINDIESD_RETURN_IF(expect_floating(query));
  for (const View* view : {&key, &value, &output}) {
    MINDIESD_RETURN_IF(expect_same_type(*view, query));
    MINDIESD_RETURN_IF(expect_same_device(*view, query));
  }
  for (const View* view : {&query, &key, &value, &output}) {
    MINDIESD_RETURN_IF(expect_dense_last(*view));
  }
  MINDIESD_RETURN_IF(expect_finite(args.scale, "scale"));
  MINDIESD_RETURN_IF(expect_finite(args.softcap, "softcap"));
  if (args.softcap < 0.0) {
    return invalid("softcap must be 0 (off) or positive, but is " + std::to_string(args.softcap));
  }
  if (args.causal < MINDIESD_CAUSAL_NONE || args.causal > MINDIESD_CAUSAL_BOTTOM_RIGHT) {
    return invalid("causal must be 0, 1 or 2, but is " + std::to_string(args.causal));
  }
  const std::int64_t query_heads = query.size(head_dimension);
  const std::int64_t key_heads = key.size(head_dimension);
  MINDIESD_RETURN_IF(expect_size(value, head_dimension, key_heads, "the heads of key,"));
  MINDIESD_RETURN_IF(expect_size(output, head_dimension, query_heads, "the heads of query,"));
  if (key_heads == 0 ? query_heads != 0 : query_heads % key_heads != 0) {
    return invalid("query's heads must be a multiple of key's, but query has " +
                   std::to_string(query_heads) + " and key has " + std::to_string(key_heads));
  }
  const int last = query.rank - 1;
  MINDIESD_RETURN_IF(expect_size(key, last, query.size(last), "query's head_dim,"));
  MINDIESD_RETURN_IF(expect_size(output, last, value.size(last), "value's head_dim,"));
  MINDIESD_RETURN_IF(expect_no_overlap(output));
  for (const View* view : {&query, &key, &value}) {
    MINDIESD_RETURN_IF(expect_no_overlap(output, *view, false));
  }

  problem->query_heads = query_heads;
  problem->key_heads = key_heads;
  problem->head_dim = query.size(last);
  problem->value_dim = value.size(last);
  problem->type = query.type;
  problem->query = query.data;
  problem->key = key.data;
  problem->value = value.data;
  problem->output = output.data;
  problem->scale = static_cast<float>(args.scale);
  problem->softcap = static_cast<float>(args.softcap);
  problem->causal = static_cast<CausalAlignment>(args.causal);
  // No length reaches 2^56 (read_view), so a wider window is no window; the bound keeps the
  // kernels' sums from overflowing.
  constexpr std::int64_t kWidest = std::int64_t{1} << 57;
  problem->window_left = args.window_left > kWidest ? -1 : args.window_left;
  problem->window_right = args.window_right > kWidest ? -1 : args.window_right;
  return {};
}

// alibi_slopes: float32 [heads] or [batch, heads].
Check read_slopes(const mindiesd_tensor* tensor, const View& query, const View& output,
                  std::int64_t batch, Attention* problem) {
  if (tensor == nullptr) return {};
  View slopes;
  MINDIESD_RETURN_IF(read_view(tensor, "alibi_slopes", &slopes));
  MINDIESD_RETURN_IF(expect_same_device(slopes, query));
  if (slopes.type != DataType::kFloat32) {
    return invalid("alibi_slopes must be float32, but is " + name_of(slopes.type));
  }
  const std::int64_t sizes[2] = {batch, problem->query_heads};
  MINDIESD_RETURN_IF(broadcast_to(&slopes, sizes, 2, "[batch, heads]"));
  MINDIESD_RETURN_IF(expect_no_overlap(output, slopes, false));
  problem->alibi_slopes = static_cast<const float*>(slopes.data);
  problem->alibi_strides[0] = slopes.stride(0);
  problem->alibi_strides[1] = slopes.stride(1);
  return {};
}

// lse: float32 [batch, heads, query], or [heads, query] of packed sequences.
Check read_lse(const mindiesd_tensor* tensor, std::initializer_list<const View*> operands,
               bool packed, Attention* problem) {
  if (tensor == nullptr) return {};
  View lse;
  MINDIESD_RETURN_IF(read_view(tensor, "lse", &lse));
  MINDIESD_RETURN_IF(expect_same_device(lse, **operands.begin()));
  if (lse.type != DataType::kFloat32) {
    return invalid("lse must be float32, but is " + name_of(lse.type));
  }
  const int before = packed ? 0 : 1;
  MINDIESD_RETURN_IF(
      expect_rank(lse, before + 2, packed ? "[heads, query]" : "[batch, heads, query]"));
  if (!packed) MINDIESD_RETURN_IF(expect_size(lse, 0, problem->batch, "batch"));
  MINDIESD_RETURN_IF(expect_size(lse, before, problem->query_heads, "the heads of query,"));
  MINDIESD_RETURN_IF(expect_size(lse, before + 1, problem->query_length, "query's length,"));
  MINDIESD_RETURN_IF(expect_no_overlap(lse));
  for (const View* operand : operands) {
    MINDIESD_RETURN_IF(expect_no_overlap(lse, *operand, false));
  }
  if (problem->value_dim == 0 && !lse.empty()) {
    return invalid("value's head_dim must not be 0 where lse is wanted");
  }
  problem->lse = static_cast<float*>(lse.data);
  for (int d = 0; d < lse.rank; ++d) problem->lse_strides[d + 1 - before] = lse.stride(d);
  return {};
}

// The whole description, checked; `output` comes back for its device and whether it is empty.
Check read_attention(const mindiesd_attention_args& args, Attention* described, View* result) {
  if (args.layout != MINDIESD_BSND && args.layout != MINDIESD_BNSD) {
    return invalid("layout must be 0 (BSND) or 1 (BNSD), but is " + std::to_string(args.layout));
  }
  const bool head_first = args.layout == MINDIESD_BNSD;
  const char* dimensions =
      head_first ? "[batch, heads, sequence, head_dim]" : "[batch, sequence, heads, head_dim]";
  const int sequence = head_first ? 2 : 1;
  const int head = head_first ? 1 : 2;

  View query, key, value;
  View& output = *result;
  Attention& problem = *described;
  MINDIESD_RETURN_IF(read_view(args.query, "query", &query));
  MINDIESD_RETURN_IF(read_view(args.key, "key", &key));
  MINDIESD_RETURN_IF(read_view(args.value, "value", &value));
  MINDIESD_RETURN_IF(read_view(args.output, "output", &output));
  for (const View* view : {&query, &key, &value, &output}) {
    MINDIESD_RETURN_IF(expect_rank(*view, 4, dimensions));
  }
  MINDIESD_RETURN_IF(read_common(args, query, key, value, output, head, &problem));

  problem.batch = query.size(0);
  problem.query_length = query.size(sequence);
  problem.key_length = key.size(sequence);
  for (View* view : {&key, &value}) {
    if (view->size(0) == 1) view->strides[0] = 0;
    if (view->size(0) != 1) MINDIESD_RETURN_IF(expect_size(*view, 0, problem.batch, "batch"));
  }
  MINDIESD_RETURN_IF(expect_size(output, 0, problem.batch, "batch"));
  MINDIESD_RETURN_IF(expect_size(value, sequence, problem.key_length, "key's length,"));
  MINDIESD_RETURN_IF(expect_size(output, sequence, problem.query_length, "query's length,"));
  const int dims[3] = {0, head, sequence};
  for (int i = 0; i < 3; ++i) {
    problem.query_strides[i] = query.stride(dims[i]);
    problem.key_strides[i] = key.stride(dims[i]);
    problem.value_strides[i] = value.stride(dims[i]);
    problem.output_strides[i] = output.stride(dims[i]);
  }

  if (args.mask != nullptr) {
    View mask;
    MINDIESD_RETURN_IF(read_view(args.mask, "mask", &mask));
    MINDIESD_RETURN_IF(expect_same_device(mask, query));
    if (mask.type != DataType::kBool) MINDIESD_RETURN_IF(expect_floating(mask));
    const std::int64_t sizes[4] = {problem.batch, problem.query_heads, problem.query_length,
                                   problem.key_length};
    MINDIESD_RETURN_IF(broadcast_to(&mask, sizes, 4, "[batch, heads, query, key]"));
    MINDIESD_RETURN_IF(expect_no_overlap(output, mask, false));
    problem.mask = mask.data;
    problem.mask_type = mask.type;
    for (int d = 0; d < 4; ++d) problem.mask_strides[d] = mask.stride(d);
  }
  MINDIESD_RETURN_IF(read_slopes(args.alibi_slopes, query, output, problem.batch, &problem));
  return read_lse(args.lse, {&query, &key, &value, &output}, false, &problem);
}

Check read_attention_args(const void* raw, mindiesd_attention_args* args) {
  return read_args(raw, offsetof(mindiesd_attention_args, backend), sizeof(*args), args);
}

Check expect_backend(const View& output, std::int32_t wanted) {
  const auto count = static_cast<std::int32_t>(attention_backends(output.device_type).size());
  if (wanted >= 0 && wanted <= count) return {};
  return invalid("backend must lie in 0 to " + std::to_string(count) + ", but is " +
                 std::to_string(wanted));
}

// Calls `use` for the back end that was asked for, or for one after the other that computes the
// problem, until it gives true; whether one did.
template <typename Use>
bool try_backends(const Attention& problem, const View& output, std::int32_t wanted,
                  const Use& use) {
  const auto backends = attention_backends(output.device_type);
  for (std::size_t i = 0; i < backends.size(); ++i) {
    if (wanted != 0 && wanted != static_cast<std::int32_t>(i) + 1) continue;
    if (backends[i].supports(problem, output.device_id) && use(backends[i])) return true;
  }
  return false;
}

Check attention(const void* raw) {
  mindiesd_attention_args args;
  MINDIESD_RETURN_IF(read_attention_args(raw, &args));
  Attention problem;
  View output;
  MINDIESD_RETURN_IF(read_attention(args, &problem, &output));
  const DeviceKernels* device = nullptr;
  MINDIESD_RETURN_IF(find_kernels(output, &device));
  MINDIESD_RETURN_IF(expect_backend(output, args.backend));
  if (output.empty()) return {};
  const OnDevice current(*device, output.device_id);
  kernels::LaunchStatus status = kernels::LaunchStatus::kUnsupported;
  try_backends(problem, output, args.backend, [&](const AttentionBackend& backend) {
    status = backend.launch(problem, args.stream);
    return status != kernels::LaunchStatus::kUnsupported;
  });
  return check_launch(*device, status);
}

// Succeeds where the back end computes the problem; MINDIESD_UNSUPPORTED where it does not.
Check attention_supported(const void* raw) {
  mindiesd_attention_args args;
  MINDIESD_RETURN_IF(read_attention_args(raw, &args));
  Attention problem;
  View output;
  MINDIESD_RETURN_IF(read_attention(args, &problem, &output));
  MINDIESD_RETURN_IF(expect_backend(output, args.backend));
  const bool found =
      try_backends(problem, output, args.backend, [](const AttentionBackend&) { return true; });
  if (found) return {};
  return Failure{MINDIESD_UNSUPPORTED, "the back end does not compute this problem"};
}

std::int64_t entry(const View& cu_seqlens, std::int64_t index) {
  return cu_seqlens.type == DataType::kInt64
             ? static_cast<const std::int64_t*>(cu_seqlens.data)[index]
             : static_cast<const std::int32_t*>(cu_seqlens.data)[index];
}

Check read_cu_seqlens(const mindiesd_tensor* tensor, const char* name, const View& query,
                      std::int64_t tokens, View* view) {
  MINDIESD_RETURN_IF(read_view(tensor, name, view));
  MINDIESD_RETURN_IF(expect_rank(*view, 1, "[sequences + 1]"));
  MINDIESD_RETURN_IF(expect_same_device(*view, query));
  const std::string label = name;
  if (view->type != DataType::kInt32 && view->type != DataType::kInt64) {
    return invalid(label + " must be int32 or int64, but is " + name_of(view->type));
  }
  if (view->size(0) == 0) return invalid(label + " must have at least one entry, but is empty");
  MINDIESD_RETURN_IF(expect_dense_last(*view));
  if (view->device_type != MINDIESD_CPU) return {};  // values of a device are not read here
  std::int64_t previous = 0;
  for (std::int64_t i = 0; i < view->size(0); ++i) {
    const std::int64_t value = entry(*view, i);
    if (value < previous || value > tokens) {
      return invalid(label + " must not decrease and must lie in 0 to " + std::to_string(tokens) +
                     ", the number of tokens, but entry " + std::to_string(i) + " is " +
                     std::to_string(value) +
                     (value < previous && i > 0 ? " after " + std::to_string(previous) : ""));
    }
    previous = value;
  }
  return {};
}

Check attention_varlen(const void* raw) {
  mindiesd_attention_varlen_args args;
  MINDIESD_RETURN_IF(
      read_args(raw, offsetof(mindiesd_attention_varlen_args, lse), sizeof(args), &args));
  View query, key, value, output;
  MINDIESD_RETURN_IF(read_view(args.query, "query", &query));
  MINDIESD_RETURN_IF(read_view(args.key, "key", &key));
  MINDIESD_RETURN_IF(read_view(args.value, "value", &value));
  MINDIESD_RETURN_IF(read_view(args.output, "output", &output));
  for (const View* view : {&query, &key, &value, &output}) {
    MINDIESD_RETURN_IF(expect_rank(*view, 3, "[tokens, heads, head_dim]"));
  }
  kernels::VarlenAttention varlen;
  Attention& problem = varlen.problem;
  MINDIESD_RETURN_IF(read_common(args, query, key, value, output, 1, &problem));
  MINDIESD_RETURN_IF(expect_size(value, 0, key.size(0), "key's tokens,"));
  MINDIESD_RETURN_IF(expect_size(output, 0, query.size(0), "query's tokens,"));
  problem.query_length = query.size(0);
  problem.key_length = key.size(0);
  const int dims[3] = {0, 1, 0};
  for (int i = 1; i < 3; ++i) {
    problem.query_strides[i] = query.stride(dims[i]);
    problem.key_strides[i] = key.stride(dims[i]);
    problem.value_strides[i] = value.stride(dims[i]);
    problem.output_strides[i] = output.stride(dims[i]);
  }

  View cu_query, cu_key;
  MINDIESD_RETURN_IF(read_cu_seqlens(args.cu_seqlens_query, "cu_seqlens_q", query,
                                     problem.query_length, &cu_query));
  MINDIESD_RETURN_IF(
      read_cu_seqlens(args.cu_seqlens_key, "cu_seqlens_k", query, problem.key_length, &cu_key));
  MINDIESD_RETURN_IF(expect_same_type(cu_key, cu_query));
  MINDIESD_RETURN_IF(expect_size(cu_key, 0, cu_query.size(0), "the length of cu_seqlens_q,"));
  varlen.sequences = cu_query.size(0) - 1;
  varlen.cu_seqlens_query = cu_query.data;
  varlen.cu_seqlens_key = cu_key.data;
  varlen.cu_seqlens_type = cu_query.type;
  MINDIESD_RETURN_IF(read_slopes(args.alibi_slopes, query, output, varlen.sequences, &problem));
  MINDIESD_RETURN_IF(read_lse(args.lse, {&query, &key, &value, &output}, true, &problem));

  return launch(output, &DeviceKernels::attention_varlen, varlen, args.stream);
}

}  // namespace
}  // namespace mindiesd::runtime

extern "C" {

mindiesd_status mindiesd_attention(const mindiesd_attention_args* args) {
  return mindiesd::runtime::guarded(mindiesd::runtime::attention, args);
}

const char* mindiesd_attention_backend_name(int32_t device_type, int32_t backend) {
  const auto backends = mindiesd::runtime::attention_backends(device_type);
  if (backend < 1 || backend > static_cast<int32_t>(backends.size())) return nullptr;
  return backends[static_cast<std::size_t>(backend) - 1].name;
}

int32_t mindiesd_attention_supported(const mindiesd_attention_args* args) {
  const mindiesd_status status =
      mindiesd::runtime::guarded(mindiesd::runtime::attention_supported, args);
  return status == MINDIESD_OK ? 1 : status == MINDIESD_UNSUPPORTED ? 0 : -1;
}

mindiesd_status mindiesd_attention_varlen(const mindiesd_attention_varlen_args* args) {
  return mindiesd::runtime::guarded(mindiesd::runtime::attention_varlen, args);
}

}  // extern "C"
