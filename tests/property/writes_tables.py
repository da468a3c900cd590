"""What the random programs of writes.py are put together from: texts with places for what is drawn.

In a statement, {o} stands for an operand and {p} for another one. A name that a program does not bind, or an entry that
is not there, makes the program fail when it is tried, and another one is drawn.
"""

OPERANDS = [
    "x", "x", "y", "y", "k", "k", "self.a", "self.b", "self.c", "self.d", "self.e", "self.g", "self.w", "self.turned",
    "self.kept.k", "self.table['k']", "self.table['a']", "cache['k']", "cache['v']", "items[0]", "items[1]",
    "items[-1]", "self.a[:, :, :5]", "same(self.a)", "fresh(self.b)", "cache.get('k')", "getattr(self, 'a')",
    "self.keys.k", "self.b.view(2, 3, 5, 8)", "self.c.contiguous()", "self._buffers['a']", "(self.a, self.b)[0]",
    "self.seen", "self.hooked.read", "self.hooked.k", "self.hooked[0]", "self.held[0]", "self.held[1]",
    "self.__dict__['e']", "vars(self)['w']", "self.layers[0].k", "SINGLE", "GLOBAL[0]", "self.shared",
]  # fmt: skip
# Of these a program has some in front of its form; operands and writes reach what they hold.
LISTS = [
    "[]", "list(items)", "items[:]", "[k]", "items.copy()", "copy.copy(items)", "items + [y]", "[x] + items",
    "items + self.held", "self.held + [k]", "[*items, self.a]", "[*items, *self.held]", "[k, *items]", "items * 1",
    "(x, y) + tuple(items)", "list(reversed(items))", "list(cache.values())", "[*cache.values()]", "[t for t in items]",
    "[self.a, self.b]", "gathered(x, self.a)", "gathered(*items)", "items or [y]", "items if self.flag else [y]",
    "list(itertools.chain(items, [y]))", "sum(([t] for t in items), [])", "list(map(same, items))", "self.held",
    "[t for pair in zip(items, self.held) for t in pair]", "list(filter(torch.is_tensor, items))", "[items[0]] * 2",
    "(items + self.held)[1:]", "[self.seen]", "list(dict(k=k).values())",
]  # fmt: skip
DICTIONARIES = [
    "{}", "dict(cache)", "{**cache}", "{**cache, 'k': k}", "cache.copy()", "cache | {'k': self.a}", "{'k': x}",
    "dict(k=k, v=y)", "dict(zip('kv', items))", "{n: t for n, t in cache.items()}", "self.table", "dict(self.table)",
    "{**self.table, 'v': k}", "dict(cache, k=self.b)", "copy.copy(cache)", "dict(list(cache.items()))",
    "self.table | cache", "{'k': self.a, **{'v': y}}", "dict.fromkeys('kv', x)", "types.SimpleNamespace(k=k).__dict__",
]  # fmt: skip
FILLS = r"""
many.append({o})
many.extend([{o}])
many.extend(items)
many.extend([{o}, {p}])
many.extend(t for t in items[:])
many += [{o}]
many += items
many = many + [{o}]
many = [*many, {o}]
many.insert(0, {o})
many[0] = {o}
many[:1] = [{o}]
many[0:0] = items
for t in items[:]:\n            many.append(t)
for i in range(2):\n            many.append(items[i])
[many.append(t) for t in items[:]]
also = many
table['k'] = {o}
table.update(k={o})
table.update({{'k': {o}}})
table.update(cache)
table |= {{'k': {o}}}
table = table | {{'k': {o}}}
table = {{**table, 'k': {o}}}
table.setdefault('k', {o})
table.setdefault('k', []).append({o})
table = {{'k': many}}
table['all'] = many
for n, t in cache.items():\n            table[n] = t
self.kept.many = many
self.kept.k = {o}
self.held.append({o})
self.table['k'] = {o}
self.held = items + [{o}]
alias = {o}
alias = {o}\n        alias += 0.5
alias = {o}.view(2, 3, 40)
alias = F.dropout({o}, 0.5, self.training)
alias = self.drop({o})
alias = self.nothing({o})
alias = +{o}
alias = {o} if self.flag else {p}
alias = many[0]
pair = ({o}, {p})
pair = [{o}], [{p}]
first, *rest = items
lazy = (t.mul_(2) for t in items)
lazy = map(bump, [{o}, {p}])
lazy = doubled([{o}])
run = lambda: {o}.mul_(2)
run = functools.partial(bump, {o})
run = {o}.mul_
run = bump
run = self.put
run = self.layers[0]
run = bump if self.flag else same
run = Writer(y)
run = [bump]
run = [functools.partial(bump, {o})]
run = {{'k': bump}}
run = {{'k': lambda t=y: {o}.mul_(2)}}
def run(t=y):\n            {o}.mul_(2)
GLOBAL.append({o})
""".strip().split("\n")
WRITES = r"""
{o}.mul_(0.5)
{o}.add_({p})
{o}.copy_(y)
{o}.zero_()
{o} *= 0.5
{o}[:, :, -1:] = y[:, :, :1]
{o}[0] = 1.0
{o}[0].add_(1)
{o}[..., 1:3].mul_(2)
{o}[...] = y
{o}[y > 0] = 0.25
{o}.data += 1
{o}.data.mul_(2)
{o}.data.copy_(y)
{o}.data = y
{o}.set_(y)
{o}.transpose(1, 2).mul_(2)
{o}.view(-1)[:9] = 3.0
{o}.unbind(0)[0].mul_(2)
{o}.flatten()[0] = 7.0
{o}.index_copy_(2, torch.tensor([1]), y[:, :, :1].contiguous())
{o}.masked_fill_(y > 0, 0.25)
torch.add(x, y, out={o})
torch.mul(y, 0.5, out={o})
torch.neg({p}, out={o})
torch.relu_({o})
F.relu({o}, inplace=True)
nn.ReLU(inplace=True)({o})
F.silu({o}, inplace=True)
F.dropout({o}, 0.5, False).mul_(2)
self.drop({o}).mul_(2)
self.nothing({o}).mul_(2)
(+{o}).mul_(2)
torch._foreach_mul_([{o}], 2.0)
bump({o})
bump_first(items)
bump_first([{o}])
self.put({o})
self.put(y)
for t in items:\n            t.mul_(2)
for t in (self.a, x):\n            t.add_(1)
for t in cache.values():\n            t.mul_(2)
for t in self.buffers():\n            t.mul_(1.5)
for n, t in self.named_buffers():\n            t.mul_(1.5)
for n, t in vars(self.kept).items():\n            setattr(self.kept, n, t * 2)
[t.mul_(2) for t in items]
list(map(bump, items))
items[0] = y
items[1], items[0] = items[0], items[1]
items.reverse()
items.pop()
cache['k'] = y
cache.update(k=y)
cache.update({{'k': {o}}})
cache['k'], cache['v'] = cache['v'], cache['k']
self.a = y
setattr(self, 'a', y)
setattr(self, 'a' if self.flag else 'b', y)
for n in ('a', 'e'):\n            setattr(self, n, y)
self.table['k'] = y
self.kept.k = y
self.kept = types.SimpleNamespace(k=y, eps=0.5)
self.e = {o}
self.g = {o}
k = y
k = {o}
x = y
x = x + 1
y, x = x, y
if self.flag:\n            {o}.mul_(2)
if self.flag:\n            x = y
with torch.no_grad():\n            {o}.add_(1)
with Writer({o}):\n            pass
with Writer({o}) as t:\n            t.mul_(2)
Writer(y)({o})
(lambda t: t.mul_(2))({o})
functools.partial(bump, {o})()
alias = {o}\n        alias.mul_(2)
alias, other = {o}.chunk(2, dim=-1)\n        alias.mul_(2)
alias = {o}.view(2, 3, 40)\n        alias[:, 0] = 0.0
alias = {o}.detach()\n        alias += 1
alias = same({o})\n        alias.mul_(2)
alias = {o}.to(torch.float32)\n        alias.mul_(2)
alias = {o}.reshape(2, 15, 8)\n        alias[0].mul_(2)
alias = {o}.expand(2, 3, 5, 8)\n        alias.mul_(2)
alias = {o}.numpy()\n        alias *= 2
alias = [{o}, y]\n        alias[0].mul_(2)
{o}.__setitem__(0, 1.0)
{o}.__imul__(2)
torch.Tensor.mul_({o}, 2)
torch.Tensor.copy_({o}, y)
def inner():\n            {o}.mul_(2)\n        inner()
self.keys(y)
self.look(y)
self.norm.reset_parameters()
self.norm.weight.data.mul_(2)
self.norm.weight.mul_(2)
self.norm.bias.add_(1)
self.norm.eps = 0.5
self.bare.eps = 0.5
self.norm.weight = nn.Parameter(torch.ones(8) * 3)
self.rms.eps = 0.5
self.rms.weight.data += 1
nn.init.constant_(self.norm.weight, 0.3)
setattr(self.norm, 'eps', 0.25)
self.weight.mul_(2)
self.weight.data = torch.ones(8)
self.norm = self.bare
self.kept.eps = 0.5
self.norm.load_state_dict({{'weight': torch.ones(8) * 2, 'bias': torch.ones(8)}})
for p in self.parameters():\n            p.mul_(0.5)
self.norm.register_buffer('spare', None)
self.norm.train()
self.norm.half().float()
self.rms.to(torch.bfloat16).float()
self.seen
self.seen = y
self.seen = {o}
setattr(self, 'seen', {o})
t = self.seen
self.seen.mul_(2)
self.hooked.k = {o}
self.hooked.spare = {o}
setattr(self.hooked, 'k', {o})
self.hooked.read
self.hooked[0]
self.hooked[0] = {o}
self.hooked.__setattr__('k', {o})
object.__setattr__(self.hooked, 'k', {o})
vars(self.hooked)['k'] = {o}
self.register_buffer('a', y)
self.register_buffer('b', {o})
self.register_buffer('a' if self.flag else 'c', y)
self.register_buffer(name='a', tensor=y)
self.register_parameter('weight', nn.Parameter(torch.ones(8) * 3))
self.norm.register_parameter('weight', nn.Parameter(torch.ones(8) * 3))
self._buffers['a'] = y
self._buffers['b'] = {o}
self._buffers.update(a=y)
self._buffers.update({{'a': {o}}})
self._buffers['a'].mul_(2)
buffers = self._buffers\n        buffers['a'] = y
for n in self._buffers:\n            self._buffers[n] = y
self._parameters['weight'] = nn.Parameter(torch.ones(8) * 3)
self.norm._parameters['weight'] = nn.Parameter(torch.ones(8) * 3)
self._modules['norm'] = self.bare
self.add_module('norm', self.bare)
self.__dict__['e'] = y
self.__dict__['w'] = {o}
self.__dict__.update(e={o})
self.__dict__['e'].mul_(2)
vars(self)['e'] = y
vars(self).update(e=y)
vars(self.norm)['eps'] = 0.5
self.norm.__dict__['eps'] = 0.5
self.__setattr__('a', y)
nn.Module.__setattr__(self, 'a', {o})
object.__setattr__(self, 'e', {o})
super().__setattr__('a', {o})
many[0].mul_(2)
many[-1].add_(1)
many[-1][0] = 1.0
many[0][:, :, -1:] = y[:, :, :1]
for t in many:\n            t.mul_(2)
for i in range(len(many)):\n            many[i] *= 2
for i, t in enumerate(many):\n            t.mul_(2)
for t, u in zip(many, items):\n            t.copy_(u)
bump_first(many)
list(map(bump, many))
[t.add_(1) for t in many]
torch._foreach_mul_(many, 2.0)
(many + [y])[0].mul_(2)
[*many][0].mul_(2)
(*many,)[-1].mul_(2)
next(iter(many)).mul_(2)
many.pop().mul_(2)
many.pop(0)
many[0] = y
many.reverse()
many.sort(key=lambda t: t.sum().item())
many.clear()
also[0].mul_(2)
first, *_ = many\n        first.mul_(2)
first = many[0]\n        first += 1
table['k'].mul_(2)
table['k'][:, :, :1] = 0.5
table['k'] *= 2
table.get('k').add_(1)
for t in table.values():\n            t.mul_(2)
for n, t in table.items():\n            t.mul_(2)
table['k'][0].mul_(2)
bump_first(table['k'])
table.pop('k').mul_(2)
table['k'] = y
table['all'][0].mul_(2)
self.kept.many[0].mul_(2)
self.held[-1].mul_(2)
self.held[0] = y
for t in self.held:\n            t.mul_(2)
bump_first(self.held)
alias.mul_(2)
alias[0] = 1.0
pair[0].mul_(2)
pair[0][0].mul_(2)
for t in pair:\n            t.mul_(2)
rest[0].mul_(2)
for _ in lazy:\n            pass
next(lazy)
[*lazy]
list(lazy)
tuple(t for t in lazy)
first, *_ = lazy
any(False for _ in lazy)
run()
run({o})
run(2)
(alias := {o}).mul_(2)
({o} if self.flag else {p}).mul_(2)
try:\n            {o}.mul_(2)\n        finally:\n            pass
try:\n            {o}.mul_(2)\n            many[9]\n        except (IndexError, NameError):\n            pass
while True:\n            {o}.mul_(2)\n            break
match x.shape:\n            case _:\n                {o}.mul_(2)
bump(*[{o}])
bump(**{{'t': {o}}})
exec("x.mul_(2)")
eval("self.e.mul_(2)")
self.layers[0](y)
self.layers[-1]({o})
for layer in self.layers:\n            layer(y)
self.layers[0].k.mul_(2)
store_global(y)
store_global({o})
GLOBAL[0].mul_(2)
GLOBAL[0] = y
torch.einsum('bhid->bhid', {o}).mul_(2)
assert {o}.mul_(2) is not None
lookup = {{'f': bump}}\n        lookup['f']({o})
type(self).shared = y
Program{number}.shared = y
self.shared.mul_(2)
for t in [{o}, {p}]:\n            t *= 2
for n in 'kv':\n            cache[n] = cache[n] * 2
for i, t in enumerate(items):\n            items[i] = t * 2
{o}, {p} = {p}, {o}
del items[0]
del many[0]
del table['k']
del cache['v']
self.kept.eps *= 2
self.norm.eps *= 2
self.scale *= 2
self.hooked[0] += 1
self.seen += 1
self.kept.__dict__['k'] = y
self.kept.__dict__.update(k=y)
x, k = k, x
cache, table = table, cache
with Writer({o}) as many:\n            pass
with doubled_behind({o}):\n            pass
with kept({o}) as t:\n            t.mul_(2)
stack.enter_context(Writer({o}))
stack.enter_context(doubled_behind({o}))
stack.callback(bump, {o})
stack.push(Writer({o}))
held = Writer({o})\n        with held:\n            pass
doubled_behind({o}).__enter__()
({o}, {p})[0].set_(y)
({o}, {p})[0].data = y
[{o}, {p}][-1].data = y
list(map(run, items))
list(map(self.put, items))
list(map(Writer(y), items))
list(filter(bump, items))
sorted(items, key=lambda t: t.mul_(2).sum().item())
functools.reduce(lambda u, t: t.mul_(2), items, None)
torch.utils._pytree.tree_map(bump, items)
def inner(t):\n            t.mul_(2)\n        list(map(inner, items))
inner = lambda t: t.mul_(2)\n        [inner(t) for t in items]
run[0]({o})
run[0]()
run['k']({o})
run['k']()
for r in run:\n            r({o})
for r in run:\n            r()
""".strip().split("\n")
PUTS = [
    "self.a.mul_(2)", "self.b.copy_(t)", "t.mul_(2)", "self.norm.eps = 0.5", "self.norm.weight.mul_(2)", "pass",
    "return t + 1", "self.kept.k.add_(t)", "self.table['k'] = t", "self.a = t", "bump(self.a)",
    "for p in self.buffers():\n            p.mul_(2)", "self.seen = t", "self.register_buffer('a', t)",
    "vars(self)['e'] = t", "self._buffers['b'] = t", "self.held.append(t)", "self.hooked.k = t", "setattr(self, 'e', t)",
    "self.seen", "u = list(self.held)\n        u[0].mul_(2)", "u = [self.a, t]\n        u[-1].mul_(2)",
    "u = self.held + [t]\n        bump_first(u)", "del self.held[0]", "self.scale *= 2", "for u in self.held:\n            bump(u)",
]  # fmt: skip
GETTERS = [
    "return self.b", "return self.b + 1", "self.a.mul_(2)\n        return self.c", "bump(self.a)\n        return self.b",
    "self.e = self.e + 1\n        return self.e", "vars(self)['e'] = self.b\n        return self.c",
    "return self.held[0]", "self.norm.weight.data.mul_(2)\n        return self.d", "return self.b.mul_(2)",
]  # fmt: skip
SETTERS = [
    "self.a.copy_(t)", "t.mul_(2)", "self.e = t", "bump(t)", "self.held[0] = t", "self.held[1].add_(t)", "pass",
    "self._buffers['b'] = t", "self.norm.eps = 0.5", "self.g.mul_(2)",
]  # fmt: skip
HOOKS = [
    "vars(self)[name] = t", "vars(self)[name] = t\n        self.other.mul_(2)", "object.__setattr__(self, name, t)",
    "t.mul_(2)", "self.k.copy_(t)", "pass", "self.__dict__[name] = t * 2",
]  # fmt: skip
HOOKED_READS = [
    "return self.k", "self.k.mul_(2)\n        return self.other", "self.other.add_(1)\n        return self.k * 1",
    "bump(self.other)\n        return self.k", "return self.other",
]  # fmt: skip
HOOKED_ENTRIES = ["self.k.copy_(t)", "t.mul_(2)", "self.other = t", "vars(self)['k'] = t", "bump(self.k)", "pass"]
# What the class stores besides, so that what its attributes hold is no longer theirs alone.
MADE = [
    "pass", "pass", "pass", "self.e = self.g", "self.also = self.e", "self.e = self.g = torch.ones(2, 3, 5, 8)",
    "self.__dict__['e'] = self.g", "vars(self)['e'] = self.g", "setattr(self, 'e', self.b)", "self.also = [self.e]",
    "self._buffers['a'] = self.b", "self._buffers.update(a=self.b)", "self.register_buffer('a', self.b)",
    "self.e.data = self.g", "self.e.set_(self.g)", "object.__setattr__(self, 'e', self.a)", "self.seen = self.g",
    "for n in ('e', 'g'):\n            setattr(self, n, self.a)", "vars(self).update(e=self.g)",
    "self.__dict__.update({'e': self.g})", "self.e, self.g = self.g, self.g", "this = self\n        this.e = self.g",
]  # fmt: skip
LOCALS = [
    "x", "y", "self.a", "self.b[:, :, :5]", "cache['k']", "items[0]", "x.clone()", "self.a * 1", "self.w",
    "x.transpose(1, 2).transpose(1, 2)", "same(y)", "self.kept.k", "items[0] if self.flag else y",
]  # fmt: skip
FORMS = [
    ["s = {a} @ {b}.transpose(-1, -2) / math.sqrt(8)", "o = F.softmax(s, dim=-1) @ {c}"],
    ["s = {a} @ {b}.transpose(-1, -2) / math.sqrt(8)", "p = s.softmax(-1)", "o = p @ {c}"],
    ["t = {b}.transpose(-2, -1)", "s = torch.matmul({a}, t) * 8 ** -0.5", "p = F.softmax(s, -1)",
     "o = torch.matmul(p, {c})"],
    ["s = torch.einsum('bhid,bhjd->bhij', {a}, {b}) * 0.5", "s = s.softmax(dim=-1)",
     "o = torch.einsum('bhij,bhjd->bhid', s, {c})"],
    ["q2 = {a} * 8 ** -0.5", "s = q2 @ {b}.mT", "s = s + {c}[..., :5]", "o = s.softmax(-1) @ {c}"],
    ["k2 = {b}", "o = F.scaled_dot_product_attention({a}, k2, {c})"],
    ["q2, k2, v2 = (t.transpose(1, 2) for t in ({a}, {b}, {c}))",
     "o = F.scaled_dot_product_attention(q2, k2, v2)", "o = o.transpose(1, 2)"],
    ["q2 = {a}.transpose(1, 2)", "k2 = {b}.transpose(1, 2)", "v2 = {c}.transpose(1, 2)",
     "o = F.scaled_dot_product_attention(q2, k2, v2).transpose(1, 2)"],
    ["k2 = torch.cat([{b}, {c}], dim=2)", "o = F.scaled_dot_product_attention({a}, k2, k2)"],
    ["h1, h2 = {a}.chunk(2, dim=-1)", "r = torch.cat((-h2, h1), dim=-1)", "o = {a} * {b} + r * {c}"],
    ["r = torch.cat((-{a}[..., 4:], {a}[..., :4]), dim=-1)", "o = {a} * {b} + r * {c}"],
    ["h1, h2 = {a}.unflatten(-1, (4, 2)).unbind(-1)", "r = torch.stack([-h2, h1], dim=-1).flatten(-2)",
     "cs = {b}.cos()", "sn = {b}.sin()", "o = {a} * cs + r * sn"],
    ["v = {a}.pow(2).mean(-1, keepdim=True)", "t = {a} * torch.rsqrt(v + 1e-6)", "o = t * self.weight"],
    ["v = {a}.float().pow(2).mean(-1, keepdim=True)", "o = {a} * torch.rsqrt(v + self.kept.eps)",
     "o = self.weight * o"],
    ["n = self.norm({a})", "o = n * (1 + {b}) + {c}"],
    ["n = self.bare({a})", "m = 1 + {b}", "o = n * m", "o = o + {c}"],
    ["n = F.layer_norm({a}, (8,), self.norm.weight, self.norm.bias, self.norm.eps)", "o = n * (1 + {b}) + {c}"],
    ["n = F.layer_norm({a}, (8,), self.weight)", "o = n"],
    ["o = self.rms({a})", "o = o + {b}"],
    ["h = {a} + {b}", "o = self.norm(h)"],
    ["h = {a} + {b} * {c}", "o = self.bare(h) * (1 + {b}) + {c}"],
    ["g = torch.sigmoid(1.702 * {a})", "o = {a} * g"],
    ["g = F.silu({a})", "o = g * {b}"],
    ["g = F.gelu({a})", "o = {b} * g"],
    ["i = 0.7978845608028654 * ({a} + 0.044715 * {a} ** 3)", "o = 0.5 * {a} * (1.0 + torch.tanh(i))"],
    ["g = {a} * torch.sigmoid({a})", "o = g * {b}"],
    ["u, g = torch.cat([{a}, {b}], -1).chunk(2, dim=-1)", "o = u * F.gelu(g)"],
    ["s = {a} @ {b}.transpose(-1, -2)", "s = s - s.amax(-1, keepdim=True)", "o = s.softmax(-1) @ {c}"],
    ["s = {a} @ {b}.mT * self.scale", "o = F.softmax(s, -1) @ {c}"],
    ["s = {a} @ {b}.mT", "s = s.clamp(min=-5.0, max=5.0)", "o = F.softmax(s, -1) @ {c}"],
    ["s = {a} - {a}.amax(dim=-1, keepdim=True)", "o = s.softmax(-1)"],
]  # fmt: skip
RESULTS = ["o", "o", "o * 1", "o, k", "o, x", "o + o2", "(o, o2)"]


