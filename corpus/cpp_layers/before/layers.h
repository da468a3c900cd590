// Attention and gated products of modules whose layers are members, as ports of vision transformers
// and of language models write them.
#pragma once

#include <torch/torch.h>

#include <cmath>
#include <limits>

namespace layers {

class VisionAttentionImpl : public torch::nn::Module {
 public:
  VisionAttentionImpl(int64_t dim, int64_t heads, double rate) : heads_(heads) {
    scale_ = 1.0 / std::sqrt(static_cast<double>(dim / heads));
    qkv_ = register_module(
        "qkv", torch::nn::Conv2d(torch::nn::Conv2dOptions(dim, 3 * dim, 1).stride(1).bias(true)));
    drop_ = register_module("drop", torch::nn::Dropout(torch::nn::DropoutOptions(rate)));
    proj_ = register_module("proj", torch::nn::Conv2d(torch::nn::Conv2dOptions(dim, dim, 1)));
    norm_ = register_module("norm", torch::nn::BatchNorm2d(dim));
  }

  torch::Tensor forward(torch::Tensor x) {
    const auto sizes = x.sizes().vec();
    auto qkv = qkv_(norm_(x)).reshape({sizes[0], 3, heads_, sizes[1] / heads_, -1}).permute({1, 0, 2, 4, 3});
    auto q = qkv[0];
    auto k = qkv[1];
    auto v = qkv[2];
    auto weights = q.matmul(k.transpose(-2, -1)) * scale_;
    weights = torch::softmax(weights, -1);
    weights = drop_(weights);
    x = weights.matmul(v);
    x = x.transpose(2, 3).reshape(sizes);
    return proj_->forward(x);
  }

 private:
  int64_t heads_;
  double scale_;
  torch::nn::Conv2d qkv_{nullptr}, proj_{nullptr};
  torch::nn::BatchNorm2d norm_{nullptr};
  torch::nn::Dropout drop_{nullptr};
};
TORCH_MODULE(VisionAttention);

struct FeedForwardImpl : torch::nn::Module {
  FeedForwardImpl(int64_t dim, int64_t hidden)
      : gate(register_module("gate", torch::nn::Linear(torch::nn::LinearOptions(dim, hidden).bias(false)))),
        up(register_module("up", torch::nn::Linear(torch::nn::LinearOptions(dim, hidden).bias(false)))),
        down(register_module("down", torch::nn::Linear(hidden, dim))) {}

  torch::Tensor forward(const torch::Tensor& x) {
    return down->forward(torch::silu(gate->forward(x)) * up->forward(x));
  }

  // Each product has a name of its own.
  torch::Tensor named(const torch::Tensor& x) {
    auto gated = torch::silu(gate->forward(x));
    auto wide = up->forward(x);
    return down->forward(gated * wide);
  }

  // The module is chosen anew, so that which layer is called is not shown.
  torch::Tensor chosen(const torch::Tensor& x, bool other) {
    torch::nn::Linear first = other ? up : gate;
    return down->forward(torch::silu(first->forward(x)) * up->forward(x));
  }

  torch::nn::Linear gate, up, down;
};
TORCH_MODULE(FeedForward);

// Of one head without a batch.
struct SelfAttentionImpl : torch::nn::Module {
  SelfAttentionImpl(int64_t in, int64_t out) {
    query = register_parameter("query", torch::rand({in, out}));
    key = register_parameter("key", torch::rand({in, out}));
    value = register_module("value", torch::nn::Linear(in, out));
  }

  torch::Tensor forward(torch::Tensor x) {
    auto keys = x.matmul(key);
    auto queries = x.matmul(query);
    auto values = value->forward(x);
    auto scores = queries.matmul(keys.t());
    auto weights = torch::softmax(scores / std::sqrt(keys.size(-1)), -1);
    return weights.matmul(values);
  }

  torch::Tensor query, key;
  torch::nn::Linear value{nullptr};
};
TORCH_MODULE(SelfAttention);

}  // namespace layers
