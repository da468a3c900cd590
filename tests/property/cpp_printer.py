"""The random programs of programs.py in C++. Entry: printed(draw, text), None for what has no counterpart.

Each node of Python's tree is printed as people write it for libtorch: a subscript as `index`, a tuple that is taken
apart as a list of parts, attention as a call or, some of it, by its products.
"""

import ast

HEAD = """#pragma once

#include <torch/torch.h>

#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

namespace programs {

using torch::indexing::Ellipsis;
using torch::indexing::None;
using torch::indexing::Slice;
using Tensors = std::vector<torch::Tensor>;

inline torch::Tensor swap(const torch::Tensor& x) { return x.transpose(1, 2); }
inline torch::Tensor scaled(const torch::Tensor& x, const torch::Tensor& s) { return x * s; }
inline torch::Tensor scaled(const torch::Tensor& x, double s) {
  auto y = x * s;
  return y;
}

"""
FOOT = "}  // namespace programs\n"
PARAMETERS = ("torch::Tensor q, torch::Tensor k, torch::Tensor v, int64_t n, torch::Tensor per_dim, "
              "torch::Tensor per_token, torch::Tensor per_head, torch::Tensor four, torch::Tensor three, bool flag")
METHODS = {"transpose", "permute", "view", "reshape", "flatten", "unsqueeze", "squeeze", "expand", "contiguous", "clone",
           "repeat_interleave", "chunk", "split", "unbind", "softmax", "mean", "unflatten", "mul_", "to", "size"}
OPERATORS = {ast.Add: "+", ast.Mult: "*", ast.Sub: "-", ast.FloorDiv: "/", ast.Gt: ">"}
# What stands between the parts of attention by hand: {x} is an operand, {w} the scores, {i} a number for new names.
BETWEEN = r"""
{x}.mul_(2.0);
{x} = {x} * 2.0;
{x}.index_put_({{0}}, 1.0);
{x}.select(0, 0).mul_(0.5);
auto& held_{i} = {x};\n  held_{i} = held_{i} + 1.0;
torch::Tensor held_{i} = {x};\n  held_{i}.add_(1.0);
torch::Tensor held_{i} = {w};\n  held_{i}.mul_(0.5);
torch::Tensor held_{i} = {w} * 0.5;\n  held_{i}.mul_(0.5);
{w}.mul_(0.5);
{w} = {w} * 0.5;
const auto change_{i} = [&] {{ {x} = {x} + 1.0; }};\n  change_{i}();
Tensors list_{i}{{ {x} }};\n  list_{i}[0].mul_(2.0);
if (flag) {x} = {x} + 1.0;
if (flag) {w} = {w} * 0.5;
for (int i = 0; i < 2; ++i) {x} = {x} * 0.5;
std::swap(q, k);
scaled({x}, 2.0);
torch::relu_({x});
""".strip().split("\n")
BETWEEN = [statement.replace("\\n", "\n") for statement in BETWEEN]
MASKED = [
    "{w}.masked_fill(torch::ones({{{q}.size(-2), {k}.size(-2)}}).tril() == 0, -std::numeric_limits<float>::infinity())",
    "{w}.masked_fill({w}.isnan(), -1e9)",
    "{w} + torch::ones({{{q}.size(-2), {k}.size(-2)}}).triu(1) * -10.0",
]


class NoCounterpart(Exception):
    """What a program does that is not printed."""


