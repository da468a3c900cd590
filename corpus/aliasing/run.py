import torch
from attention import updated_between


def outputs():
    return [updated_between(torch.randn(2, 5, 24), lambda x: x.mul_(2), 3, 8)]
