// corpus/cpp_modules as it was and as `refit migrate` left it, in one program: the same weights and
// inputs must give the same outputs, in every type. Prints what differs; the exit status says
// whether anything did.

#define dit dit_before
#include "cpp_modules/before/block.h"
#undef dit
#define dit dit_after
#include "cpp_modules/after/block.h"
#undef dit

#include <cstdio>
#include <string>

namespace {

int g_wrong = 0;

void compare(const at::Tensor& found, const at::Tensor& wanted, const std::string& what) {
  const at::ScalarType type = wanted.scalar_type();
  // The original rounds each of its steps to the type.
  const double tolerance = type == at::kBFloat16 ? 6e-2 : type == at::kHalf ? 8e-3 : 1e-5;
  if (found.scalar_type() == type && found.sizes() == wanted.sizes() &&
      found.strides() == wanted.strides() && wanted.abs().max().item<double>() > 0 &&
      at::allclose(found.to(at::kDouble), wanted.to(at::kDouble), tolerance, tolerance)) {
    return;
  }
  std::printf("%s in %s differs\n", what.c_str(), at::toString(type));
  ++g_wrong;
}

void of_type(at::ScalarType type, int64_t width) {
  const auto drawn = [&](at::IntArrayRef sizes) { return torch::randn(sizes).to(type); };
  const auto weight = drawn({width}), bias = drawn({width});
  // Each form has modules of its own: some of them change theirs.
  const auto both = [&](auto call, const char* what) {
    dit_before::AdaptiveNorm before(width);
    dit_after::AdaptiveNorm after(width);
    for (auto parameters : {before->named_parameters(), after->named_parameters()}) {
      parameters["other.weight"].copy_(weight);
      parameters["other.bias"].copy_(bias);
    }
    before->to(type);
    after->to(type);
    compare(call(*after), call(*before), what);
  };
  const auto x = drawn({2, 5, width}), embedding = drawn({2, 2 * width});
  const auto scale = drawn({5, width}), shift = drawn({5, width});
  both([&](auto& m) { return m.forward(x, embedding); }, "scaled and shifted");
  both(
      [&](auto& m) { return m.forward(x.transpose(0, 1).contiguous().transpose(0, 1), embedding); },
      "scaled and shifted, of another order");
  both([&](auto& m) { return m.continuous(x, embedding); }, "continuous");
  both([&](auto& m) { return m.before_attention(x); }, "alone");
  both([&](auto& m) { return m.written_between(x.clone(), scale, shift); }, "written between");
  both([&](auto& m) { return m.replaced(x, scale, shift); }, "replaced");
  both([&](auto& m) { return m.weighed(x, scale, shift); }, "weighed");
  both([&](auto& m) { return m.by_another_name(x, scale, shift); }, "by another name");
  both([&](auto& m) { return m.handed_on(x, scale, shift); }, "handed on");
  torch::nn::LayerNorm norm(torch::nn::LayerNormOptions({width}));
  norm->to(type);
  both([&](auto& m) { return m.by_reference(*norm, x, scale); }, "by reference");
  dit_before::LayerNorm before;
  dit_after::LayerNorm after;
  compare(dit_after::centred(after, x, shift[0].expand({2, width})),
          dit_before::centred(before, x, shift[0].expand({2, width})), "a gated sum");
  const auto gate = drawn({2, 5, width});
  compare(dit_after::feed_forward(x, gate), dit_before::feed_forward(x, gate), "feed forward");
  compare(dit_after::quick(x), dit_before::quick(x), "quick gelu");
  compare(dit_after::guarded(x * 40), dit_before::guarded(x * 40), "guarded softmax");

  const auto q = drawn({2, 3, 5, width}), k = drawn({2, 3, 7, width}), v = drawn({2, 3, 7, width});
  for (const auto& mask : {torch::Tensor(), drawn({2, 1, 5, 7})}) {
    const std::string what = mask.defined() ? "with a mask" : "without a mask";
    compare(dit_after::masked(q, k, v, mask), dit_before::masked(q, k, v, mask), what);
    compare(dit_after::masked_in_braces(q, k, v, mask), dit_before::masked_in_braces(q, k, v, mask),
            what + ", in braces");
    compare(dit_after::chosen(q, k, v, mask), dit_before::chosen(q, k, v, mask), what + ", chosen");
  }
}

}  // namespace

int main() {
  const torch::NoGradGuard no_gradients;
  torch::manual_seed(20);
  for (at::ScalarType type : {torch::kFloat, torch::kHalf, torch::kBFloat16, torch::kDouble}) {
    for (int64_t width : {8, 37}) of_type(type, width);
  }
  if (g_wrong == 0) std::printf("all as expected\n");
  return g_wrong;
}
