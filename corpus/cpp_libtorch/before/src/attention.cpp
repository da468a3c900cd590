// Self-attention and cross-attention of one block.
#include "norm.h"
#include "rotary.h"

#include <torch/torch.h>

#include <tuple>
#include <utility>

namespace dit {

class Attention : public torch::nn::Module {
 public:
  Attention(int64_t dim, int64_t heads)
      : heads_(heads), head_dim_(dim / heads), norm_q_(head_dim_), norm_k_(head_dim_) {
    to_q_ = register_module("to_q", torch::nn::Linear(dim, dim));
    to_k_ = register_module("to_k", torch::nn::Linear(dim, dim));
    to_v_ = register_module("to_v", torch::nn::Linear(dim, dim));
    to_out_ = register_module("to_out", torch::nn::Linear(dim, dim));
    register_module("norm_q", norm_q_);
    register_module("norm_k", norm_k_);
  }

  // hidden [B, S, dim]; cos and sin [S, head_dim]
  torch::Tensor forward(const torch::Tensor& hidden, const torch::Tensor& cos,
                        const torch::Tensor& sin) {
    auto [query, key, value] = project(hidden, hidden);
    query = apply_rotary(norm_q_->forward(query), cos, sin);
    key = apply_rotary(norm_k_->forward(key), cos, sin);
    const double scale = 1.0 / std::sqrt(static_cast<double>(head_dim_));

    auto out = torch::scaled_dot_product_attention(query, key, value, /*attn_mask=*/{},
                                                   /*dropout_p=*/0.0, /*is_causal=*/false, scale);
    return to_out_->forward(merge(out));
  }

  torch::Tensor cross(const torch::Tensor& hidden, const torch::Tensor& context,
                      const torch::Tensor& mask) {
    auto query = to_q_->forward(hidden).view({hidden.size(0), -1, heads_, head_dim_});
    auto key = to_k_->forward(context).view({context.size(0), -1, heads_, head_dim_});
    auto value = to_v_->forward(context).view({context.size(0), -1, heads_, head_dim_});
    query = query.transpose(1, 2);
    key = key.transpose(1, 2);
    value = value.transpose(1, 2);  // [B, heads, S, head_dim]

    // The mask keeps what it marks.
    auto out = torch::scaled_dot_product_attention(query, key, value, /*attn_mask=*/mask,
                                                   /*dropout_p=*/0.0, /*is_causal=*/false);
    out = out.transpose(1, 2).reshape({hidden.size(0), -1, heads_ * head_dim_});
    return to_out_->forward(out);
  }

 private:
  std::tuple<torch::Tensor, torch::Tensor, torch::Tensor> project(const torch::Tensor& hidden,
                                                                  const torch::Tensor& context) {
    auto split = [this](const torch::Tensor& x) {
      return x.view({x.size(0), -1, heads_, head_dim_}).transpose(1, 2);
    };
    return {split(to_q_->forward(hidden)), split(to_k_->forward(context)),
            split(to_v_->forward(context))};
  }

  torch::Tensor merge(const torch::Tensor& x) {
    return x.transpose(1, 2).reshape({x.size(0), -1, heads_ * head_dim_});
  }

  int64_t heads_, head_dim_;
  torch::nn::Linear to_q_{nullptr}, to_k_{nullptr}, to_v_{nullptr}, to_out_{nullptr};
  RMSNorm norm_q_, norm_k_;
};

}  // namespace dit
