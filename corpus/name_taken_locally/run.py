import both_names
import inside
import module_level
import parameter
import starred
import torch
import two_modules
from parts import uses


def outputs():
    x = torch.randn(2, 2)
    q, k, v = (torch.randn(2, 5, 3, 8) for _ in range(3))
    return [
        parameter.attend(q, k, v),
        parameter.attend(q, k, v, 2.0),
        parameter.act(x),
        module_level.Block().act(x),
        *module_level.each([x, x + 1]),
        both_names.act(x),
        inside.act(x),
        starred.act(x),
        uses.weights(x),
        uses.published(q, k, v),
        two_modules.attend(q, k, v),
        two_modules.weights(x),
    ]
