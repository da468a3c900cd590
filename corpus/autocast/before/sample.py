import torch


def sample(model, x):
    with torch.autocast("cuda", dtype=torch.float16):
        return model(x)
