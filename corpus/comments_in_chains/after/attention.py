import mindiesd


def attend(q, k, v, b, n, d):
    x = (
        mindiesd.attention_forward(
            q.view(b, -1, n, d),  # split heads
            # to B N S D
            # dense
            k.view(b, -1, n, d),
            v.view(b, -1, n, d),
            # none
        )
        # back
        .flatten(2)
    )
    return x
