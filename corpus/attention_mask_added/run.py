import torch
from blocks import attention


def outputs():
    results = []
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        pool, x = attention.Pool(32, 4).to(dtype), torch.randn(2, 6, 32).to(dtype)
        mask = torch.randn(2, 1, 6, 6).to(dtype)
        results += [pool(x), pool(x, mask)]
        q, k, v = (torch.randn(2, 4, 6, 16).to(dtype) for _ in range(3))
        keep = mask > 0
        results += [attention.biased(q, k, v, mask), attention.hidden(q, k, v, keep)]
        results += [attention.counts(q, k, v, mask), attention.in_place(q, k, v, mask)]
        # Scores keep their type where a wider mask is added in place.
        results += [attention.in_place(q, k, v, mask.float()), attention.in_place_twice(q, k, v)]
        results += [attention.in_place_twice(q, k, v, mask), *attention.in_place_and_read(q, k, v, mask)]
        results += [*attention.in_place_and_viewed(q, k, v, mask)]
        own = q.clone()
        results += [attention.written_where_given(None, v, None, own, k), own]
        seen = []
        results += [attention.kept(q, k, v, mask, seen), *seen]
        results += [attention.filled_in_place(q, k, v), attention.filled_in_place(q, k, v, keep)]
        for function in (attention.filled_and_named, attention.filled_and_read, attention.filled_by_another_name):
            results += [function(q, k, v, keep)]
        scores = q @ k.transpose(-2, -1)
        results += [attention.filled_where_given(scores, v, keep), scores]
    return results
