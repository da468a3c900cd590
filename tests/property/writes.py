"""Random programs that write in place between the parts of a computation. Entry: program(random, number).

A program is a class. Its forward computes one to three recognised forms, a part a statement, whose operands are
locals, buffers, entries of a dictionary or a list, attributes of objects, properties, and views of all of these; lists
and dictionaries are made of them in front; writes are drawn between the statements. Another file reads what it returns
by `.view`, or asks how it lies. A program stays only if it runs. What it returns, and what it leaves behind in its
operands and buffers, must be the same before and after. The texts that are drawn stand in writes_tables.py.
"""

import linecache
import random
import re
import warnings
from unittest import mock

import torch
from writes_frame import CLASS, HEAD
from writes_tables import (
    BLOCKS, DICTIONARIES, FILLS, FORMS, GETTERS, HOOKED_ENTRIES, HOOKED_READS, HOOKS, LISTS, LOCALS, MADE,
    OPERANDS, PUTS, READERS, RESULTS, SETTERS, TRIED, WRITES,
)  # fmt: skip

SHAPE = (2, 3, 5, 8)
NAMES = {"many", "also", "table", "alias", "pair", "rest", "lazy", "run"}
READER = """

def read{number}(program, given):
    results = program(*given)
    o, *others = results if isinstance(results, tuple) else (results,)
    return {read}, *others
"""


def arguments(number: int) -> list:
    """The operands of a program, dense or as a transposition leaves them."""
    draw = torch.Generator().manual_seed(2)

    def normal(turned):
        if turned:
            return torch.randn(2, 5, 3, 8, generator=draw).transpose(1, 2)
        return torch.randn(*SHAPE, generator=draw)

    x, y, k, v, first, second = (normal(number >> at & 1) for at in (0, 1, 2, 2, 0, 1))
    return [x, y, {"k": k, "v": v}, [first, second]]


def tensors_in(holders: list) -> list:
    """The tensors that lists, dictionaries and the attributes of objects hold."""
    found: list = []
    for held in holders:
        if isinstance(held, torch.Tensor):
            found.append(held)
        elif isinstance(held, (list, tuple)):
            found += tensors_in(list(held))
        elif isinstance(held, dict):
            found += tensors_in(list(held.values()))
    return found


def run(module: dict, reader: dict, number: int) -> list:
    """What the reader has of the program twice in a row, and its operands and buffers behind that."""
    torch.manual_seed(number)
    module["SINGLE"] = torch.linspace(-2, 2, 240).view(SHAPE)
    module["GLOBAL"][:] = [torch.linspace(-1, 2, 240).view(SHAPE)]
    with torch.no_grad():
        program = module[f"Program{number}"]().eval()
        given = arguments(number)
        results = []
        for _ in range(2):
            results += [t.clone() for t in reader[f"read{number}"](program, given)]
    left = [program.a, program.b, program.c, program.d, program.w, program.e, program.g, program.kept.k]
    left += [program.keys.k, program.norm.weight, torch.tensor(program.norm.eps), torch.tensor(program.bare.eps)]
    left += tensors_in([given, program.table, program.held, vars(program.hooked), program.weight])
    left += tensors_in([program.layers[0].k, program.shared, module["SINGLE"], module["GLOBAL"]])
    return results + [t.detach().clone() for t in left]


def _write(draw: random.Random, focus: list[str], read: list[str], names: set[str]) -> str:
    """A write, half of the time to something that the form reads or through a name that the program gave."""
    places = [o for o in (read if draw.random() < 0.5 else focus) if not o.startswith("fresh")]
    through = [w for w in WRITES if names & set(re.findall(r"\w+", w))] if draw.random() < 0.5 else []
    return draw.choice(through or WRITES).format(
        o=draw.choice(places or OPERANDS), p=draw.choice(OPERANDS), number="{number}"
    )  # fmt: skip


def _form(draw: random.Random, focus: list[str], filled: list[str], more: list[str]) -> list[str]:
    operands = {name: draw.choice(focus + more) for name in "abc"}
    names = NAMES & set(re.findall(r"\w+", " ".join(filled)))
    lines = [line.format(**operands) for line in draw.choice(FORMS)]
    for _ in range(draw.choice([0, 1, 1, 1, 2])):
        lines.insert(draw.randrange(1, len(lines) + 1), _write(draw, focus, list(operands.values()), names))
    return lines


