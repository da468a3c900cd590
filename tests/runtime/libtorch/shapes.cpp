// The smaller folders of the corpus of C++ as they were and as `refit migrate` left them, in one
// program: the same weights and inputs must give the same outputs. Prints what differs; the exit
// status says whether anything did.

#include <torch/torch.h>

#define layers layers_before
#include "cpp_layers/before/layers.h"
#undef layers
#define layers layers_after
#include "cpp_layers/after/layers.h"
#undef layers
#define turned turned_before
#include "cpp_turned/before/turned.h"
#undef turned
#define turned turned_after
#include "cpp_turned/after/turned.h"
#undef turned
#define limits limits_before
#include "cpp_limits/before/limits.h"
#undef limits
#define limits limits_after
#include "cpp_limits/after/limits.h"
#undef limits
#define training training_before
#include "cpp_training/before/training.h"
#undef training
#define training training_after
#include "cpp_training/after/training.h"
#undef training
#define equations equations_before
#include "cpp_einsum/before/einsum.h"
#undef equations
#define equations equations_after
#include "cpp_einsum/after/einsum.h"
#undef equations
#define rope rope_before
#include "cpp_rope/before/rope.h"
#undef rope
#define rope rope_after
#include "cpp_rope/after/rope.h"
#undef rope
#define products products_before
#include "cpp_products/before/products.h"
#undef products
#define products products_after
#include "cpp_products/after/products.h"
#undef products
#define block block_before
#include "cpp_block/before/block.h"
#undef block
#define block block_after
#include "cpp_block/after/block.h"
#undef block

#include <cstdio>

#include "expected.h"

