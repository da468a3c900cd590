import torch
from attention import (
    by_a_flag_of_it,
    by_a_guard,
    by_a_loop,
    by_and,
    by_len,
    by_match,
    by_permuting,
    by_suppressing,
    by_the_larger,
    by_trying,
    of_a_cast,
    of_what_is_computed,
    of_what_is_transposed,
    trying_something_else,
    unpacked_for_all,
)


def outputs():
    flat, deep = torch.randn(2, 5, 8), torch.randn(2, 3, 5, 8)
    asked = (
        by_a_flag_of_it,
        by_a_guard,
        by_a_loop,
        by_and,
        by_len,
        by_match,
        by_permuting,
        by_suppressing,
        by_the_larger,
        by_trying,
        of_a_cast,
        of_what_is_computed,
        of_what_is_transposed,
    )
    both = [function(x) for function in asked for x in (flat, deep)]
    tensors = [t for one in both for t in (one if isinstance(one, tuple) else (one,)) if torch.is_tensor(t)]
    return [*tensors, unpacked_for_all(deep), trying_something_else(deep, {})]
