// corpus/cpp_parts as it was and as `refit migrate` left it, in one program: the same inputs
// must give the same outputs. Prints what differs; the exit status says whether anything did.

#define parts parts_before
#include "cpp_parts/before/parts.h"
#undef parts
#define parts parts_after
#include "cpp_parts/after/parts.h"
#undef parts

#include <cstdio>

#include "expected.h"

namespace before = parts_before;
namespace after = parts_after;

#define BOTH(function, ...) \
  expect_same(after::function(__VA_ARGS__), before::function(__VA_ARGS__), #function)

void check(int64_t axis, const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin) {
  BOTH(by_index, x, cos, sin);
  BOTH(by_index_in_place, x, cos, sin);
  BOTH(by_slice, x, cos, sin);
  BOTH(by_narrow, x, cos, sin);
  BOTH(by_chunk, x, cos, sin);
  BOTH(by_split, x, cos, sin);
  BOTH(neighbours_by_step, x, cos, sin);
  BOTH(neighbours_by_slice, x, cos, sin);
  BOTH(neighbours_by_unbind, x, cos, sin);
  BOTH(neighbours_by_select, x, cos, sin);
  BOTH(by_tensor_split, x, cos, sin);
  BOTH(by_binding, x, cos, sin);
  BOTH(by_tie, x, cos, sin);
  BOTH(by_tie_and_read, x, cos, sin);
  BOTH(by_get, x, cos, sin);
  const auto half_cos = cos.slice(-1, 0, axis / 2), half_sin = sin.slice(-1, 0, axis / 2);
  BOTH(joined_halves, x, half_cos, half_sin);
  BOTH(joined_neighbours, x, half_cos, half_sin);
  BOTH(in_float32, x, half_cos, half_sin);
  BOTH(stored_part, x, cos, sin);
  BOTH(stored_first, x, cos, sin);
  BOTH(changed_by_reference, x, cos, sin);
  BOTH(changed_by_a_method, x, cos, sin);
  BOTH(part_of_what_is_assigned, x, cos, sin);
  BOTH(tied_references, x, cos, sin);
  BOTH(tied_in_a_lambda, x, cos, sin);
  BOTH(tied_in_a_loop, x, cos, sin);
  BOTH(in_another_build, x, cos, sin);
  BOTH(of_another_axis, x, cos, sin);
}

int main() {
  torch::NoGradGuard no_gradients;
  torch::manual_seed(17);
  const int64_t width = 16;
  const auto angles = torch::randn({4, width});
  const auto x = torch::randn({2, 3, 4, width});
  for (const auto type : {torch::kFloat32, torch::kFloat64}) {
    check(width, x.to(type), angles.cos().to(type), angles.sin().to(type));
  }
  check(width, x.to(torch::kBFloat16), angles.cos(), angles.sin());
  if (g_wrong == 0) std::puts("all as expected");
  return g_wrong == 0 ? 0 : 1;
}
