import attention
import swap
import torch


def outputs():
    torch.manual_seed(3)
    out = []
    for kind in ("StoredByName", "StoredByText", "FoundByClass", "Untouched"):
        model = torch.nn.Module()
        model.attn = getattr(attention, kind)(4)
        swap.store(model)
        swap.exchange(model.attn)
        out.append(model.attn(*(torch.randn(2, 6, 32) for _ in range(3))))
    out.append(swap.OtherOrder(4)(*(torch.randn(2, 6, 32) for _ in range(3))))
    return out
