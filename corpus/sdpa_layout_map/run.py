import attention
import torch


def outputs():
    torch.manual_seed(0)
    four = [torch.randn(2, 5, 3, 8) for _ in range(3)]
    three = [torch.randn(2, 5, 24) for _ in range(3)]
    return [
        attention.heads_made(*three, 3),
        attention.by_pattern(torch.randn(2, 5, 72), 3),
        attention.named_again(*four),
        attention.other_names(*four),
        attention.copies(*three, 3),
        *attention.one_of_them_kept(*four),
        attention.two_sequences(*four),
        attention.with_a_default(*four),
        attention.own_map(*four, lambda f, items: [f(t) for t in items]),
        attention.read_later(*four),
        attention.names_inside(*four),
        attention.first_read_inside(*four, lambda t: t + 1),
        attention.over_many_lines(*four),
        attention.first_read_in_a_comprehension(*four, lambda t: t + 1),
    ]
