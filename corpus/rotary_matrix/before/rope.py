from torch import Tensor


def apply_rope(xq: Tensor, xk: Tensor, freqs_cis: Tensor):
    """2x2 matrices on neighbouring pairs."""
    xq_ = xq.float().reshape(*xq.shape[:-1], -1, 1, 2)
    xk_ = xk.float().reshape(*xk.shape[:-1], -1, 1, 2)
    xq_out = freqs_cis[..., 0] * xq_[..., 0] + freqs_cis[..., 1] * xq_[..., 1]
    xk_out = freqs_cis[..., 0] * xk_[..., 0] + freqs_cis[..., 1] * xk_[..., 1]
    q = xq_out.reshape(*xq.shape).type_as(xq)
    k = xk_out.reshape(*xk.shape).type_as(xk)
    return q, k
