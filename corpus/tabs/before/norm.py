import torch


def normalise(self, x):
	h = x.float()
	variance = h.pow(2).mean(-1, keepdim=True)
	return self.weight * (h * torch.rsqrt(variance + self.eps)).to(x.dtype)


def long(self, hidden_states):
	h = hidden_states.float()
	variance = h.pow(2).mean(-1, keepdim=True)
	h = h * torch.rsqrt(variance + self.epsilon_inside_the_root)
	return self.the_weight_of_the_norm * h.to(hidden_states.dtype)
