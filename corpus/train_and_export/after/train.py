import torch
from model import attend


def step(model, q, k, v):
    optimizer = torch.optim.AdamW(model.parameters())
    attend(q, k, v).sum().backward()
    optimizer.step()
