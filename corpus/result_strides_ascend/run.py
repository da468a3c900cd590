import types

import attention
import torch


def outputs():
    x, kept = torch.randn(2, 5, 24), types.SimpleNamespace()
    attention.stored(kept, x, 3)
    made = [f(x, 3) for f in (attention.returned, attention.passed_on, attention.read_by_view, attention.in_sight)]
    made += [kept.out.view(6, 5, 8)]
    return made + [torch.tensor(t.stride()) for t in made]
