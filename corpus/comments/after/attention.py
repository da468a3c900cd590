import mindiesd.ext
# the framework
# for attention only


def attend(q, k, v, heads, mask=None):
    b, n, c = q.shape
    # split the heads
    q = q.view(b, n, heads, -1)  # [b, n, h, d]
    # [b, h, n, d]
    k = k.view(b, -1, heads, c // heads)  # keys
    v = v.view(b, -1, heads, c // heads)
    # the mask is boolean
    x = mindiesd.attention_forward(
        q,  # queries
        k,
        v,
        # True keeps
        attn_mask=mask,
        # never at inference
    )  # [b, h, n, d]
    # back

    # merge
    return x.reshape(b, n, c)


def normalise(self, x):
    # in float32
    # of the last axis
    # no mean is taken off
    return mindiesd.ext.rms_norm(x, self.weight, self.eps)  # the weight comes last
