// corpus/cpp_helpers as it was and as `refit migrate` left it, in one program: the same inputs must
// give the same outputs. Prints what differs; the exit status says whether anything did.

#define helpers helpers_before
#include "cpp_helpers/before/helpers.h"
#undef helpers
#define helpers helpers_after
#include "cpp_helpers/after/helpers.h"
#undef helpers

#include <cstdio>

#include "expected.h"

namespace before = helpers_before;
namespace after = helpers_after;

#define BOTH(function, ...) \
  expect_same(after::function(__VA_ARGS__), before::function(__VA_ARGS__), #function)

void check(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin) {
  BOTH(by_binding, x, cos, sin);
  BOTH(by_tie, x, cos, sin);
  BOTH(by_get, x, cos, sin);
  BOTH(by_lambda, x, cos, sin);
  const auto [q, k] = after::in_a_lambda(x, x + 1, cos, sin);
  const auto [old_q, old_k] = before::in_a_lambda(x, x + 1, cos, sin);
  expect_same(q, old_q, "q in a lambda");
  expect_same(k, old_k, "k in a lambda");
  BOTH(Rope().apply, x, cos, sin);
  BOTH(NamedRope().forward, x, cos, sin);
  BOTH(Turner().apply, x, cos, sin);
  BOTH(OtherTurner().apply, x, cos, sin);
  BOTH(OtherTurner().apply_twice, x, cos, sin);
  BOTH(Switched().apply, x, cos, sin);
  BOTH(lambda_that_holds, x, cos, sin);
  BOTH(lambda_that_refers, x, cos, sin);
  BOTH(lambda_that_counts, x, cos, sin);
  BOTH(lambda_of_another_build, x, cos, sin);
  BOTH(function_object, x, cos, sin);
  BOTH(tuple_of_references, x, cos, sin);
}

int main() {
  torch::NoGradGuard no_gradients;
  torch::manual_seed(17);
  const auto angles = torch::randn({4, 16});
  const auto x = torch::randn({2, 3, 4, 16});
  for (const auto type : {torch::kFloat32, torch::kFloat64}) {
    check(x.to(type), angles.cos().to(type), angles.sin().to(type));
  }
  check(x.to(torch::kBFloat16), angles.cos(), angles.sin());
  if (g_wrong == 0) std::puts("all as expected");
  return g_wrong == 0 ? 0 : 1;
}
