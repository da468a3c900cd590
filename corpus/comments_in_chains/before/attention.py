import torch.nn.functional as F


def attend(q, k, v, b, n, d):
    x = (
        F.scaled_dot_product_attention(
            q.view(b, -1, n, d)  # split heads
            .transpose(1, 2)  # to B N S D
            .contiguous(),  # dense
            k.view(b, -1, n, d).transpose(1, 2),
            v.view(b, -1, n, d).transpose(1, 2),
            dropout_p=0,  # none
            enable_gqa=False,
        )
        .transpose(1, 2)  # back
        .flatten(2)
    )
    return x
