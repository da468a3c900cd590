// corpus/cpp_optional as it was and as `refit migrate` left it, in one program: with a mask and
// without one the outputs must be the same. Prints what differs; the exit status says whether
// anything did.

#define masked masked_before
#include "cpp_optional/before/masked.h"
#undef masked
#define masked masked_after
#include "cpp_optional/after/masked.h"
#undef masked

#include <cstdio>
#include <string>

#include "expected.h"

int main() {
  torch::NoGradGuard no_gradients;
  torch::manual_seed(23);
  const auto q = torch::randn({2, 3, 5, 16}), k = torch::randn({2, 3, 7, 16});
  const auto v = torch::randn({2, 3, 7, 16}), mask = torch::randn({2, 1, 5, 7});
  for (const bool given : {false, true}) {
    const auto held = [&] {
      return given ? std::optional<torch::Tensor>(mask.clone()) : std::nullopt;
    };
    const auto same = [&](const at::Tensor& found, const at::Tensor& wanted, const char* what) {
      expect_same(found, wanted, what + std::string(given ? " with a mask" : " without a mask"));
    };
    const auto both = [&](auto before, auto after, const char* what) {
      same(after(q, k, v, held()), before(q, k, v, held()), what);
    };
    both(masked_before::has_value, masked_after::has_value, "has_value");
    both(masked_before::condition, masked_after::condition, "a condition");
    both(masked_before::negated, masked_after::negated, "a negated condition");
    both(masked_before::defined_too, masked_after::defined_too, "defined, too");
    both(masked_before::compared, masked_after::compared, "a comparison");
    both(masked_before::of_a_variable, masked_after::of_a_variable, "a variable");
    both(masked_before::put_back, masked_after::put_back, "one put back");
    masked_before::Attention before(held());
    masked_after::Attention after(held());
    same(after.member(q, k, v), before.member(q, k, v), "a member");
    same(after.stored(q, k, v), before.stored(q, k, v), "a stored member");
    if (!given) continue;
    both(masked_before::another, masked_after::another, "another value");
    both(masked_before::by_reference, masked_after::by_reference, "a reference");
    same(masked_after::of_a_query(q, k, v), masked_before::of_a_query(q, k, v), "a query");
  }
  const std::optional<torch::Tensor> undefined = torch::Tensor();
  expect_same(masked_after::defined_too(q, k, v, undefined),
              masked_before::defined_too(q, k, v, undefined), "an undefined mask");
  if (g_wrong == 0) std::puts("all as expected");
  return g_wrong == 0 ? 0 : 1;
}
