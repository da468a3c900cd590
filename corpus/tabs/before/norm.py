import torch


def normalise(x, weight, eps=1e-6):
	h = x.float()
	variance = h.pow(2).mean(-1, keepdim=True)
	return weight * (h * torch.rsqrt(variance + eps)).to(x.dtype)


def long(hidden_states, the_weight_of_the_norm, epsilon_inside_the_root):
	h = hidden_states.float()
	variance = h.pow(2).mean(-1, keepdim=True)
	h = h * torch.rsqrt(variance + epsilon_inside_the_root)
	return the_weight_of_the_norm * h.to(hidden_states.dtype)
