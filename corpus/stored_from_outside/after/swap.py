import torch.nn as nn

from attention import OverriddenMethod


class AcrossHeads(nn.Module):
    def forward(self, x):
        return x / (1 + x.abs().sum((1, 3), keepdim=True))


class OtherOrder(OverriddenMethod):
    def _split(self, x):
        return x.view(x.shape[0], self.heads, -1, 8)


def store(model):
    model.attn.norm_k = AcrossHeads()
    setattr(model.attn, "norm_q", AcrossHeads())


def exchange(model):
    for name, child in model.named_children():
        if isinstance(child, nn.RMSNorm):
            setattr(model, name, AcrossHeads())
