"""Sites that a comment keeps; the text refit: ignore in a string is no comment."""
import torch.nn.functional as F


def kept_line(x):
    y = F.silu(x)  # refit: ignore
    return F.silu(y)


def kept_function(x):  # refit: ignore
    y = F.silu(x)
    return F.gelu(y)


# Measured by hand on our hardware. refit: ignore[silu-*, gelu-module]
def kept_by_rule(x):
    y = F.silu(x)
    return F.gelu(y)


def kept_below(x):
    # refit: ignore

    # The next line with code is meant.
    y = F.silu(x)
    text = "# refit: ignore", F.silu(y)
    return text  # refit: ignored is another word


def kept_lines(q, k, v):
    return F.scaled_dot_product_attention(
        q,
        k,  # refit: ignore
        v,
    )
