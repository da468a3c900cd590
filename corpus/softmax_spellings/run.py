import torch
import weights


def outputs():
    scores = 4 * torch.randn(2, 3, 7)
    keep = torch.rand(2, 3, 7) < 0.7
    keep[..., 0] = True
    return [
        weights.detached(scores),
        weights.by_dims(scores),
        weights.at_least(scores),
        weights.at_least_everywhere(scores),
        weights.at_most(scores),
        weights.hidden(scores, ~keep),
        weights.chosen(scores, keep),
        weights.with_another_tensor(scores, torch.randn(2, 1, 7)),
    ]
