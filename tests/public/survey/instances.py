"""Objects of a package's classes, so that their methods can be run.

Entry points: `drawn`, one object of each version of a class with the same drawn parameters, and
`size`, how many parameters an object would have: with their defaults whole models have billions.
"""

import inspect

import torch

from survey import draws

MOST = 20_000_000  # parameters of an object that is drawn: 80 MB in float32, and three are made


def size(cls: type) -> int:
    """The number of parameters of an object of the class, 0 where that cannot be told without making it."""
    try:
        with torch.device("meta"):
            made = cls(**_arguments(cls))
        return sum(value.numel() for value in made.parameters())
    except Exception:  # whatever the package's code raises: it will raise it again, or takes no meta tensors
        return 0


def drawn(classes, draw) -> list:
    """One instance of each class, with the same drawn parameters."""
    made = [cls(**_arguments(cls)) for cls in classes]
    if not all(isinstance(one, torch.nn.Module) for one in made):
        return made
    state = {
        name: 1 + 0.3 * draw.table(tuple(value.shape)) if value.is_floating_point() else value
        for name, value in made[0].state_dict().items()
    }
    for one, wide in zip(made, (False, False, True), strict=True):
        one.eval().to(torch.float64 if wide else draw.table_type)
        one.load_state_dict({n: _widened(v) if wide else v for n, v in state.items()}, strict=True)
    return made


def _widened(value: torch.Tensor) -> torch.Tensor:
    if value.is_complex():
        return value.to(torch.complex128)
    return value.double() if value.is_floating_point() else value


def _arguments(cls: type) -> dict:
    """Arguments of the constructor by their names; what has a default keeps it unless it is None."""
    arguments = {}
    for parameter in list(inspect.signature(cls.__init__).parameters.values())[1:]:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        known = draws.Mock.KNOWN.get(parameter.name, draws.number(parameter.name))
        if parameter.default is parameter.empty:
            is_config = "config" in parameter.name
            arguments[parameter.name] = (
                draws.Mock() if is_config else draws.CHANNELS if known is None else known
            )
        elif parameter.default is None and draws.number(parameter.name) is not None:
            arguments[parameter.name] = known
    return arguments
