// corpus/cpp_options as it was and as `refit migrate` left it, in one program: the same inputs must
// give the same outputs. Prints what differs; the exit status says whether anything did.

#define with_options with_options_before
#include "cpp_options/before/options.h"
#undef with_options
#define with_options with_options_after
#include "cpp_options/after/options.h"
#undef with_options

#include <cstdio>

#include "expected.h"

namespace before = with_options_before;
namespace after = with_options_after;

#define BOTH(function, ...) \
  expect_same(after::function(__VA_ARGS__), before::function(__VA_ARGS__), #function)

int main() {
  torch::NoGradGuard no_gradients;
  torch::manual_seed(17);
  const auto drawn = [] { return torch::randn({2, 3, 5, 16}); };
  const auto q = drawn(), k = drawn(), v = drawn();
  BOTH(plain, q);
  BOTH(by_tanh, q);
  BOTH(set_twice, q);
  BOTH(held, q);
  BOTH(changed, q);
  BOTH(exchanged, q, false);
  BOTH(exchanged, q, true);
  BOTH(changed_by_a_function, q);
  BOTH(changed_by_a_lambda, q);
  BOTH(changed_through_a_reference, q);
  BOTH(changed_while_it_is_handed, q);
  BOTH(changed_in_another_build, q);
  BOTH(another_in_another_build, q);
  BOTH(longer_in_another_build, q);
  BOTH(handed_over, q, torch::nn::functional::GELUFuncOptions().approximate("tanh"));
  BOTH(attention, q, k, v);
  BOTH(attention_by_number, q, k, v);
  BOTH(attention_of_another_axis, q, k, v);
  BOTH(gated, q);
  BOTH(scaled_and_shifted, q, k, v);
  BOTH(in_float32, q, k, v);
  if (g_wrong == 0) std::puts("all as expected");
  return g_wrong == 0 ? 0 : 1;
}