#define BOTH(space, function, ...)                                                         \
  expect_same(space##_after::function(__VA_ARGS__), space##_before::function(__VA_ARGS__), \
              #space ", " #function)

namespace {

torch::Tensor drawn(at::IntArrayRef sizes) { return torch::randn(sizes); }

// Gives two modules the same weights.
template <typename A, typename B>
void equip(A& after, B& before) {
  const auto from = before->named_parameters();
  for (auto& item : after->named_parameters()) item.value().copy_(from[item.key()]);
  after->eval();
  before->eval();
}

void check_layers() {
  layers_before::VisionAttention vision_before(16, 4, 0.3);
  layers_after::VisionAttention vision_after(16, 4, 0.3);
  equip(vision_after, vision_before);
  const auto image = drawn({2, 16, 5, 3});
  expect_same(vision_after->forward(image), vision_before->forward(image), "layers, vision");
  layers_before::FeedForward before(16, 24);
  layers_after::FeedForward after(16, 24);
  equip(after, before);
  const auto x = drawn({2, 5, 16});
  expect_same(after->forward(x), before->forward(x), "layers, forward");
  expect_same(after->named(x), before->named(x), "layers, named");
  expect_same(after->chosen(x, true), before->chosen(x, true), "layers, chosen");
  expect_same(after->chosen(x, false), before->chosen(x, false), "layers, not chosen");
  layers_before::SelfAttention one_before(8, 16);
  layers_after::SelfAttention one_after(8, 16);
  equip(one_after, one_before);
  const auto rows = drawn({7, 8});
  expect_same(one_after->forward(rows), one_before->forward(rows), "layers, rows");
  const auto kept = one_after->forward(rows);
  if (!kept.is_contiguous()) expect_same(kept, -kept, "layers, strides of rows");
}

void check_turned() {
  const auto q = drawn({2, 5, 16}), k = drawn({2, 7, 16}), v = drawn({2, 7, 16});
  BOTH(turned, of_batches, q, k, v);
  BOTH(turned, by_permutation, q, k, v);
  BOTH(turned, of_rows, q[0], k[0], v[0]);
  const auto q4 = drawn({2, 3, 5, 16}), k4 = drawn({2, 3, 7, 16}), v4 = drawn({2, 3, 7, 16});
  auto mask = (torch::rand({2, 1, 5, 7}) > 0.4).to(torch::kLong);
  mask[0][0][1].zero_();
  BOTH(turned, masked, q4, k4, v4, mask);
  BOTH(turned, unsqueezed, q4, k4, v4, mask.squeeze(1));
  BOTH(turned, written, q4, k4, v4, mask.clone());
  BOTH(turned, key_written, q, k.clone(), v);
  BOTH(turned, key_named_anew, q, k, v);
  BOTH(turned, axis_counted, q, k, v, 1);
  BOTH(turned, axis_hidden, q, k, v);
  int asked_before = 0, asked_after = 0;
  expect_same(turned_after::axis_asked(q, k, v, asked_after),
              turned_before::axis_asked(q, k, v, asked_before), "turned, asked");
  turned_before::Holder before{k};
  turned_after::Holder after{k};
  expect_same(after.held(q, v), before.held(q, v), "turned, held");
  expect_same(after.stored(q, v), before.stored(q, v), "turned, stored");
  expect_same(after.set_by_a_call(q, v), before.set_by_a_call(q, v), "turned, set by a call");
}

void check_limits() {
  const auto q = drawn({2, 3, 5, 16}), k = drawn({2, 3, 7, 16}), v = drawn({2, 3, 7, 16});
  auto hidden = torch::rand({2, 1, 5, 7}) > 0.6;
  hidden.select(3, 0).fill_(false);
  BOTH(limits, infinite, q, k, v, hidden);
  BOTH(limits, infinite_double, q, k, v, hidden.logical_not());
  BOTH(limits, by_macro, q, k, v, hidden);
  BOTH(limits, in_place, q, k, v, hidden);
  BOTH(limits, smallest, q, k, v, hidden);
  BOTH(limits, of_whole_numbers, q, k, v, hidden);
  BOTH(limits, above, q, k, v, hidden);
  hidden[1][0][2].fill_(true);
  BOTH(limits, lowest, q, k, v, hidden);
  BOTH(limits, negated, q, k, v, hidden);
}

void check_training() {
  const auto q = drawn({2, 3, 5, 16}), k = drawn({2, 3, 7, 16}), v = drawn({2, 3, 7, 16});
  training_before::Attention before(0.0);
  training_after::Attention after(0.0);
  equip(after, before);
  expect_same(after->causal(q, k, v), before->causal(q, k, v), "training, causal");
  expect_same(after->off(q, k, v), before->off(q, k, v), "training, off");
  expect_same(after->turned_round(q, k, v), before->turned_round(q, k, v),
              "training, turned round");
  expect_same(training_after::Other().causal(q, k, v), training_before::Other().causal(q, k, v),
              "training, no module");
}

void check_einsum() {
  const auto q = drawn({2, 5, 3, 16}), k = drawn({2, 7, 3, 16}), v = drawn({2, 7, 3, 16});
  auto hidden = torch::rand({2, 1, 5, 7}) > 0.6;
  hidden.select(3, 0).fill_(false);
  BOTH(equations, of_heads, q, k, v);
  BOTH(equations, masked, q, k, v, hidden);
  BOTH(equations, other_order, q, k, v);
  const auto gain = drawn({3});
  BOTH(equations, weighed, q, k, v, gain);
}

void check_rope() {
  const auto x = drawn({2, 3, 6, 16}), k = drawn({2, 3, 6, 16});
  const auto cos = drawn({6, 16}), sin = drawn({6, 16}), half = drawn({6, 8}),
             other = drawn({6, 8});
  expect_same(std::get<0>(rope_after::apply(x, k, cos, sin)),
              std::get<0>(rope_before::apply(x, k, cos, sin)), "rope, query");
  expect_same(std::get<1>(rope_after::apply(x, k, cos, sin)),
              std::get<1>(rope_before::apply(x, k, cos, sin)), "rope, key");
  BOTH(rope, halves, x, cos, sin);
  BOTH(rope, pairs, x, half, other);
  BOTH(rope, steps, x, half, other);
  BOTH(rope, backwards, x, cos, sin);
  BOTH(rope, mirrored, x, cos, sin);
  BOTH(rope, along_rows, x, cos, sin);
  BOTH(rope, joined_otherwise, x, half, other);
  BOTH(rope, written, x.clone(), cos, sin);
}

void check_products() {
  const auto x = drawn({2, 5, 24}), gate = drawn({2, 5, 24});
  BOTH(products, swiglu, x);
  BOTH(products, geglu, x);
  BOTH(products, of_two, gate, x);
  BOTH(products, by_tanh, gate, x);
  BOTH(products, alone, x);
  BOTH(products, quick, x);
  BOTH(products, in_parts, x);
  BOTH(products, other_factor, x);
  BOTH(products, of_three, x);
  BOTH(products, written, gate.clone(), x);
  BOTH(products, reglu, x);
}

void check_block() {
  block_before::Block before(16, 4);
  block_after::Block after(16, 4);
  equip(after, before);
  std::optional<block_before::Cache> held_before;
  std::optional<block_after::Cache> held_after;
  for (const int64_t tokens : {5, 1, 1}) {
    const auto x = drawn({2, tokens, 16});
    const int64_t keys = tokens + (held_before ? held_before->key.size(2) : 0);
    const auto mask = torch::full({tokens, keys}, -10.0).triu(keys - tokens + 1);
    expect_same(after->forward(x, mask, held_after), before->forward(x, mask, held_before),
                "block");
  }
}

}  // namespace

int main() {
  torch::NoGradGuard no_gradients;
  torch::manual_seed(29);
  check_layers();
  check_turned();
  check_limits();
  check_training();
  check_einsum();
  check_rope();
  check_products();
  check_block();
  if (g_wrong == 0) std::puts("all as expected");
  return g_wrong == 0 ? 0 : 1;
}
