// corpus/cpp_libtorch as it was and as `refit migrate` left it, in one program: the same weights
// and inputs must give the same outputs. Prints what differs; the exit status says whether anything
// did.

#define dit dit_before
#include "before/src/attention.cpp"
#undef dit
#undef DIT_ROTARY_H_
#define dit dit_after
#include "after/src/attention.cpp"
#undef dit

#include <cstdio>

#include "expected.h"

namespace {

void of_type(at::ScalarType type) {
  const auto x = torch::randn({2, 3, 5, 8}).to(type), cos = torch::randn({5, 8}).to(type);
  const auto sin = torch::randn({5, 8});
  // The original rounds each step to bfloat16.
  const double tolerance = type == torch::kBFloat16 ? 4e-2 : 1e-5;
  // A half-precision input beside a float32 table: the result is promoted.
  expect_same(dit_after::apply_rotary(x, cos, sin), dit_before::apply_rotary(x, cos, sin),
              "rotation", tolerance);
  if (type != torch::kDouble) {
    expect_same(dit_after::apply_rotary_precise(x, cos, sin).to(torch::kFloat),
                dit_before::apply_rotary_precise(x, cos, sin).to(torch::kFloat), "precise rotation",
                tolerance);
  }
  dit_before::RMSNormImpl before(8);
  dit_after::RMSNormImpl after(8);
  before.weight = after.weight = torch::randn({8});
  if (type != torch::kDouble) expect_same(after.forward(x), before.forward(x), "norm", tolerance);
}

// Heads that share a key head: torch has that with enable_gqa, which the migrated call need not
// say.
void shared_heads(at::ScalarType type) {
  const auto q = torch::randn({2, 6, 5, 8}).to(type), k = torch::randn({2, 2, 7, 8}).to(type);
  const auto v = torch::randn({2, 2, 7, 8}).to(type);
  const auto found = mindiesd::ext::attention_forward(q, k, v, {.head_first = true});
  const auto wanted =
      at::scaled_dot_product_attention(q, k.repeat_interleave(3, 1), v.repeat_interleave(3, 1));
  expect_same(found, wanted, "attention of shared key heads");
}

// Hidden scores that are one finite number: a row of it gives the mean of the values.
void rows_without_a_key(at::ScalarType type) {
  const auto q = torch::randn({2, 6, 5, 8}).to(type), k = torch::randn({2, 6, 7, 8}).to(type);
  const auto v = torch::randn({2, 6, 7, 8}).to(type);
  auto keep = torch::rand({2, 1, 5, 7}) > 0.5;
  keep.select(2, 3).fill_(false);
  const auto scores = torch::matmul(q, k.transpose(-2, -1)) * 0.25;
  const auto wanted = torch::matmul(torch::softmax(scores.masked_fill(~keep, -1e9), -1), v);
  const auto found = mindiesd::ext::attention_forward(
      q, k, v, {.attn_mask = keep, .scale = 0.25, .head_first = true, .without_key = "mean"});
  expect_same(found, wanted, "attention with rows that see no key");
  const auto by_places =
      mindiesd::ext::attention_forward(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2),
                                       {.attn_mask = keep, .scale = 0.25, .without_key = "mean"});
  expect_same(by_places.transpose(1, 2), wanted, "the same by places");
}

}  // namespace

int main() {
  const torch::NoGradGuard no_gradients;
  torch::manual_seed(20);
  for (at::ScalarType type : {torch::kFloat, torch::kBFloat16, torch::kDouble}) of_type(type);
  for (at::ScalarType type : {torch::kFloat, torch::kDouble}) {
    shared_heads(type);
    rows_without_a_key(type);
  }
  dit_before::Attention before(32, 4);
  dit_after::Attention after(32, 4);
  const auto from = before.named_parameters();
  for (auto& item : after.named_parameters()) {
    item.value().copy_(from[item.key()].add(0.1 * torch::randn_like(from[item.key()])));
    from[item.key()].copy_(item.value());
  }
  const auto hidden = torch::randn({2, 6, 32}), context = torch::randn({2, 9, 32});
  const auto cos = torch::randn({6, 8}), sin = torch::randn({6, 8});
  const auto mask = torch::rand({2, 1, 6, 9}) > 0.3;
  expect_same(after.forward(hidden, cos, sin), before.forward(hidden, cos, sin), "self-attention");
  expect_same(after.cross(hidden, context, mask), before.cross(hidden, context, mask),
              "cross-attention");
  if (g_wrong == 0) std::printf("all as expected\n");
  return g_wrong;
}
