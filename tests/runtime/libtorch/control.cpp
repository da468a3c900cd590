// corpus/cpp_control as it was and as `refit migrate` left it, in one program: the same inputs must
// give the same outputs. Prints what differs; the exit status says whether anything did.

#define control control_before
#include "cpp_control/before/control.h"
#undef control
#define control control_after
#include "cpp_control/after/control.h"
#undef control

#include <cstdio>
#include <string>

#include "expected.h"

int main() {
  torch::NoGradGuard no_gradients;
  torch::manual_seed(17);
  const auto drawn = [] { return torch::randn({2, 3, 5, 16}); };
  const auto q = drawn(), k = drawn(), v = drawn();
  for (int64_t n = 0; n < 4; ++n) {
    const auto both = [&](auto before, auto after, const char* what) {
      expect_same(after(q, k, v, n), before(q, k, v, n),
                  what + std::string(" of ") + std::to_string(n));
    };
    both(control_before::in_each_round, control_after::in_each_round, "in each round");
    both(control_before::kept_for_the_next_round, control_after::kept_for_the_next_round, "kept");
    both(control_before::taken_out, control_after::taken_out, "taken out");
    both(control_before::in_the_head, control_after::in_the_head, "in the head");
    both(control_before::read_by_a_case, control_after::read_by_a_case, "read by a case");
    both(control_before::in_a_case, control_after::in_a_case, "in a case");
    both(control_before::in_a_handler, control_after::in_a_handler, "in a handler");
    both(control_before::with_a_name, control_after::with_a_name, "with a name");
  }
  expect_same(control_after::assigned_part(q, k, v), control_before::assigned_part(q, k, v),
              "an assigned part");
  expect_same(control_after::written_part(q, k, v), control_before::written_part(q, k, v),
              "a written part");
  if (g_wrong == 0) std::puts("all as expected");
  return g_wrong == 0 ? 0 : 1;
}
