import mindiesd.ext


def apply_rope(xq, xk, freqs_cis):
    """2x2 matrices on neighbouring pairs."""
    q = mindiesd.ext.rotary_matrix(xq, freqs_cis)
    k = mindiesd.ext.rotary_matrix(xk, freqs_cis)
    return q, k
