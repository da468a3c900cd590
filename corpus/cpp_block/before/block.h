// A block of a language model: norms, causal attention with a cache, a gated product, residuals.
#pragma once

#include <torch/torch.h>

#include <cmath>
#include <optional>
#include <vector>

namespace block {

using torch::Tensor;

struct RMSNormImpl : torch::nn::Module {
  RMSNormImpl(int64_t dim, double eps = 1e-6) : eps(eps) {
    weight = register_parameter("weight", torch::ones({dim}));
  }
  Tensor forward(const Tensor& x) {
    auto mean = x.pow(2).mean(-1, true);
    return x * torch::rsqrt(mean + eps) * weight;
  }
  double eps;
  Tensor weight;
};
TORCH_MODULE(RMSNorm);

struct Cache {
  Tensor key, value;
};

struct AttentionImpl : torch::nn::Module {
  AttentionImpl(int64_t dim, int64_t heads) : heads(heads), width(dim / heads) {
    qkv = register_module("qkv", torch::nn::Linear(torch::nn::LinearOptions(dim, 3 * dim).bias(false)));
    out = register_module("out", torch::nn::Linear(torch::nn::LinearOptions(dim, dim).bias(false)));
    drop = register_module("drop", torch::nn::Dropout(0.1));
  }

  Tensor forward(const Tensor& x, const Tensor& mask, std::optional<Cache>& cache) {
    const auto b = x.size(0), s = x.size(1);
    auto parts = qkv->forward(x).chunk(3, -1);
    auto q = parts[0].view({b, s, heads, width}).transpose(1, 2);
    auto k = parts[1].view({b, s, heads, width}).transpose(1, 2);
    auto v = parts[2].view({b, s, heads, width}).transpose(1, 2);
    if (cache.has_value()) {
      k = torch::cat({cache->key, k}, 2);
      v = torch::cat({cache->value, v}, 2);
    }
    cache = Cache{k, v};
    auto scores = torch::matmul(q, k.transpose(-2, -1)) / std::sqrt(static_cast<double>(width));
    scores = scores + mask;
    auto weights = drop->forward(torch::softmax(scores, -1));
    auto y = torch::matmul(weights, v);
    return out->forward(y.transpose(1, 2).contiguous().view({b, s, heads * width}));
  }

  int64_t heads, width;
  torch::nn::Linear qkv{nullptr}, out{nullptr};
  torch::nn::Dropout drop{nullptr};
};
TORCH_MODULE(Attention);

struct BlockImpl : torch::nn::Module {
  BlockImpl(int64_t dim, int64_t heads) {
    first = register_module("first", RMSNorm(dim));
    second = register_module("second", torch::nn::LayerNorm(torch::nn::LayerNormOptions({dim})));
    attention = register_module("attention", Attention(dim, heads));
    up = register_module("up", torch::nn::Linear(dim, 4 * dim));
    down = register_module("down", torch::nn::Linear(4 * dim, dim));
  }

  Tensor forward(const Tensor& x, const Tensor& mask, std::optional<Cache>& cache) {
    auto h = x + attention->forward(first->forward(x), mask, cache);
    return h + down->forward(torch::gelu(up->forward(second->forward(h))));
  }

  RMSNorm first{nullptr};
  torch::nn::LayerNorm second{nullptr};
  Attention attention{nullptr};
  torch::nn::Linear up{nullptr}, down{nullptr};
};
TORCH_MODULE(Block);

}  // namespace block
