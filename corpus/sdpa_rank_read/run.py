import torch
from attention import Attention


def outputs():
    torch.manual_seed(0)
    layer = Attention(24, 3).eval()
    x, text = torch.randn(2, 6, 24), torch.randn(2, 4, 24)
    with torch.no_grad():
        return [
            layer.one_of_three(x),
            layer.behind_a_branch(x, text),
            layer.behind_a_branch(x),
            layer.of_parts(x),
            layer.branches_by_rank(x),
            layer.branches_by_rank(torch.randn(5, 2, 6, 24)),
            layer.two_ways(x, False),
            layer.of_another(x, x),
            layer.sizes_by_call(x),
            layer.all_sizes_at_once(x)[0],
            layer.one_name_twice(x),
        ]