def _containers(draw: random.Random, focus: list[str]) -> tuple[list[str], list[str]]:
    """Statements that fill a list and a dictionary, and what a form may read of these."""
    lines, more = [], []
    if draw.random() < 0.3:
        return lines, more
    if draw.random() < 0.6:
        lines.append(f"many = {draw.choice(LISTS)}")
        more += ["many[0]", "many[-1]"]
    if draw.random() < 0.4:
        lines.append(f"table = {draw.choice(DICTIONARIES)}")
        more += ["table['k']"]
    for _ in range(draw.choice([0, 1, 1, 2])):
        lines.append(draw.choice(FILLS).format(o=draw.choice(focus), p=draw.choice(focus)))
    return lines, more * draw.choice([1, 4])


def _in_a_block(draw: random.Random, focus: list[str], statements: list[str]) -> None:
    """Puts some of the statements behind the first into a block, whose end may write."""
    first = draw.randrange(1, len(statements))
    last = draw.randrange(first, len(statements)) + 1
    head, tail = draw.choice(BLOCKS), ""
    if draw.random() < 0.2:
        head, tail = "try:", "\n        " + draw.choice(TRIED)
    body = [s.replace("\\n", "\n").replace("\n", "\n    ") for s in statements[first:last]]
    if head.startswith("while"):
        body.append("break")
    names = {"o": draw.choice(focus), "p": draw.choice(focus)}
    text = head.format(**names) + "\n            " + "\n            ".join(body) + tail.format(**names)
    statements[first:last] = [text]


def _text(draw: random.Random, number: int) -> str:
    # Most of a program speaks of few operands, so that what is written is often what is read.
    focus = [draw.choice(OPERANDS) for _ in range(3)] * draw.choice([1, 20]) + OPERANDS
    filled, more = _containers(draw, focus)
    statements = [*filled, "o2 = x * 1"] + _form(draw, focus, filled, more)
    if draw.random() < 0.4:
        statements += ["o2 = o", *_form(draw, focus, filled, more)]
    if draw.random() < 0.1:
        at = draw.randrange(1, len(statements))
        body = [s.replace("\n", "\n    ") for s in statements[at:]]
        statements[at:] = ["for _ in range(2):\n            " + "\n            ".join(body)]
    for _ in range(draw.choice([0, 0, 1, 1, 2])):
        _in_a_block(draw, focus, statements)
    return CLASS.format(
        number=number, put=draw.choice(PUTS), local=draw.choice(LOCALS), flag=draw.choice([True, False]),
        getter=draw.choice(GETTERS), setter=draw.choice(SETTERS), made=draw.choice(MADE), hook=draw.choice(HOOKS),
        read=draw.choice(HOOKED_READS), entry=draw.choice(HOOKED_READS), hook_entry=draw.choice(HOOKED_ENTRIES),
        statements="\n        ".join(statements).replace("\\n", "\n").replace("{number}", str(number)),
        result=draw.choice(RESULTS),
    )  # fmt: skip


_attend = torch.nn.functional.scaled_dot_product_attention


def _attend_checked(query, key, value, *rest, **named):
    """On the CPU torch's own reads beyond the values where they are fewer than the keys, and says nothing."""
    assert key.shape[-2] == value.shape[-2]
    return _attend(query, key, value, *rest, **named)


def program(draw: random.Random, number: int) -> tuple[str, str]:
    """A drawn program that runs and gives finite numbers, and the function of another file that reads its result."""
    while True:
        text = _text(draw, number)
        reader_text = READER.format(number=number, read=draw.choice(READERS))
        name = f"<program {number}>"
        linecache.cache[name] = (len(text), None, (HEAD + text).splitlines(True), name)
        names: dict = {"__name__": "drawn"}
        reader: dict = {"torch": torch}
        try:
            with warnings.catch_warnings(), mock.patch.object(
                torch.nn.functional, "scaled_dot_product_attention", _attend_checked
            ):
                warnings.simplefilter("ignore")
                exec(compile(HEAD + text, name, "exec"), names)
                exec(reader_text, reader)
                if all(torch.isfinite(t).all() for t in run(names, reader, number)):
                    return text, reader_text
        except Exception:  # noqa: BLE001 - drawn anew until one runs
            continue
