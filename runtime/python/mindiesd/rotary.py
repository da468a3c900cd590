"""``rotary_position_embedding`` with the published MindIE-SD signature."""

from . import ext
from ._checks import expect_bool, expect_choice, expect_tensor, is_either
from ._eager import eager
from .utils import ParametersInvalid


@eager
def rotary_position_embedding(
    x, cos, sin, rotated_mode="rotated_half", head_first=False, fused=True
):
    """x * cos + rotate(x) * sin for x of four dimensions and full-width tables.

    Args:
        x: [B, S, N, D], or [B, N, S, D] with ``head_first``; tables [S, 1, 1, D] go with [S, B, N, D].
        cos, sin: [S, D], or four dimensions that broadcast against x as they stand: [1, 1, S, D],
            [1, S, 1, D], [S, 1, 1, D]. Tables on another device are moved.
        rotated_mode: ``"rotated_half"`` or ``"rotated_interleaved"``.
        head_first: where x has its sequence; it places tables of two dimensions.
        fused: accepted; there is one path.

    Returns:
        A tensor of x's shape and type, computed in float32 at least.

    Raises:
        ParametersInvalid: an argument has the wrong type, rank or shape.
    """
    for name, tensor in (("x", x), ("cos", cos), ("sin", sin)):
        expect_tensor(name, tensor)
    expect_choice("rotated_mode", rotated_mode, ("rotated_half", "rotated_interleaved"))
    expect_bool("head_first", head_first)
    expect_bool("fused", fused)
    if x.dim() != 4:
        raise ParametersInvalid(f"x must have 4 dimensions, but has {x.dim()}.")
    if cos.dim() != sin.dim() or cos.dim() not in (2, 4):
        raise ParametersInvalid(
            f"cos and sin must both have 2 or both 4 dimensions, but have {cos.dim()} and {sin.dim()}."
        )
    if cos.shape != sin.shape or cos.shape[-1] != x.shape[-1]:
        raise ParametersInvalid(
            f"cos and sin must have one shape and {x.shape[-1]} columns, as x, but have "
            f"{list(cos.shape)} and {list(sin.shape)}; mindiesd.ext takes half-width tables."
        )
    if cos.dim() == 2 and not head_first:
        cos, sin = cos[:, None, :], sin[:, None, :]
    for size, wanted in zip(cos.shape[:-1], x.shape[-cos.dim() : -1]):
        if not is_either(size, 1, wanted):
            raise ParametersInvalid(
                f"cos and sin of shape {list(cos.shape)} do not broadcast to x of shape "
                f"{list(x.shape)}; head_first says where x has its sequence."
            )
    return ext.rotary_position_embedding(x, cos, sin, rotated_mode)
