import mindiesd.ext
import torch


class BiAttention(torch.nn.Module):
    def __init__(self, stable=True, low=True, high=True):
        super().__init__()
        self.stable_softmax_2d = stable
        self.clamp_min_for_underflow = low
        self.clamp_max_for_overflow = high

    def text(self, weights):
        weights_t = weights.transpose(1, 2)
        # Do not increase -50000
        weights_l = mindiesd.ext.softmax(
            weights_t,
            dim=-1,
            subtract="row",
            clamp_min=-50000 if self.clamp_min_for_underflow else None,
            clamp_max=50000 if self.clamp_max_for_overflow else None,
        )
        return weights_l

    def vision(self, weights):
        return mindiesd.ext.softmax(
            weights,
            dim=-1,
            subtract="global" if self.stable_softmax_2d else None,
            clamp_min=-3 if self.clamp_min_for_underflow else None,
        )

    def shifted(self, weights):
        return torch.softmax(weights, dim=-1)

    def masked(self, weights, hidden):
        return mindiesd.ext.softmax(
            weights,
            dim=-1,
            clamp_min=-2.0,
            clamp_max=2.0,
            mask=~hidden,
        )

    def both(self, weights):
        """The clamped scores feed two softmaxes."""
        if self.clamp_min_for_underflow:
            weights = torch.clamp(weights, min=-50000)
        return weights.softmax(dim=-1), weights.transpose(1, 2).softmax(dim=-1)


def finite_mask(scores, hidden):
    scores = scores - scores.amax(dim=-1, keepdim=True)
    scores = scores.masked_fill(hidden, -1e4)
    return scores.softmax(dim=-1)
