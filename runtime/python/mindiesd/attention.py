"""``attention_forward`` and ``attention_forward_varlen`` with the published MindIE-SD signatures."""

from . import _backends, ext
from ._checks import expect_bool, expect_choice, expect_tensor
from ._eager import eager
from .utils import ParametersInvalid

_LAYOUTS = ("BNSD", "BSND", "BSH")


@eager
def attention_forward(
    query, key, value, attn_mask=None, scale=None, fused=True, head_first=False, **kwargs
):
    """softmax(scale * query keyᵀ + mask) value for operands of four dimensions.

    Args:
        query, key, value: [B, S, N, D], or [B, N, S, D] with ``head_first``. Key and value may have one
            batch or fewer heads.
        attn_mask: broadcastable to [B, N, Sq, Sk]. Boolean: True keeps. Floating: added to the scores.
        scale: a number or a 0-dimensional tensor; default D ** -0.5.
        fused: accepted; every path here computes the same.
        head_first: the layout of operands and result.
        **kwargs: ``opt_mode``: ``"runtime"`` (default: the fastest back end, measured once for each kind
            of problem), ``"static"`` or ``"manual"`` (the one that ``op_type`` or MINDIE_SD_FA_TYPE
            names); they change no result. ``layout`` is checked and not read. Unknown names are ignored.

    Returns:
        [B, Sq, N, Dv] or [B, N, Sq, Dv], of query's type; a query that sees no key gives zeros.

    Raises:
        ParametersInvalid: an argument has the wrong type, shape, device or value.
    """
    expect_bool("fused", fused)
    opt_mode, op_type = kwargs.get("opt_mode", "runtime"), kwargs.get("op_type")
    if kwargs:
        expect_choice("opt_mode", opt_mode, _backends.MODES)
        if "op_type" in kwargs:
            expect_choice("op_type", op_type, _backends.names())
        if "layout" in kwargs:
            expect_choice("layout", kwargs["layout"], _LAYOUTS)
    for name, operand in (("query", query), ("key", key), ("value", value)):
        expect_tensor(name, operand)
        if operand.dim() != 4:
            raise ParametersInvalid(
                f"{name} must have 4 dimensions, but has {operand.dim()}; mindiesd.ext has the form "
                "for other ranks."
            )
    return ext.attention_forward(
        query, key, value, attn_mask, scale, head_first=head_first, opt_mode=opt_mode,
        op_type=op_type,
    )  # fmt: skip


@eager
def attention_forward_varlen(
    q,
    k,
    v,
    cu_seqlens_q,
    cu_seqlens_k,
    max_seqlen_q=None,
    max_seqlen_k=None,
    dropout_p=0.0,
    softmax_scale=None,
    causal=False,
    window_size=None,
    softcap=None,
    alibi_slopes=None,
    deterministic=None,
    return_attn_probs=None,
    block_table=None,
):
    """Attention over packed sequences [T, N, D].

    Args:
        q, k, v: [T, N, D].
        cu_seqlens_q, cu_seqlens_k: list of ints or integer tensor [sequences + 1].
        dropout_p: must be 0.0.
        softmax_scale: a number; default D ** -0.5.
        causal: in each sequence the last query sees the last key.
        max_seqlen_q, max_seqlen_k, window_size, softcap, alibi_slopes, deterministic,
            return_attn_probs, block_table: reserved, must be None (window, softcap and slopes: see
            ``mindiesd.ext``).

    Returns:
        [Tq, N, Dv], dense.

    Raises:
        ParametersInvalid: a reserved argument is given, or one has the wrong type, shape or value.
    """
    reserved = {
        "max_seqlen_q": max_seqlen_q,
        "max_seqlen_k": max_seqlen_k,
        "window_size": window_size,
        "softcap": softcap,
        "alibi_slopes": alibi_slopes,
        "deterministic": deterministic,
        "return_attn_probs": return_attn_probs,
        "block_table": block_table,
    }
    given = ", ".join(f"{name}={value}" for name, value in reserved.items() if value is not None)
    if given:
        raise ParametersInvalid(f"Unsupported parameters in varlen attention: {given}.")
    if dropout_p != 0.0:
        raise ParametersInvalid("dropout_p should be set to 0.0 during evaluation.")
    return ext.attention_forward_varlen(
        q, k, v, cu_seqlens_q, cu_seqlens_k, softmax_scale=softmax_scale, causal=causal
    )
