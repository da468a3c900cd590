import attention
import torch


def outputs():
    q, k, v = (torch.randn(2, 3, n, 8) for n in (4, 1, 1))
    module = attention.Cached().eval()
    with torch.no_grad():
        module.k_cache.copy_(torch.randn(2, 3, 5, 8))
        module.v_cache.copy_(torch.randn(2, 3, 5, 8))
        results = [
            module.another_buffer(q),
            module.in_front(q, k, v),
            module.before_its_first_read(q, v),
            module.behind(q, v),
            module.in_the_other_branch(q, k, False),
            module.layer_between(q, torch.randn(2, 3, 5, 8)),
            *attention.helper_with_storage_of_its_own(q, *torch.randn(2, 2, 3, 5, 8)),
        ]
        module.in_the_other_branch(q, k, True)
        gated = attention.Gated()
        gated.cache.copy_(torch.randn(2, 3, 5, 8))
        results += [
            gated.layer_of_this_file_between(q, torch.randn(2, 3, 5, 8)),
            gated.method_that_stores_nothing_between(q, torch.randn(2, 3, 5, 8)),
        ]
    k, v = torch.randn(2, 2, 3, 5, 8)
    results += attention.something_else_is_handed(q, k, v, {}, torch.ones(5), torch.neg)
    with torch.no_grad():
        counted = attention.Counted().eval()
        counted.cache.copy_(torch.randn(2, 3, 5, 8))
        results += [counted.getter_that_computes(q, v)[0], counted.another_buffer_registered(q, v), counted.seen]
        results.append(attention.list_of_its_own(q, k, v))
        results += attention.sum_of_tensors(q, k, v)
    return [*results, module.k_cache, module.v_cache]