class Printer:
    def __init__(self, draw):
        self.draw = draw
        self.known = {"q", "k", "v"}  # tensors that are declared where the next statement stands
        self.numbers = {"n"}
        self.lines: list[str] = []
        self.indent = 1
        self.parts = 0

    def line(self, text: str) -> None:
        self.lines.append("  " * self.indent + text)

    # Expressions.

    def expression(self, node) -> str:
        kind = type(node).__name__
        found = getattr(self, "of_" + kind, None)
        if found is None:
            raise NoCounterpart(kind)
        return found(node)

    def of_Name(self, node) -> str:
        given = ("per_dim", "per_token", "per_head", "four", "three", "flag")
        if node.id in self.known | self.numbers or node.id in given:
            return node.id
        raise NoCounterpart(node.id)

    def of_Constant(self, node) -> str:
        if isinstance(node.value, bool):
            return "true" if node.value else "false"
        if isinstance(node.value, int | float):
            return repr(node.value)
        raise NoCounterpart("a constant")

    def of_UnaryOp(self, node) -> str:
        if not isinstance(node.op, ast.USub):
            raise NoCounterpart("a sign")
        return "-" + self.expression(node.operand)

    def of_BinOp(self, node) -> str:
        sign = OPERATORS.get(type(node.op))
        if sign is None:
            raise NoCounterpart("an operator")
        return f"({self.expression(node.left)} {sign} {self.expression(node.right)})"

    def of_Compare(self, node) -> str:
        sign = OPERATORS.get(type(node.ops[0]))
        if sign is None:
            raise NoCounterpart("a comparison")
        return f"({self.expression(node.left)} {sign} {self.expression(node.comparators[0])})"

    def of_IfExp(self, node) -> str:
        then, other = self.expression(node.body), self.expression(node.orelse)
        return f"({self.expression(node.test)} ? {then} : {other})"

    def of_Subscript(self, node) -> str:
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            return f"{self.expression(node.value.value)}.size({self.expression(node.slice)})"
        whole = node.value
        if isinstance(whole, ast.Call) and isinstance(whole.func, ast.Attribute) and whole.func.attr == "unbind":
            return f"{self.expression(whole)}[{self.expression(node.slice)}]"
        return f"{self.expression(whole)}.index({self.subscripts(node.slice)})"

    def subscripts(self, node) -> str:
        items = node.elts if isinstance(node, ast.Tuple) else [node]
        return "{" + ", ".join(map(self.subscript, items)) + "}"

    def subscript(self, node) -> str:
        if isinstance(node, ast.Slice):
            bounds = [node.lower, node.upper, node.step]
            while bounds and bounds[-1] is None:
                bounds.pop()
            return "Slice(" + ", ".join("None" if b is None else self.expression(b) for b in bounds) + ")"
        if isinstance(node, ast.Constant) and node.value is Ellipsis:
            return self.draw.choice(["Ellipsis", '"..."'])
        if isinstance(node, ast.Constant) and node.value is None:
            return "None"
        return self.expression(node)

    def sizes(self, nodes) -> str:
        if len(nodes) == 1 and isinstance(nodes[0], ast.Tuple):
            nodes = nodes[0].elts
        return "{" + ", ".join(map(self.expression, nodes)) + "}"

    def items(self, node) -> str:
        if not isinstance(node, ast.List | ast.Tuple):
            raise NoCounterpart("a list that is not written out")
        return "{" + ", ".join(map(self.expression, node.elts)) + "}"

    def of_Call(self, node) -> str:
        named = {k.arg: k.value for k in node.keywords}
        if isinstance(node.func, ast.Name) and node.func.id in ("swap", "scaled"):
            return f"{node.func.id}({', '.join(map(self.expression, node.args))})"
        if not isinstance(node.func, ast.Attribute):
            raise NoCounterpart("a call")
        name, owner = node.func.attr, node.func.value
        if isinstance(owner, ast.Name) and owner.id in ("torch", "F"):
            return self.function(name, node.args, named)
        if name in ("double", "float"):
            return f"{self.expression(owner)}.to(torch::k{name.title()})"
        if name not in METHODS:
            raise NoCounterpart(name)
        if name in ("permute", "view", "reshape", "expand"):
            return f"{self.expression(owner)}.{name}({self.sizes(node.args)})"
        if name == "to":  # an element type, by the tensor that has it
            return f"{self.expression(owner)}.to({self.expression(node.args[0].value)}.dtype())"
        if name == "unflatten":
            axis, sizes = node.args
            return f"{self.expression(owner)}.unflatten({self.expression(axis)}, {self.sizes([sizes])})"
        given = [self.expression(a) for a in node.args]
        if name == "mean":
            given = ["{" + given[0] + "}", self.expression(named.pop("keepdim"))]
        if "dim" in named:
            given.append(self.expression(named.pop("dim")))
        if named:
            raise NoCounterpart("keywords")
        return f"{self.expression(owner)}.{name}({', '.join(given)})"

    def function(self, name, args, named) -> str:
        if name == "scaled_dot_product_attention":
            return self.attention(args, named)
        if name in ("cat", "stack"):
            axis = self.expression(named["dim"] if "dim" in named else args[1])
            return f"torch::{name}({self.items(args[0])}, {axis})"
        if name == "where":
            return f"torch::where({', '.join(map(self.expression, args))})"
        if name == "layer_norm" and isinstance(args[1], ast.Tuple):
            return f"torch::layer_norm({self.expression(args[0])}, {self.sizes([args[1]])})"
        if name == "pad":
            return f"torch::constant_pad_nd({self.expression(args[0])}, {self.sizes([args[1]])})"
        raise NoCounterpart(name)

    # As a call, or by its products where nothing but a scale goes with it.
    def attention(self, args, named) -> str:
        q, k, v = map(self.expression, args)
        scale = self.expression(named["scale"]) if "scale" in named else None
        if not set(named) - {"scale"} and self.draw.random() < 0.5:
            factor = f" * {scale}" if scale else f" / std::sqrt({q}.size(-1))"
            turned = self.draw.choice(["transpose(-2, -1)", "transpose(2, 3)"])
            scores = f"torch::matmul({q}, {k}.{turned}){factor}"
            if self.draw.random() < 0.5:
                return f"torch::matmul(torch::softmax({scores}, -1), {v})"
            weights = f"weights_{self.fresh()}"
            if self.draw.random() < 0.3:
                self.line(f"auto turned_{weights} = {k}.{turned};")
                scores = f"{q}.matmul(turned_{weights}){factor}"
            self.line(f"auto {weights} = {scores};")
            if self.draw.random() < 0.4:
                self.line(f"{weights} = {self.draw.choice(MASKED).format(w=weights, q=q, k=k)};")
            self.between(weights)
            self.line(f"{weights} = {weights}.softmax(-1);")
            self.between(weights)
            return f"{weights}.matmul({v})"
        mask = self.expression(named["attn_mask"]) if "attn_mask" in named else "{}"
        causal = self.expression(named["is_causal"]) if "is_causal" in named else "false"
        given = [q, k, v, mask, "0.0", causal, scale or "std::nullopt"]
        while len(given) > 3 and given[-1] == {4: "{}", 5: "0.0", 6: "false", 7: "std::nullopt"}[len(given)]:
            given.pop()
        return f"torch::scaled_dot_product_attention({', '.join(given)})"

    def between(self, weights: str) -> None:
        if self.draw.random() < 0.3:
            name = self.draw.choice("qkv")
            self.line(self.draw.choice(BETWEEN).format(x=name, w=weights, i=self.fresh()))

    # Statements.

    def fresh(self) -> int:
        self.parts += 1
        return self.parts

    def bind(self, name: str, value: str) -> None:
        if name in self.known:
            self.line(f"{name} = {value};")
            return
        if self.indent > 1 or name in self.numbers:
            raise NoCounterpart("a variable that a block declares")
        self.known.add(name)
        self.line(f"{self.draw.choice(['auto', 'torch::Tensor'])} {name} = {value};")

    def statement(self, node) -> None:
        if isinstance(node, ast.Pass):
            return
        if isinstance(node, ast.Expr):
            self.line(self.expression(node.value) + ";")
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Mult):
            self.line(f"{self.expression(node.target)}.mul_({self.expression(node.value)});")
        elif isinstance(node, ast.If):
            self.block(f"if ({self.expression(node.test)}) {{", node.body)
            if node.orelse:
                self.lines[-1] = self.lines[-1].rstrip("}") + "} else {"
                self.block(None, node.orelse)
        elif isinstance(node, ast.For):
            self.block(f"for (int round = 0; round < {self.expression(node.iter.args[0])}; ++round) {{", node.body)
        elif isinstance(node, ast.Assign):
            self.assign(node.targets[0], node.value)
        elif isinstance(node, ast.Return):
            items = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            self.line("return Tensors{" + ", ".join(map(self.result, items)) + "};")
        else:
            raise NoCounterpart(type(node).__name__)

    def result(self, node) -> str:
        if isinstance(node, ast.Attribute) and node.attr == "shape":
            return f"torch::tensor({self.expression(node.value)}.sizes())"
        text = self.expression(node)
        return f"torch::tensor({text})" if ".size(" in text else text

    def block(self, head, body) -> None:
        if head:
            self.line(head)
        self.indent += 1
        for inner in body:
            self.statement(inner)
        self.indent -= 1
        self.line("}")

    def assign(self, target, value) -> None:
        if isinstance(target, ast.Subscript):
            where = self.subscripts(target.slice)
            self.line(f"{self.expression(target.value)}.index_put_({where}, {self.expression(value)});")
            return
        if isinstance(target, ast.Name):
            self.bind(target.id, self.expression(value))
            return
        names = [name.id for name in target.elts]
        if isinstance(value, ast.Attribute) and value.attr == "shape":
            self.line("const auto sizes = " + self.expression(value.value) + ".sizes();")
            for i, name in enumerate(names):
                self.line(f"const int64_t {name} = sizes[{i}];")
            self.numbers |= set(names)
            return
        if isinstance(value, ast.Tuple):
            values = [self.expression(item) for item in value.elts]
            if set(names) <= self.known and self.draw.random() < 0.5:
                self.line(f"std::tie({', '.join(names)}) = std::make_tuple({', '.join(values)});")
                return
            held = [f"part_{self.fresh()}" for _ in names]
            for name, text in zip(held, values, strict=True):
                self.line(f"auto {name} = {text};")
        else:
            whole = f"parts_{self.fresh()}"
            self.line(f"auto {whole} = {self.expression(value)};")
            held = [f"{whole}[{i}]" for i in range(len(names))]
        for name, text in zip(names, held, strict=True):
            self.bind(name, text)


def printed(draw, text: str) -> str | None:
    """The program of a Python text as a function of C++, or None where it does what has no counterpart."""
    definition = ast.parse(text).body[0]
    printer = Printer(draw)
    try:
        for node in definition.body:
            printer.statement(node)
    except NoCounterpart:
        return None
    return f"inline Tensors {definition.name}({PARAMETERS}) {{\n" + "\n".join(printer.lines) + "\n}\n"
