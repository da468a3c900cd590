import modulated
import torch


def outputs():
    torch.manual_seed(5)
    x, scale, shift = torch.randn(2, 3, 8), torch.randn(2, 1, 8), torch.randn(2, 1, 8)
    m = modulated.Modulated(8)
    for method in (m.norm_kept_as_it_is, m.norm_cast, m.all_in_one, m.without_gradients):
        yield method(x, scale, shift)
    q, k, v = torch.randn(3, 2, 4, 5, 8)
    yield modulated.scores_kept_as_they_are(q, k, v, torch.randn(5, 5))
    cos, sin = torch.randn(2, 5, 8)
    yield modulated.halves_kept_as_they_are(q, cos, sin)
