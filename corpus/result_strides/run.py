import heads
import torch


def outputs():
    x = torch.randn(2, 5, 3, 8)
    half, whole = torch.randn(5, 4), torch.randn(5, 8)
    return [
        heads.joined_halves(x, half.cos(), half.sin()),
        heads.joined_neighbours(x, half.cos(), half.sin(), 0.5),
        heads.turned_first(x, whole.cos(), whole.sin()),
        heads.turned_last(x, whole.cos(), whole.sin()),
        heads.reshaped(x, half.cos(), half.sin()),
        heads.copied_before(x, half.cos(), half.sin()),
        heads.normed(x),
        heads.viewed_behind_a_call(x, half.cos(), half.sin()),
        heads.heads_apart(x.flatten(2), 3),
        heads.Block()(x),
        heads.turned_in_parts(x, whole.cos(), whole.sin()),
        heads.scaled_before_it_is_read(x, half.cos(), half.sin()),
        heads.weighted(x, whole[0], half.cos(), half.sin()),
        heads.copied_behind_a_call(x.flatten(2), 3),
        heads.Block().together(x),
        heads.normed_before_it_is_read(x, half.cos(), half.sin(), whole[1]),
    ]
