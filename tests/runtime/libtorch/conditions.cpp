// corpus/cpp_conditions as it was and as `refit migrate` left it, with and without a name that the
// build defines, in one program: each text must give in each build what the old text gives there.
// Prints what differs; the exit status says whether anything did.

#define conditions conditions_before
#include "cpp_conditions/before/conditions.h"
#undef conditions
#define conditions conditions_after
#include "cpp_conditions/after/conditions.h"
#undef conditions
#define conditions conditions_after_fused
#include "cpp_conditions/after.fused/conditions.h"
#undef conditions

#define WITH_FUSED
#define conditions fused_before
#include "cpp_conditions/before/conditions.h"
#undef conditions
#define conditions fused_after
#include "cpp_conditions/after/conditions.h"
#undef conditions
#define conditions fused_after_fused
#include "cpp_conditions/after.fused/conditions.h"
#undef conditions

#include <cstdio>
#include <string>

#include "expected.h"

#define BOTH(function, ...)                                                                        \
  do {                                                                                             \
    expect_same(conditions_after::function(__VA_ARGS__), conditions_before::function(__VA_ARGS__), \
                #function);                                                                        \
    expect_same(conditions_after_fused::function(__VA_ARGS__),                                     \
                conditions_before::function(__VA_ARGS__), #function " for fused");                 \
    expect_same(fused_after::function(__VA_ARGS__), fused_before::function(__VA_ARGS__),           \
                "fused " #function);                                                               \
    expect_same(fused_after_fused::function(__VA_ARGS__), fused_before::function(__VA_ARGS__),     \
                "fused " #function " for fused");                                                  \
  } while (false)

int main() {
  torch::NoGradGuard no_gradients;
  torch::manual_seed(17);
  const auto drawn = [] { return torch::randn({2, 3, 5, 16}); };
  const auto q = drawn(), k = drawn(), v = drawn();
  BOTH(one_of_two, q, k, v);
  BOTH(one_of_three, q);
  BOTH(beside, q);
  BOTH(scaled, q, k, v);
  BOTH(read_elsewhere, q, k, v);
  BOTH(rotated, q, k, v);
  BOTH(swapped, q, k, v);
  BOTH(Block().forward, q, k, v);
  if (g_wrong == 0) std::puts("all as expected");
  return g_wrong == 0 ? 0 : 1;
}
