import mindiesd.ext
import torch

seen = []


def reshape_for_broadcast(freqs_cis, x):
    ndim = x.ndim
    assert 0 <= 1 < ndim
    shape = [d if i == 1 or i == ndim - 1 else 1 for i, d in enumerate(x.shape)]
    return freqs_cis.view(*shape)


def doubled(freqs_cis, x):
    x.mul_(2)
    return freqs_cis[None, :, None]


def first_set(freqs_cis, x):
    x[:, 0] = 0
    return freqs_cis[None, :, None]


def noted(freqs_cis, x):
    seen.append(x)
    return freqs_cis[None, :, None]


def list(x):
    x.mul_(2)
    return x


def by_its_own_list(freqs_cis, x):
    list(x)
    return freqs_cis[None, :, None]


def by_a_parameter(freqs_cis, x, max):
    max(x)
    return freqs_cis[None, :, None]


def apply_rotary_emb(xq, xk, freqs_cis):
    xq_ = torch.view_as_complex(xq.float().reshape(*xq.shape[:-1], -1, 2))
    freqs_cis = reshape_for_broadcast(freqs_cis, xq_)
    return mindiesd.ext.rotary_complex(xq, freqs_cis), mindiesd.ext.rotary_complex(xk, freqs_cis)


def with_doubled(x, freqs_cis):
    x_ = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    freqs_cis = doubled(freqs_cis, x_)
    return torch.view_as_real(x_ * freqs_cis).flatten(3).type_as(x)


def with_first_set(x, freqs_cis):
    x_ = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    freqs_cis = first_set(freqs_cis, x_)
    return torch.view_as_real(x_ * freqs_cis).flatten(3).type_as(x)


def with_noted(x, freqs_cis):
    x_ = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    freqs_cis = noted(freqs_cis, x_)
    return torch.view_as_real(x_ * freqs_cis).flatten(3).type_as(x)


def with_its_own_list(x, freqs_cis):
    x_ = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    freqs_cis = by_its_own_list(freqs_cis, x_)
    return torch.view_as_real(x_ * freqs_cis).flatten(3).type_as(x)


def with_a_parameter(x, freqs_cis):
    x_ = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    freqs_cis = by_a_parameter(freqs_cis, x_, torch.Tensor.neg_)
    return torch.view_as_real(x_ * freqs_cis).flatten(3).type_as(x)


class Attention:
    @staticmethod
    def reshape_for_broadcast(freqs_cis, x):
        """The table with the shape of x but for batch and heads."""
        ndim = x.ndim
        assert freqs_cis.shape == (x.shape[1], x.shape[-1])
        shape = [d if i == 1 or i == ndim - 1 else 1 for i, d in enumerate(x.shape)]
        return freqs_cis.view(*shape)

    @staticmethod
    def apply_rotary_emb(xq, freqs_cis):
        xq_ = torch.view_as_complex(xq.float().reshape(*xq.shape[:-1], -1, 2))
        freqs_cis = Attention.reshape_for_broadcast(freqs_cis, xq_)
        return mindiesd.ext.rotary_complex(xq, freqs_cis)
