// Rotary embedding: see mindiesd/functional.h.

#ifndef MINDIESD_FUNCTIONAL_ROTARY_H_
#define MINDIESD_FUNCTIONAL_ROTARY_H_

#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>

#include <cstdint>
#include <string_view>

#include "mindiesd/functional/internal.h"

namespace mindiesd {

namespace functional_internal {

// A pair (a, b) turns into (-b, a). Of an odd width the first half is the larger with `chunks`, and
// the smaller otherwise.
inline at::Tensor rotated(const at::Tensor& x, bool interleaved, bool chunks) {
  if (interleaved) {
    const at::Tensor pairs = x.unflatten(-1, {-1, 2});
    return at::stack({-pairs.select(-1, 1), pairs.select(-1, 0)}, -1).flatten(-2);
  }
  const std::int64_t first = (x.size(-1) + (chunks ? 1 : 0)) / 2;
  return at::cat({-x.narrow(-1, first, x.size(-1) - first), x.narrow(-1, 0, first)}, -1);
}

}  // namespace functional_internal

namespace ext {

struct RotaryArguments {
  // Or "rotated_interleaved"; "rotated_chunks": halves as chunk(2, -1) divides an odd D.
  std::string_view rotated_mode = "rotated_half";
  std::string_view result_type = "input";  // or "promoted", "float32"
  std::string_view strides = "x";          // or "cos", "sin", "dense"
};

// x * cos + rotate(x) * sin along the last dimension D of x [..., D]; cos and sin broadcast against
// x, and may have D/2 columns, one for each pair. "promoted": in the type of x, cos and sin
// together; else in float32, rounded once. `strides` says what stands first in the expression that
// this call replaces, whose order of strides its result has; "dense": parts that are joined.
inline at::Tensor rotary_position_embedding(const at::Tensor& x, const at::Tensor& cos,
                                            const at::Tensor& sin,
                                            const RotaryArguments& arguments = {}) {
  namespace in = functional_internal;
  const bool interleaved = arguments.rotated_mode == "rotated_interleaved";
  const bool chunks = arguments.rotated_mode == "rotated_chunks";
  TORCH_CHECK(interleaved || chunks || arguments.rotated_mode == "rotated_half",
              "mindiesd: rotated_mode must be \"rotated_half\", \"rotated_interleaved\" or "
              "\"rotated_chunks\"");
  const at::ScalarType together =
      at::promote_types(at::promote_types(x.scalar_type(), cos.scalar_type()), sin.scalar_type());
  const bool promoted = arguments.result_type == "promoted";
  TORCH_CHECK(promoted || arguments.result_type == "input" || arguments.result_type == "float32",
              "mindiesd: result_type must be \"input\", \"promoted\" or \"float32\"");
  const at::ScalarType type = promoted                           ? together
                              : arguments.result_type == "input" ? x.scalar_type()
                                                                 : at::kFloat;
  const std::string_view first = arguments.strides;
  TORCH_CHECK(first == "x" || first == "cos" || first == "sin" || first == "dense",
              "mindiesd: strides must be \"x\", \"cos\", \"sin\" or \"dense\"");
  const auto fits = [&](const at::Tensor& table) {
    return in::has_kernel(table) && table.device() == x.device() && table.dim() > 0 &&
           table.size(-1) == cos.size(-1) &&
           (table.size(-1) == x.size(-1) || 2 * table.size(-1) == x.size(-1)) &&
           at::is_expandable_to(table.sizes().slice(0, table.dim() - 1),
                                x.sizes().slice(0, x.dim() - 1));
  };
  const bool direct = in::has_kernel(x) && in::has_kernel(type) && x.dim() > 0 &&
                      x.size(-1) % 2 == 0 && (first == "x" || first == "dense") && fits(cos) &&
                      fits(sin);
  if (!direct) {
    const at::Tensor wide = promoted ? x : x.to(at::promote_types(x.scalar_type(), at::kFloat));
    const auto full = [&](const at::Tensor& table) {
      if (table.size(-1) == x.size(-1) || table.size(-1) == 1) return table;
      return interleaved ? table.repeat_interleave(2, -1) : at::cat({table, table}, -1);
    };
    const at::Tensor c = full(cos), s = full(sin), turned = in::rotated(wide, interleaved, chunks);
    if (first == "sin") return (s * turned + c * wide).to(type);
    const at::Tensor result = (first == "cos" ? c * wide : wide * c) + turned * s;
    return (first == "dense" ? result.contiguous() : result).to(type);
  }
  const at::Tensor output =
      first == "dense" ? at::empty_like(x, x.options().dtype(type), at::MemoryFormat::Contiguous)
                       : at::empty_like(x, x.options().dtype(type));
  torch::internal::check(mindiesd::rotary_position_embedding(
      torch::internal::view_of(x, "x"), torch::internal::view_of(cos, "cos"),
      torch::internal::view_of(sin, "sin"), torch::internal::view_of(output, "output"),
      interleaved ? Rotation::kInterleaved : Rotation::kHalf, torch::internal::stream_of(x)));
  return output;
}

}  // namespace ext

}  // namespace mindiesd

#endif  // MINDIESD_FUNCTIONAL_ROTARY_H_