# What some statements of a program, a whole form's or a part of them, stand in.
BLOCKS = [
    "with Writer({o}):", "with Writer({o}) as many:", "with Writer({o}), Writer({p}):", "with doubled_behind({o}):",
    "with doubled_behind(t={o}):", "with doubled_around({o}) as t:", "with doubled_behind({o}), kept({p}):",
    "with kept({o}) as alias:", "with kept({o}):", "with kept([{o}, {p}]) as many:", "with torch.no_grad():",
    "with torch.enable_grad(), torch.no_grad():", "with contextlib.nullcontext({o}) as alias:", "with Behind([{o}]):",
    "with contextlib.suppress(IndexError):", "with contextlib.ExitStack() as stack:", "with self.keys.window({o}):",
    "with self.keys.window():", "with self.window({o}):", "with (Writer({o}) if self.flag else kept({p})):",
    "if self.flag:", "if x.shape[0] == 2:", "for _ in range(1):", "for _ in range(2):", "for alias in [{o}]:",
    "for alias in doubled([{o}]):", "while self.flag:",
]  # fmt: skip
# What ends such a block, if it is no `with`.
TRIED = [
    "finally:\n            {o}.mul_(2)", "except IndexError:\n            {o}.mul_(2)", "finally:\n            pass",
    "except IndexError:\n            pass\n        else:\n            {o}.mul_(2)",
]  # fmt: skip
# What another file does with a result.
READERS = [
    "o", "o", "o.view(2, -1)", "o.view(-1, 8)", "o.view(2, 3, 40)", "o.transpose(1, 2).view(2, 5, 24)",
    "torch.tensor(o.stride())", "torch.as_strided(o, (4,), (1,))", "o.flatten().mul_(2)",
    "torch.tensor(int(o.is_contiguous()))", "o.permute(0, 2, 1, 3).flatten(2).mul_(2)",
]  # fmt: skip
