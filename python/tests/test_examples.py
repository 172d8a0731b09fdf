"""The examples of the repository run, each on its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "python"
NEEDED = {"minimize.py": "scipy", "sparse.py": "scipy", "with_jax.py": "jax", "with_torch.py": "torch"}


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.name)
def test_example(path: Path, tmp_path: Any) -> None:
    needed = NEEDED.get(path.name)
    if needed:
        pytest.importorskip(needed, reason=f"{needed} is not installed")
    done = subprocess.run(
        [sys.executable, path, tmp_path / "picture.png"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=120,
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_there_are_examples() -> None:
    assert len(list(FOLDER.glob("*.py"))) >= 5
