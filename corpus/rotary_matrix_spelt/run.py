import torch
import turns


def outputs():
    angles = torch.randn(1, 1, 5, 4)
    rows = torch.stack([angles.cos(), -angles.sin(), angles.sin(), angles.cos()], dim=-1)
    matrices = rows.unflatten(-1, (2, 2))
    x = torch.randn(2, 3, 5, 8)
    spelt = [
        turns.by_view,
        turns.cast_behind,
        turns.by_a_sum_of_sizes,
        turns.unflattened,
        turns.without_autocast,
    ]
    out = [function(x.to(dtype), matrices) for dtype in (x.dtype, torch.bfloat16) for function in spelt]
    # The table has an axis of one that x lacks, and the result has the shape of x.
    out += [function(x[0], matrices) for function in spelt]
    out.append(turns.with_the_tables_axes(x[0], matrices))
    for turn in (turns.as_another, turns.in_the_shape_of_another, turns.viewed, turns.wide,
                 turns.wide_with_the_tables_axes, turns.in_its_own_type):  # fmt: skip
        out += [turn(x, matrices), turn(x.bfloat16(), matrices), turn(x, matrices.double())]
    out.append(turns.wide_with_the_tables_axes(x[0], matrices))
    out.append(turns.with_the_tables_axes(x, torch.cat([matrices, matrices])))
    return out + [turns.of_another_shape(x, torch.empty(2, 15, 8), matrices)]
