import torch
from attention import AdaptedAttention, as_its_mask, by_cases, one_refused, one_stays, twice


def outputs():
    model = AdaptedAttention(48, 6, 2).eval()
    x, text = torch.randn(2, 7, 48), torch.randn(2, 4, 48)
    images = [torch.randn(2, 3, 48), torch.randn(2, 5, 48)]
    masks = [torch.rand(2, 7, 1) for _ in range(3)]
    q, k, v = (torch.randn(2, 9, 24) for _ in range(3))
    mask = torch.rand(2, 1, 9, 9) > 0.3
    return [
        model(x, text, images),
        model(x, text, images, masks),
        by_cases(q, k, v, 3),
        by_cases(q, k, v, 3, mask),
        by_cases(q[:, :4], k, v, 3),
        twice(q, k, v, 3),
        *one_stays(q, k, v, 3),
        one_refused(q, k, v, 3)[0],  # the other drops everything
        *as_its_mask(q[:, :8], k[:, :8], v[:, :8], 3),
    ]
