"""Norms and rotations of what they give, with something between, beside or around them."""
# ruff: noqa

import torch
from torch import nn


def turned(x, cos, sin):
    a, b = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-b, a), dim=-1) * sin


def double(t):
    t.mul_(2)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.RMSNorm(8, eps=1e-6)
        self.other = nn.RMSNorm(8, eps=0.5)
        self.wide = nn.RMSNorm(48, eps=1e-6)
        self.exchanged = nn.RMSNorm(8, eps=1e-6)
        for norm in (self.norm, self.other, self.wide, self.exchanged):
            nn.init.uniform_(norm.weight)

    def plain(self, x, cos, sin):
        q = self.norm(x)
        return turned(q, cos, sin)

    def of_all_heads(self, x, cos, sin):
        q = self.wide(x.flatten(2))
        q = q.unflatten(2, (6, -1))
        return turned(q, cos, sin)

    def conditional(self, x, cos, sin):
        q = x
        q = self.norm(q)
        if cos is not None:
            q = turned(q, cos, sin)
        return q

    def on_the_other_side(self, x, cos, sin):
        q = self.norm(x)
        if cos is None:
            out = q
        else:
            out = turned(q, cos, sin)
        return out

    def read_after(self, x, cos, sin):
        q = self.norm(x)
        if cos is not None:
            x = turned(q, cos, sin)
        return x + q

    def read_on_the_side_of_the_rotation(self, x, cos, sin):
        q = x
        q = self.norm(q)
        extra = x
        if cos is not None:
            extra = q * 2
            q = turned(q, cos, sin)
        return q + extra

    def operand_written(self, x, cos, sin):
        q = self.norm(x)
        x.mul_(2)
        return turned(q, cos, sin)

    def operand_written_by_a_function(self, x, cos, sin):
        q = self.norm(x)
        double(x)
        return turned(q, cos, sin)

    def view_of_operand_written(self, x, cos, sin):
        rows = x.view(-1, 8)
        q = self.norm(x)
        rows[0] = 5
        return turned(q, cos, sin)

    def normed_written(self, x, cos, sin):
        q = self.norm(x)
        q.mul_(2)
        return turned(q, cos, sin)

    def view_of_normed_written(self, x, cos, sin):
        q = self.norm(x)
        rows = q.view(-1, 8)
        rows[0] = 5
        return turned(q, cos, sin)

    def weight_written(self, x, cos, sin):
        q = self.norm(x)
        self.norm.weight.mul_(2)
        return turned(q, cos, sin)

    def eps_changed(self, x, cos, sin):
        q = self.norm(x)
        self.norm.eps = 1.0
        return turned(q, cos, sin)

    def norm_exchanged(self, x, cos, sin):
        q = self.exchanged(x)
        self.exchanged = self.other
        return turned(q, cos, sin)

    def norm_exchanged_through_a_name(self, x, cos, sin):
        norm = self.norm
        q = norm(x)
        norm = self.other
        return turned(q, cos, sin) + norm(x)

    def operand_rebound(self, x, cos, sin):
        q = self.norm(x)
        x = x * 2
        return turned(q, cos, sin) + x

    def condition_rebound(self, x, cos, sin):
        q = x
        tables = None
        q = self.norm(q)
        tables = cos
        if tables is not None:
            q = turned(q, tables, sin)
        return q

    def condition_rebound_to_none(self, x, cos, sin):
        q, tables = x, cos
        q = self.norm(q)
        tables = None
        if tables is not None:
            q = turned(q, cos, sin)
        return q

    def many_times(self, x, cos, sin):
        q = self.norm(x)
        total = 0
        for k in range(3):
            total = total + turned(q, cos * k, sin)
        return total

    def again_and_again(self, x, cos, sin):
        q = x
        for k in range(3):
            q = self.norm(q)
            q = turned(q, cos, sin)
        return q

    def early(self, x, cos, sin):
        q = self.norm(x)
        if sin is None:
            return q
        return turned(q, cos, sin)

    def nested(self, x, cos, sin):
        q = x
        q = self.norm(q)
        if cos is not None:
            if cos.shape[0] < 3:
                q = turned(q, cos, sin)
        return q

    def nested_twice(self, x, cos, sin):
        q = x
        q = self.norm(q)
        if cos is not None:
            if sin is not None:
                q = turned(q, cos, sin)
        return q

    def otherwise(self, x, cos, sin):
        q = x
        q = self.norm(q)
        if sin is None:
            q = q + 1
        elif cos is not None:
            q = turned(q, cos, sin)
        return q

    def on_both_sides(self, x, cos, sin, swap=None):
        q = x
        q = self.norm(q)
        if swap is None:
            q = turned(q, cos, sin)
        else:
            q = turned(q, sin, cos)
        return q

    def under_two_names(self, x, cos, sin):
        q = kept = self.norm(x)
        return turned(q, cos, sin) + kept

    def by_a_lambda(self, x, cos, sin):
        q = self.norm(x)
        later = lambda: q.mean()
        return turned(q, cos, sin) + later()

    def tried(self, x, cos, sin):
        q = x
        try:
            q = self.norm(q)
        except RuntimeError:
            q = q * 2
        return turned(q, cos, sin)

    def without_gradients(self, x, cos, sin):
        q = self.norm(x)
        with torch.enable_grad():
            return turned(q, cos, sin).detach()

    def bound_inside(self, x, cos, sin):
        return turned(q := self.norm(x), cos, sin) + q

    def chosen_inside(self, x, cos, sin):
        q = self.norm(x)
        return turned(q, cos, sin) if cos is not None else q

    def split_in_three(self, x, cos, sin):
        q = self.wide(x.flatten(2)).unflatten(2, (3, 2, 8))
        return turned(q, cos[0], sin[0])

    def split_elsewhere(self, x, cos, sin):
        q = self.norm(x).unflatten(1, (2, 2))
        return turned(q, cos, sin)

    def split_of_rank_four(self, x, cos, sin):
        q = self.norm(x).unflatten(2, (2, 3))
        return turned(q, cos[:3], sin[:3])

    def hooked(self, x, cos, sin):
        self.norm.register_forward_hook(lambda module, args, result: result * 3)
        q = self.norm(x)
        return turned(q, cos, sin)

    def kept_in_a_list(self, x, cos, sin):
        q = self.norm(x)
        kept = [q]
        return turned(q, cos, sin) + kept[0]

    def kept_by_the_object(self, x, cos, sin):
        q = self.norm(x)
        self.last = q
        return turned(q, cos, sin) + self.last

    def regrouped(self, x, cos, sin):
        q = self.norm(x.transpose(0, 1)).transpose(0, 1)
        return turned(q, cos, sin).reshape(-1)

    def viewed(self, x, cos, sin):
        q = self.norm(x.transpose(1, 2))
        return turned(q, cos[:4], sin[:4]).view(2, -1)

    def wider(self, x, cos, sin):
        q = self.norm(x[:1])
        return turned(q, cos.expand(3, 4, 6, 8), sin)

    def of_whole_numbers(self, x, cos, sin):
        q = self.norm(x)
        return turned(q, (cos * 10).int(), (sin * 10).int())

    def in_double_precision(self, x, cos, sin):
        q = self.norm(x)
        return turned(q, cos.double(), sin.double())


