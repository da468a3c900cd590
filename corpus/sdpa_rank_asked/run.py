import attention
import torch

ASKED = (
    "by_len by_the_larger by_a_flag_of_it by_match by_a_guard by_trying by_suppressing by_suppressing_over_lines "
    "by_a_loop by_and by_permuting of_what_is_computed of_what_is_transposed of_a_cast"
).split()

DROPPED = (
    "turned_where_errors_are_dropped turned_under_another_name turned_beside_torchs_own "
    "left_where_errors_are_dropped"
).split()


def outputs():
    flat, deep = torch.randn(2, 5, 8), torch.randn(2, 3, 5, 8)
    both = [getattr(attention, name)(x) for name in ASKED for x in (flat, deep)]
    tensors = [t for one in both for t in (one if isinstance(one, tuple) else (one,)) if torch.is_tensor(t)]
    dropped = [getattr(attention, name) for name in DROPPED]
    tensors += [function(deep, checks) for function in dropped for checks in ([], [1.0])]
    tensors += [attention.unpacked_for_all(deep), attention.turned_under_torchs_own(deep)]
    return [*tensors, attention.trying_something_else(deep, {})]
