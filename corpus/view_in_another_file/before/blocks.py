from turns import (
    attend,
    attend_by_equation,
    by_tables,
    complex_pairs,
    even_odd,
    halves,
    normed,
    root_first,
    tables_first,
)


def joined(turn, x, *tables):
    """Parts that were joined lie densely: batch and heads are one axis."""
    q = turn(x.transpose(1, 2), *tables)
    b, h, n, d = q.shape
    return q.view(b * h, n, d)


def kept(turn, x, *tables):
    """What lies as x does is x's places in a row, its heads beside each other."""
    q = turn(x.transpose(1, 2), *tables).transpose(1, 2)
    b, n, h, d = q.shape
    return q.view(b, n, h * d)


def results(x, half, whole, freqs):
    cos, sin = half.cos(), half.sin()
    q = x.transpose(1, 2)
    yield joined(even_odd, x, cos, sin)
    yield joined(halves, x, cos, sin)
    yield kept(complex_pairs, x, freqs)
    yield kept(by_tables, x, whole.cos(), whole.sin())
    yield kept(tables_first, x, whole.cos(), whole.sin())
    yield attend(q, q, q).view(-1, x.shape[1], x.shape[-1])
    yield attend_by_equation(x, x, x).transpose(1, 2).view(-1, x.shape[1], x.shape[-1])
    yield kept(normed, x)
    yield joined(root_first, x)
