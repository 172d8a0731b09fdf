"""The examples of docstrings and of the documentation."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest

import cotan as ct

MODULES = [m.name for m in pkgutil.walk_packages(ct.__path__, "cotan.") if m.name != "cotan._core"]
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["cotan", *MODULES])
def test_docstrings(name: str) -> None:
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module, extraglobs={"ct": ct, "np": np})
    assert not failed


def test_docstrings_have_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    counts = {
        name: sum(len(test.examples) for test in finder.find(importlib.import_module(name)))
        for name in ["cotan", *MODULES]
    }
    assert counts["cotan.numpy._reduce"] > 10 and counts["cotan._derivatives"] > 10
    assert sum(counts.values()) > 150


def test_public_functions_are_documented() -> None:
    for name in (
        "cotan",
        "cotan.numpy",
        "cotan.linalg",
        "cotan.nn",
        "cotan.random",
        "cotan.optim",
        "cotan.tree",
    ):
        module = importlib.import_module(name)
        for key in getattr(module, "__all__", vars(module)):
            value = getattr(module, key)
            if callable(value) and not key.startswith("_"):
                assert value.__doc__, f"{name}.{key}"


@pytest.mark.parametrize("path", ["docs/python.md"])
def test_documents(path: str) -> None:
    failed, count = doctest.testfile(
        str(ROOT / path), module_relative=False, optionflags=doctest.ELLIPSIS
    )
    assert count > 20 and not failed


def test_the_readme_of_the_package() -> None:
    text = (ROOT / "python" / "README.md").read_text()
    for block in re.findall(r"```python\n(.*?)```", text, re.S):
        exec(block, {})
