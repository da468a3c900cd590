// A libtorch program that uses mindiesd/functional.h: activations, gated products, sums and softmax
// against the expressions that they stand for, in every type, with operands that lie in other
// orders, repeat, broadcast or want a gradient; values, types and strides. Prints what differs; the
// exit status says whether anything did.

#include <ATen/ATen.h>
#include <mindiesd/functional.h>

#include <cstdio>
#include <string>
#include <vector>

#include "expected.h"

namespace {

namespace ext = mindiesd::ext;
void wrong(const std::string& what, const at::Tensor& found, const at::Tensor& wanted) {
  std::printf("%s differs: %s %s, expected %s %s\n", what.c_str(), found.toString().c_str(),
              c10::str(found.sizes(), found.strides()).c_str(), wanted.toString().c_str(),
              c10::str(wanted.sizes(), wanted.strides()).c_str());
  ++g_wrong;
}

// `wanted` rounds each of its steps to the type, `found` only the last.
void expect(const std::string& what, const at::Tensor& found, const at::Tensor& wanted) {
  const at::ScalarType type = wanted.scalar_type();
  const double tolerance = type == at::kBFloat16 ? 3e-2 : type == at::kHalf ? 4e-3 : 1e-5;
  const bool same = found.scalar_type() == type && found.sizes() == wanted.sizes() &&
                    found.strides() == wanted.strides() &&
                    found.requires_grad() == wanted.requires_grad() &&
                    at::allclose(found.to(at::kDouble), wanted.to(at::kDouble), tolerance,
                                 tolerance, /*equal_nan=*/true);
  if (!same) wrong(what, found, wanted);
}

struct Operand {
  std::string name;
  at::Tensor tensor;
};

// Tensors of one shape: dense, turned, a slice, a half, repeated, one that wants a gradient.
std::vector<Operand> operands(at::ScalarType type, double scale) {
  const auto drawn = [&](at::IntArrayRef sizes) { return (at::randn(sizes) * scale).to(type); };
  return {{"dense", drawn({2, 6, 8})},
          {"turned", drawn({2, 8, 6}).transpose(1, 2)},
          {"sliced", drawn({2, 9, 8}).slice(1, 2, 8)},
          {"half", drawn({2, 6, 16}).chunk(2, -1)[1]},
          {"repeated", drawn({2, 1, 8}).expand({2, 6, 8})},
          {"wanting a gradient", drawn({2, 6, 8}).requires_grad_(true)}};
}

void activations(const Operand& of) {
  const at::Tensor& x = of.tensor;
  expect("gelu, " + of.name, ext::gelu(x), at::gelu(x));
  expect("gelu by tanh, " + of.name, ext::gelu(x, {.approximate = "tanh"}), at::gelu(x, "tanh"));
  expect("fast gelu, " + of.name, ext::gelu(x, {.approximate = "fast"}),
         x * at::sigmoid(1.702 * x));
  expect("silu, " + of.name, ext::silu(x), at::silu(x));
  const auto halves = x.chunk(2, 1);
  expect("glu, " + of.name, ext::glu(x, "gelu", {.dim = 1}), halves[0] * at::gelu(halves[1]));
  expect("swiglu, " + of.name, ext::glu(x, "silu", {.gate = "first", .dim = 1}),
         at::silu(halves[0]) * halves[1]);
}

void products_and_sums(const Operand& first, const Operand& second, const at::Tensor& gate) {
  const at::Tensor &x = first.tensor, &y = second.tensor;
  const std::string names = first.name + " and " + second.name + ", a gate in " + gate.toString();
  expect("gated, " + names, ext::gated(x, y, "silu"), x * at::silu(y));
  expect("gated, the gate first, " + names, ext::gated(x, y, "gelu-tanh", {.strides = "gate"}),
         at::gelu(y, "tanh") * x);
  expect("sum, " + names, ext::residual(x, y), x + y);
  expect("sum, the branch first, " + names, ext::residual(x, y, {.strides = "branch"}), y + x);
  expect("gated sum, " + names, ext::residual(x, y, {.gate = gate}), x + gate * y);
  expect("gated sum, factors exchanged, " + names, ext::residual(x, gate, {.gate = y}),
         x + y * gate);
  expect("gated sum, the branch first, " + names,
         ext::residual(x, y, {.gate = gate, .strides = "branch"}), y * gate + x);
  expect("gated sum, the gate first, " + names,
         ext::residual(x, y, {.gate = gate, .strides = "gate"}), gate * y + x);
  expect("gated sum by tanh, " + names,
         ext::residual(x, y, {.gate = gate, .gate_function = "tanh"}), x + gate.tanh() * y);
  expect("gated sum in a type, " + names, ext::residual(x, y, {.gate = gate, .dtype = x.dtype()}),
         (x.to(at::promote_types(x.scalar_type(), at::kFloat)) + gate * y).to(x.scalar_type()));
}

void softmaxes(const Operand& of, at::ScalarType type) {
  const at::Tensor& x = of.tensor;
  const at::Tensor bias = at::randn({6, 1}).to(type), mask = at::rand({2, 1, 8}) > 0.3;
  expect("softmax, " + of.name, ext::softmax(x), at::softmax(x, -1));
  expect("softmax in float32, " + of.name, ext::softmax(x, {.dim = 1, .dtype = at::kFloat}),
         at::softmax(x, 1, at::kFloat));
  const at::Tensor wide = x.to(at::kDouble) * 0.5 + bias;
  const at::Tensor centred = (wide - wide.amax({1}, true)).clamp(-2.0, 1.5);
  expect("guarded softmax, " + of.name,
         ext::softmax(x, {.dim = 1,
                          .scale = 0.5,
                          .bias = bias,
                          .subtract = "row",
                          .clamp_min = -2.0,
                          .clamp_max = 1.5,
                          .mask = mask,
                          .mask_value = -30.0}),
         at::softmax(centred.masked_fill(mask.logical_not(), -30.0), 1).to(type));
  expect("softmax with a bias behind a maximum, " + of.name,
         ext::softmax(x, {.subtract = "global", .mask = bias}),
         at::softmax(x.to(at::kDouble) - x.max() + bias, -1).to(type));
}

void norms(const Operand& of, at::ScalarType type) {
  const at::Tensor &x = of.tensor, weight = at::randn({8}).to(type);
  const auto as_torch = [](std::optional<at::Tensor> w) {
    return ext::RmsNormArguments{.weight = std::move(w), .eps = 1e-3, .result_type = "torch"};
  };
  expect("torch's RMSNorm, " + of.name, ext::rms_norm(x, as_torch(weight)),
         at::rms_norm(x, {8}, weight, 1e-3));
  expect("torch's RMSNorm without a weight, " + of.name, ext::rms_norm(x, as_torch({})),
         at::rms_norm(x, {8}, {}, 1e-3));
  expect("torch's RMSNorm by a wider weight, " + of.name,
         ext::rms_norm(x, as_torch(weight.to(at::kDouble))),
         at::rms_norm(x, {8}, weight.to(at::kDouble), 1e-3));
}

void of_type(at::ScalarType type) {
  for (const Operand& x : operands(type, 2)) {
    activations(x);
    softmaxes(x, type);
    norms(x, type);
    for (const Operand& y : operands(type, 1)) {
      for (const at::Tensor& gate :
           {at::randn({8}).to(type), at::randn({2, 1, 8}), at::randn({2, 6, 8}).to(type),
            at::randn({2, 1, 6}).to(type).transpose(1, 2)}) {
        products_and_sums(x, y, gate);
      }
    }
  }
}

void what_no_kernel_takes() {
  const at::Tensor whole = at::arange(-3, 5).view({2, 4}), none = at::empty({2, 0, 4});
  expect("silu of whole numbers", ext::silu(whole), at::silu(whole.to(at::kFloat)));
  expect("silu of whole numbers in their type", ext::silu(whole, {.result_type = "input"}),
         at::silu(whole.to(at::kFloat)).to(at::kLong));
  expect("fast gelu of whole numbers", ext::gelu(whole, {.approximate = "fast"}),
         whole * at::sigmoid(1.702 * whole));
  expect("a number", ext::silu(at::scalar_tensor(0.5)), at::silu(at::scalar_tensor(0.5)));
  expect("nothing", ext::gated(none, none, "gelu"), none * at::gelu(none));
  expect("a sum of whole numbers", ext::residual(whole, whole, {.gate = whole[0]}),
         whole + whole[0] * whole);
  expect("a product that broadcasts", ext::gated(at::ones({2, 4}), at::ones({3, 1, 4}), "silu"),
         at::ones({2, 4}) * at::silu(at::ones({3, 1, 4})));
  const at::Tensor hidden = at::zeros({2, 4}, at::kBool);
  expect("a row that is hidden whole", ext::softmax(at::ones({2, 4}), {.mask = hidden}),
         at::full({2, 4}, NAN));
  expect_refused([&] { ext::gelu(whole, {.approximate = "erf"}); }, "approximate must be");
  expect_refused([&] { ext::gated(none, none, "relu"); }, "activation must be");
  expect_refused([&] { ext::glu(none, "silu", {.gate = "third"}); }, "gate must be");
  expect_refused([&] { ext::silu(none, {.result_type = "half"}); }, "result_type must be");
  expect_refused([&] { ext::residual(none, none, {.strides = "root"}); }, "strides must be");
  expect_refused([&] { ext::residual(none, none, {.gate_function = "silu"}); }, "gate_function");
  expect_refused([&] { ext::softmax(none, {.subtract = "max"}); }, "subtract must be");
  expect_refused([&] { ext::softmax(none, {.mask_value = 1.0}); }, "needs a boolean mask");
}

// Heads whose last dimension is not dense, as a permutation of channels that come first leaves it.
void check_sparse_heads() {
  const auto lying = [](int64_t keys) { return at::randn({2, 3, 16, keys}).transpose(-2, -1); };
  const at::Tensor q = lying(5), k = lying(7), v = lying(7);
  const at::Tensor wanted = at::scaled_dot_product_attention(q, k, v);
  expect("attention of sparse heads", ext::attention_forward(q, k, v, {.head_first = true}),
         wanted);
  expect("attention of sparse heads, in the order of a product",
         ext::attention_forward(q, k, v, {.head_first = true, .strides = "BNSD"}),
         wanted.contiguous());
  const auto turned = [](const at::Tensor& t) { return t.transpose(1, 2); };
  expect("attention of sparse heads behind the sequence",
         ext::attention_forward(turned(q), turned(k), turned(v)), turned(wanted).contiguous());
}

}  // namespace

int main() {
  at::manual_seed(20);
  for (at::ScalarType type : {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble}) of_type(type);
  what_no_kernel_takes();
  check_sparse_heads();
  if (g_wrong == 0) std::puts("all as expected");
  return g_wrong == 0 ? 0 : 1;
}
