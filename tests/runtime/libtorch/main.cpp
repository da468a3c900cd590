// A libtorch program that uses mindiesd/torch.h: each function against torch's own operators, and
// what it refuses. Prints what is wrong; the exit status says whether anything was.

#include <ATen/ATen.h>
#include <mindiesd/torch.h>

#include <cstdio>

#include "expected.h"

namespace {

namespace m = mindiesd::torch;

void expect_close(const at::Tensor& found, const at::Tensor& wanted, const char* what) {
  if (found.sizes() == wanted.sizes() && found.scalar_type() == wanted.scalar_type() &&
      at::allclose(found, wanted, 1e-4, 1e-5)) {
    return;
  }
  std::printf("%s differs\n", what);
  ++g_wrong;
}

at::Tensor rotated(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin) {
  const auto halves = x.chunk(2, -1);
  return x * cos + at::cat({-halves[1], halves[0]}, -1) * sin;
}

at::Tensor rms(const at::Tensor& x, const at::Tensor& weight) {
  return x * at::rsqrt(x.square().mean(-1, true) + 1e-6) * weight;
}

void check_results() {
  const at::Tensor q = at::randn({2, 7, 4, 16}), k = at::randn({2, 9, 4, 16});
  const at::Tensor v = at::randn({2, 9, 4, 16}), keep = at::rand({2, 1, 7, 9}) > 0.3;
  m::AttentionOptions attention;
  attention.mask = keep;
  attention.backend = mindiesd::backend_named("cpu");
  expect_close(m::attention_forward(q, k, v, attention),
               at::scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2),
                                                v.transpose(1, 2), keep)
                   .transpose(1, 2),
               "attention_forward");
  const at::Tensor cos = at::randn({7, 1, 16}), sin = at::randn({7, 1, 16});
  expect_close(m::rotary_position_embedding(q, cos, sin), rotated(q, cos, sin), "rotary");
  const at::Tensor weight = at::randn({16});
  m::RotaryQkOptions normed;
  normed.norm = mindiesd::QkNorm::kHead;
  normed.query_weight = weight;
  normed.key_weight = weight;
  const auto [first, second] = m::rotary_qk(q, v.slice(1, 0, 7), cos, sin, normed);
  expect_close(first, rotated(rms(q, weight), cos, sin), "rotary_qk, query");
  expect_close(second, rotated(rms(v.slice(1, 0, 7), weight), cos, sin), "rotary_qk, key");
  m::HeadStream image, text;
  image.query = image.key = q;
  image.value = v.slice(1, 0, 7);
  text.query = text.key = k;
  text.value = v;
  image.norm = text.norm = mindiesd::QkNorm::kHead;
  image.query_weight = image.key_weight = text.query_weight = weight;
  image.cos = cos;
  image.sin = sin;
  const auto [jq, jk, jv] = m::joint_heads(image, text);
  expect_close(jq, at::cat({rotated(rms(q, weight), cos, sin), rms(k, weight)}, 1), "joint query");
  expect_close(jk, at::cat({rotated(rms(q, weight), cos, sin), rms(k, at::ones({16}))}, 1),
               "joint key");
  expect_close(jv, at::cat({v.slice(1, 0, 7), v}, 1), "joint value");
  expect_close(m::rms_norm(q, weight), rms(q, weight), "rms_norm");
  m::NormOptions block;
  block.branch = k.slice(1, 0, 7);
  block.gate = weight;
  block.scale = at::randn({2, 1, 1, 16});
  block.shift = at::randn({16});
  const at::Tensor sum = q + weight * *block.branch;
  const auto [normal, total] = m::fused_norm(q, block);
  expect_close(total, sum, "fused_norm, sum");
  expect_close(normal, at::layer_norm(sum, {16}) * (1 + *block.scale) + *block.shift, "fused_norm");
  block.gate_function = mindiesd::GateFunction::kTanh;
  block.branch_norm = true;
  block.branch_weight = weight;
  const at::Tensor added = at::tanh(weight) * rms(*block.branch, weight);
  expect_close(m::residual(q, *block.branch, block), q + added, "residual");
  block.sum_type = at::kHalf;
  block.result_type = at::kBFloat16;
  const auto [narrow, half] = m::fused_norm(q, block);
  if (narrow.scalar_type() != at::kBFloat16 || half.scalar_type() != at::kHalf) {
    std::puts("fused_norm: another type");
    ++g_wrong;
  }
  expect_close(m::activation(q, mindiesd::Activation::kGelu), at::gelu(q), "gelu");
  expect_close(m::activation(q, mindiesd::Activation::kSilu, sum), q * at::silu(sum), "gated silu");
  const at::Tensor other = at::randn_like(q), third = at::randn_like(q);
  const at::Tensor summed = (q * 0.5 - other * 2 + third * 1.5) * 0.25;
  expect_close(m::weighted_sum({q, other, third}, {0.5, -2.0, 1.5}, 0.25), summed, "weighted_sum");
  expect_close(m::weighted_sum({q, other.transpose(0, 1).contiguous().transpose(0, 1), third},
                               {0.5, -2.0, 1.5}, 0.25),
               summed, "weighted_sum of other orders");
  const at::Tensor turns = at::polar(at::ones({4, 8}), at::randn({4, 8}));
  const at::Tensor grids = at::tensor({1, 3, 2, 2, 1, 3}, at::kLong).view({2, 3});
  const at::Tensor placed = m::rotary_grid(q, turns, grids);
  expect_close(placed.slice(1, 6), q.slice(1, 6), "rotary_grid, behind the grid");
  // Token 4 of the first sample: frame 0, row 2, column 0; 4, 2 and 2 pairs.
  const at::Tensor place =
      at::cat({turns[0].slice(0, 0, 4), turns[2].slice(0, 4, 6), turns[0].slice(0, 6, 8)});
  const at::Tensor pair = at::view_as_complex(q[0][4].unflatten(-1, {8, 2}).contiguous());
  expect_close(placed[0][4], at::view_as_real(pair * place).flatten(-2), "rotary_grid");
  const at::Tensor planes = at::randn({2, 8, 5, 3}), eight = at::randn({8});
  expect_close(m::group_norm(planes, 4, eight, eight, 1e-5, true),
               at::silu(at::group_norm(planes, 4, eight, eight)), "group_norm");
  const at::Tensor matrix = at::randn({24, 16}), offset = at::randn({24});
  expect_close(m::linear_activation(q, matrix, offset, mindiesd::Activation::kGeluTanh),
               at::gelu(at::linear(q, matrix, offset), "tanh"), "linear_activation");
  m::SoftmaxOptions soft;
  soft.scale = 0.5;
  soft.bias = weight;
  soft.subtract = mindiesd::Subtract::kRow;
  expect_close(m::softmax(q, soft), at::softmax(q * 0.5 + weight, -1), "softmax");
}

void check_refusals() {
  const at::Tensor x = at::randn({2, 8});
  expect_refused([&] { m::rms_norm(at::Tensor()); }, "x must be a tensor");
  expect_refused([&] { m::rms_norm(x.to(at::kDouble)); }, "must be float32, float16 or bfloat16");
  expect_refused([&] { m::rms_norm(x.to(at::kComplexFloat)); }, "but is ComplexFloat");
  expect_refused([&] { m::rms_norm(x.to(at::kInt)); }, "must be float32, float16 or bfloat16");
  expect_refused([&] { m::rms_norm(x, at::randn({7})); }, "weight must have input's width");
  expect_refused([&] { m::attention_forward(x, x, x); }, "must have 4 dimensions");
  expect_refused([&] { m::rms_norm(at::empty({2, 8}, at::kMeta)); }, "must be on the CPU");
  const at::Tensor wanted = at::randn({2, 8}).requires_grad_(true);
  expect_refused([&] { m::rms_norm(wanted); }, "computes no gradients");
  const at::NoGradGuard guard;
  m::rms_norm(wanted);
}

}  // namespace

int main() {
  check_results();
  check_refusals();
  if (g_wrong == 0) std::puts("all as expected");
  return g_wrong == 0 ? 0 : 1;
}
