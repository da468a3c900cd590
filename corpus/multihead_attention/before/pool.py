import torch
import torch.nn.functional as F
from torch import nn


class AttentionPool(nn.Module):
    """The mean of all positions reads them, by layers of its own."""

    def __init__(self, width, heads):
        super().__init__()
        self.q_proj = nn.Linear(width, width)
        self.k_proj = nn.Linear(width, width)
        self.v_proj = nn.Linear(width, width)
        self.c_proj = nn.Linear(width, width)
        self.num_heads = heads

    def attend(self, x, need_weights):
        return F.multi_head_attention_forward(
            query=x[:1], key=x, value=x,
            embed_dim_to_check=x.shape[-1],
            num_heads=self.num_heads,
            q_proj_weight=self.q_proj.weight,
            k_proj_weight=self.k_proj.weight,
            v_proj_weight=self.v_proj.weight,
            in_proj_weight=None,
            in_proj_bias=torch.cat([self.q_proj.bias, self.k_proj.bias, self.v_proj.bias]),
            bias_k=None,
            bias_v=None,
            add_zero_attn=False,
            dropout_p=0.,
            out_proj_weight=self.c_proj.weight,
            out_proj_bias=self.c_proj.bias,
            use_separate_proj_weight=True,
            training=self.training,
            need_weights=need_weights,
        )

    def forward(self, x):
        x = x.flatten(start_dim=2).permute(2, 0, 1)
        x = torch.cat([x.mean(dim=0, keepdim=True), x], dim=0)
        x, _ = self.attend(x, need_weights=False)
        return x.squeeze(0)

    def explained(self, x):
        return F.multi_head_attention_forward(
            x, x, x, x.shape[-1], self.num_heads, torch.cat([self.q_proj.weight, self.k_proj.weight, self.v_proj.weight]),
            torch.cat([self.q_proj.bias, self.k_proj.bias, self.v_proj.bias]), None, None, False, 0.,
            self.c_proj.weight, self.c_proj.bias, training=False,
        )[1]
