"""The notebook runs: by nbconvert where it is installed, and cell by cell anyway."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import cotan as ct

NOTEBOOK = Path(__file__).parents[2] / "examples" / "python" / "tour.ipynb"


class Shell:
    """What the package needs of IPython."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        self.magics: dict[str, Any] = {}

    def push(self, names: dict[str, Any]) -> None:
        self.names.update(names)

    def register_magic_function(self, f: Any, kind: str) -> None:
        assert kind == "cell"
        self.magics[f.__name__] = f


def test_cells_run_one_after_the_other() -> None:
    shell = Shell()
    for cell in json.loads(NOTEBOOK.read_text())["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] != "code":
            continue
        if text.startswith("%%"):
            head, body = text.split("\n", 1)
            shell.magics[head[2:].split()[0]]("", body)
            continue
        lines = text.split("\n")
        if "%load_ext cotan" in lines:
            lines.remove("%load_ext cotan")
            ct.load_ipython_extension(shell)
        exec("\n".join(lines), shell.names)
    assert shell.names["at_rest"].shape == (5,)
    assert "<table>" in shell.names["gradient"]._repr_html_()


def test_nbconvert_executes_it(tmp_path: Path) -> None:
    pytest.importorskip(
        "nbconvert", reason="nbconvert is not installed: pip install nbconvert ipykernel"
    )
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    command = [sys.executable, "-m", "nbconvert", "--to", "html", "--execute", NOTEBOOK]
    done = subprocess.run(
        [*command, "--output-dir", tmp_path], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "as traced" in (tmp_path / "tour.html").read_text()
