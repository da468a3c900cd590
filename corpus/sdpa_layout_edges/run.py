import torch
from attention import (
    behind_an_ellipsis,
    commented_subscripts,
    new_axis_beside_a_number,
    new_axis_by_name,
    permutation_between,
    random_numbers,
    strides_asked_for,
    tuple_of_subscripts,
    two_numbers,
    vector_on_a_moved_axis,
)


def outputs():
    q, k, v = (torch.randn(2, 5, 24) for _ in range(3))
    dropped = torch.manual_seed(3) and random_numbers(q, k, v, 3)
    return [
        *behind_an_ellipsis(q, k, v, 3, 2),
        new_axis_by_name(q, k, v, 3, 2),
        commented_subscripts(q, k, v, 3, 2),
        *vector_on_a_moved_axis(q, k, v, 3, torch.randn(5))[:2],
        strides_asked_for(q, k, v, 3),
        dropped,
        permutation_between(torch.randn(2, 5, 72), 3),
        *two_numbers(q, k, v, 3),
        *tuple_of_subscripts(q, k, v, 3),
        *new_axis_beside_a_number(q, k, v, 3, 1),
    ]
