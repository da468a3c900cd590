import mindiesd.ext
from torch import Tensor


def apply_rope(xq: Tensor, xk: Tensor, freqs_cis: Tensor):
    """2x2 matrices on neighbouring pairs."""
    q = mindiesd.ext.rotary_matrix(xq, freqs_cis)
    k = mindiesd.ext.rotary_matrix(xk, freqs_cis)
    return q, k