def made():
    torch.manual_seed(5)
    return Attention().eval()


def plain(x, cos, sin):
    return made().plain(x, cos, sin)


def of_all_heads(x, cos, sin):
    return made().of_all_heads(x, cos, sin)


def conditional(x, cos, sin):
    return made().conditional(x, cos, sin)


def on_the_other_side(x, cos, sin):
    return made().on_the_other_side(x, cos, sin)


def read_after(x, cos, sin):
    return made().read_after(x, cos, sin)


def read_on_the_side_of_the_rotation(x, cos, sin):
    return made().read_on_the_side_of_the_rotation(x, cos, sin)


def operand_written(x, cos, sin):
    return made().operand_written(x, cos, sin)


def operand_written_by_a_function(x, cos, sin):
    return made().operand_written_by_a_function(x, cos, sin)


def view_of_operand_written(x, cos, sin):
    return made().view_of_operand_written(x, cos, sin)


def normed_written(x, cos, sin):
    return made().normed_written(x, cos, sin)


def view_of_normed_written(x, cos, sin):
    return made().view_of_normed_written(x, cos, sin)


def weight_written(x, cos, sin):
    return made().weight_written(x, cos, sin)


def eps_changed(x, cos, sin):
    return made().eps_changed(x, cos, sin)


def norm_exchanged(x, cos, sin):
    return made().norm_exchanged(x, cos, sin)


