import contexts
import handed
import later
import lists
import named
import properties
import torch
import yielded


def outputs():
    q, k, v, fresh = (torch.randn(2, 3, 5, 8) for _ in range(4))
    results = []
    with torch.no_grad():
        for name in ("getter", "getter_without_a_decorator", "getter_read_twice", "setter", "setter_by_its_name",
                     "store_that_is_watched", "entry_that_is_watched"):  # fmt: skip
            module = properties.Cached()
            module.cache.copy_(v)
            given = {"setter": [k[:, :, :1]], "setter_by_its_name": [k[:, :, :1]], "store_that_is_watched": [k],
                     }.get(name, [])  # fmt: skip
            result = getattr(module, name)(q, *given)
            results += [result[0] if isinstance(result, tuple) else result, module.cache]
        for name in ("registered", "in_the_table", "in_the_table_by_a_method", "under_any_name", "made_one_tensor"):
            module = named.Named()
            module.cache.copy_(v)
            module.left.copy_(fresh)
            more = ["left"] if name == "under_any_name" else []
            results += [getattr(module, name)(q, k.clone(), *more), module.cache, module.left]
        results.append(named.Named().parameter_of_a_norm(q, k, v))

        def copies():
            return [t.clone() for t in (q, k, v, fresh)]

        results.append(yielded.shared(*(x.clone() for x in (q, k, v))))
        for generator in (yielded.steps, yielded.pauses, yielded.whole):
            a, b, c, d = copies()
            steps = generator(a, b, c)
            next(steps)
            c.mul_(2)
            results.append(next(steps))

        a, b, c, d = copies()
        results.append(lists.sum_of_lists(a, b, [c], [d]))
        a, b, c, d = copies()
        results.append(lists.spread_into_a_list(a, b, [c, d]))
        for function in (lists.extended, lists.added_in_place, lists.updated, lists.through_its_own_sum,
                         lists.written_out_and_changed):  # fmt: skip
            a, b, c, d = copies()
            results += [function(a, b, c), b, c]
        a, b, c, d = copies()
        results.append(lists.merged(a, b, {"k": c}))
        a, b, c, d = copies()
        results.append(lists.either(a, b, c, []))
        a, b, c, d = copies()
        results.append(lists.one_entry_less(a, b, [c, d]))
        a, b, c, d = copies()
        results.append(later.items_asked_for(a, [b], c))
        for function in (later.generator_unpacked, later.called_later, later.view_of_one_factor,
                         later.name_of_the_module, later.Stack().layer_of_a_list,
                         later.Stack().attribute_of_the_class):  # fmt: skip
            a, b, c, d = copies()
            results += [function(a, b, c), b]
        a, b, c, d = copies()
        results += [contexts.end_of_a_block(a, b, b), b, contexts.end_that_writes_nothing(a, b, b)]
        for function in (handed.mapped_over_what_may_be_the_same, handed.mapped_by_what_writes_nothing,
                         handed.mapped_by_a_function_inside, handed.mapped_by_a_lambda_in_a_name,
                         handed.mapped_by_an_object, handed.mapped_by_one_of_two, handed.by_a_helper_that_maps,
                         handed.mapped_by_a_lambda_that_writes_nothing):  # fmt: skip
            a, b, c, d = copies()
            results += [function(a, b, [b]), b]
        for function in (handed.run_from_a_list, handed.run_from_a_dictionary):
            a, b, c, d = copies()
            results += [function(a, b, b), b]
        results += [handed.captured_by_a_function_inside(q, k), handed.captured_by_a_function_that_writes_nothing(q, k)]
        for name in ("storage_of_one_of_a_pair", "data_of_one_of_a_pair"):
            module = handed.Pair()
            module.a.copy_(v)
            results += [getattr(module, name)(q, k), module.a]
        a, b, c, d = copies()
        results += [handed.run_later(a, b, b), handed.repeated(a, c, [b]), *handed.multiplied(a, b, 2)[:1]]
        for name in ("view_handed_to_a_context", "end_of_a_context", "context_of_a_library"):
            module = later.Windowed()
            results += [getattr(module, name)(q, k, v), module.cache]
    return results
