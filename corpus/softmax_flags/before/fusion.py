import torch


class BiAttention(torch.nn.Module):
    def __init__(self, stable=True, low=True, high=True):
        super().__init__()
        self.stable_softmax_2d = stable
        self.clamp_min_for_underflow = low
        self.clamp_max_for_overflow = high

    def text(self, weights):
        weights_t = weights.transpose(1, 2)
        weights_l = weights_t - torch.max(weights_t, dim=-1, keepdim=True)[0]
        if self.clamp_min_for_underflow:
            weights_l = torch.clamp(weights_l, min=-50000)  # Do not increase -50000
        if self.clamp_max_for_overflow:
            weights_l = torch.clamp(weights_l, max=50000)
        weights_l = weights_l.softmax(dim=-1)
        return weights_l

    def vision(self, weights):
        if self.stable_softmax_2d:
            weights = weights - weights.max()
        if self.clamp_min_for_underflow:
            weights = torch.clamp(weights, min=-3)
        return torch.softmax(weights, dim=-1)

    def shifted(self, weights):
        if self.stable_softmax_2d:
            weights = weights - weights.max()
        return weights.softmax(-1)

    def masked(self, weights, hidden):
        weights = weights.clamp(min=-2.0, max=2.0)
        weights = weights.masked_fill(hidden, float("-inf"))
        return weights.softmax(dim=-1)

    def both(self, weights):
        """The clamped scores feed two softmaxes."""
        if self.clamp_min_for_underflow:
            weights = torch.clamp(weights, min=-50000)
        return weights.softmax(dim=-1), weights.transpose(1, 2).softmax(dim=-1)


def finite_mask(scores, hidden):
    scores = scores - scores.amax(dim=-1, keepdim=True)
    scores = scores.masked_fill(hidden, -1e4)
    return scores.softmax(dim=-1)
