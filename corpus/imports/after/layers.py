from torch import nn


class Layer(nn.Module):
    pass
