"""Looking inside programs: what is added to the class that Rust defines."""

from __future__ import annotations

import html

from ._core import Program
from ._function import Cost


def explain(self: Program) -> str:
    """Every stage, readable: as traced, in bulk operations, optimised, and what a call costs."""
    cost = self.cost()
    return (
        f"# as traced\n{self.source}\n# in bulk operations\n{self.bulk}\n"
        f"# optimised\n{self.optimised}\n"
        f"# cost of a call: {cost.operations} operations, {cost.bytes} bytes of arrays made, "
        f"{cost.peak_bytes} at once; run by {self.backend}\n"
    )


def cost(self: Program) -> Cost:
    """What one call costs, counted from the program."""
    return Cost(*self.cost_numbers())


def _repr(self: Program) -> str:
    return self.source


def _repr_html(self: Program) -> str:
    stages = (("as traced", self.source), ("bulk", self.bulk), ("optimised", self.optimised))
    cells = "".join(
        f'<td style="text-align:left;vertical-align:top"><pre>{html.escape(text)}</pre></td>'
        for _, text in stages
    )
    heads = "".join(f"<th>{name}</th>" for name, _ in stages)
    return f"<table><tr>{heads}</tr><tr>{cells}</tr></table>"


for name, value in {
    "explain": explain,
    "cost": cost,
    "__repr__": _repr,
    "_repr_html_": _repr_html,
}.items():
    setattr(Program, name, value)
