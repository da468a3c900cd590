import torch
import torch.nn.functional as F


@torch.enable_grad()
def classifier_gradient(q, k, v):
    q = q.detach().requires_grad_()
    loss = F.scaled_dot_product_attention(q, k, v).sum()
    return torch.autograd.grad(loss, q)[0]
