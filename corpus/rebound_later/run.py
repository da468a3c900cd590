import model
import torch


def outputs():
    x = torch.randn(2, 8)
    return [model.read_later(x), model.written_in_place(x), model.consumed_later(x), x]
