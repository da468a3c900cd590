"""One Python file of so many megabytes, a site of attention in every 50 functions, for the section
"One file" of docs/performance-tool.md: `large_file.py MEGABYTES > FILE`."""

import sys

SITE = """def site{0}(q, k, v):
    q = q.transpose(1, 2)
    k = k.transpose(1, 2)
    v = v.transpose(1, 2)
    o = F.scaled_dot_product_attention(q, k, v)
    return o.transpose(1, 2)


"""
OTHER = """def f{0}(a, b):
    c = a + b * {0}
    d = torch.abs(c + a)
    if d.shape[0] > {0}:
        d = d.foo(1, {0}) + c
    return d[0]


"""


def main() -> None:
    size, number = 0, 0
    sys.stdout.write("import torch\nimport torch.nn.functional as F\n\n\n")
    while size < float(sys.argv[1]) * 1e6:
        text = (OTHER if number % 50 else SITE).format(number)
        sys.stdout.write(text)
        size += len(text)
        number += 1


main()
