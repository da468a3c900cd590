"""What a preparation did: the changes that stand, and what was left alone and why. Entry point: ``Report``."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Entry:
    """One change or one thing left alone.

    step: the name of the step. where: the qualified name of the module, "" for the whole model. text: what was done, or
    why nothing was.
    """

    step: str
    where: str
    text: str


@dataclass
class Report:
    """The result of ``mindiesd.prepare``; ``str`` of it is a table.

    steps: the names of those that were to run, in order. changes: what stands, one entry a module or group of modules.
    left: what was left alone, and steps that were taken back. errors: for each step that ran and was compared, by how
    much the example results differ from those before the step, of the largest element. tolerances: what each of these
    steps was allowed. notes: what else a user ought to know.
    """

    speed: str
    steps: list[str] = field(default_factory=list)
    changes: list[Entry] = field(default_factory=list)
    left: list[Entry] = field(default_factory=list)
    errors: dict[str, float] = field(default_factory=dict)
    tolerances: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    _model: object = field(default=None, repr=False, compare=False)

    def count(self, step):
        """How many changes of this step stand."""
        return sum(entry.step == step for entry in self.changes)

    def why(self, where):
        """The reasons for which the module of this name was left alone."""
        return [entry.text for entry in self.left if entry.where == where]

    @property
    def graphs(self):
        """What makes the model's calls by CUDA graphs (``mindiesd.graphed``), None where nothing does."""
        from .takeover import taken

        return getattr(taken(self._model), "graphs", None)

    def restore(self):
        """Takes all changes back; see ``mindiesd.prepare.restore``."""
        from .change import restore

        restore(self._model)

    def __str__(self):
        lines = [f"mindiesd.prepare, speed {self.speed!r}"]
        for step in self.steps:
            compared = "not compared"
            if step in self.errors:
                compared = f"error {self.errors[step]:.2g} of at most {self.tolerances[step]:.2g}"
            lines.append(f"{step}: {self.count(step)} changed, {compared}")
            lines += _rows("  + ", [entry for entry in self.changes if entry.step == step])
            lines += _rows("  - ", [entry for entry in self.left if entry.step == step])
        return "\n".join(lines + [f"note: {note}" for note in self.notes])


_SHOWN = 3  # names in a row of the table


def _rows(mark, entries):
    """A row for each text, with the names of the modules it holds for."""
    places = {}
    for entry in entries:
        places.setdefault(entry.text, []).append(entry.where or "(model)")
    rows = []
    for text, names in places.items():
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        rows.append(f"{mark}{', '.join(names[:_SHOWN])}{more}: {text}")
    return rows