def norm_exchanged_through_a_name(x, cos, sin):
    return made().norm_exchanged_through_a_name(x, cos, sin)


def operand_rebound(x, cos, sin):
    return made().operand_rebound(x, cos, sin)


def condition_rebound(x, cos, sin):
    return made().condition_rebound(x, cos, sin)


def condition_rebound_to_none(x, cos, sin):
    return made().condition_rebound_to_none(x, cos, sin)


def many_times(x, cos, sin):
    return made().many_times(x, cos, sin)


def again_and_again(x, cos, sin):
    return made().again_and_again(x, cos, sin)


def early(x, cos, sin):
    return made().early(x, cos, sin)


def nested(x, cos, sin):
    return made().nested(x, cos, sin)


def nested_twice(x, cos, sin):
    return made().nested_twice(x, cos, sin)


def otherwise(x, cos, sin):
    return made().otherwise(x, cos, sin)


def on_both_sides(x, cos, sin):
    return made().on_both_sides(x, cos, sin)


def under_two_names(x, cos, sin):
    return made().under_two_names(x, cos, sin)


def by_a_lambda(x, cos, sin):
    return made().by_a_lambda(x, cos, sin)


def tried(x, cos, sin):
    return made().tried(x, cos, sin)


def without_gradients(x, cos, sin):
    return made().without_gradients(x, cos, sin)


def bound_inside(x, cos, sin):
    return made().bound_inside(x, cos, sin)


def chosen_inside(x, cos, sin):
    return made().chosen_inside(x, cos, sin)


def split_in_three(x, cos, sin):
    return made().split_in_three(x, cos, sin)


def split_elsewhere(x, cos, sin):
    return made().split_elsewhere(x, cos, sin)


def split_of_rank_four(x, cos, sin):
    return made().split_of_rank_four(x, cos, sin)


def hooked(x, cos, sin):
    return made().hooked(x, cos, sin)


def kept_in_a_list(x, cos, sin):
    return made().kept_in_a_list(x, cos, sin)


def kept_by_the_object(x, cos, sin):
    return made().kept_by_the_object(x, cos, sin)


def regrouped(x, cos, sin):
    return made().regrouped(x, cos, sin)


def viewed(x, cos, sin):
    return made().viewed(x, cos, sin)


def wider(x, cos, sin):
    return made().wider(x, cos, sin)


def of_whole_numbers(x, cos, sin):
    return made().of_whole_numbers(x, cos, sin)


def in_double_precision(x, cos, sin):
    return made().in_double_precision(x, cos, sin)


def conditional_without_tables(x, cos, sin):
    return made().conditional(x, None, sin)


def on_the_other_side_without_tables(x, cos, sin):
    return made().on_the_other_side(x, None, sin)


def nested_without_tables(x, cos, sin):
    return made().nested(x, None, sin)


def nested_twice_without_tables(x, cos, sin):
    return made().nested_twice(x, cos, None)


def otherwise_without_tables(x, cos, sin):
    return made().otherwise(x, None, sin)


def chosen_inside_without_tables(x, cos, sin):
    return made().chosen_inside(x, None, sin)


def early_without_tables(x, cos, sin):
    return made().early(x, cos, None)


def on_both_sides_swapped(x, cos, sin):
    return made().on_both_sides(x, cos, sin, swap=True)
