"""The examples of docstrings and of the documentation."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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


PUBLIC = ("", ".numpy", ".numpy.fft", ".linalg", ".nn", ".random", ".optim", ".tree")
# The one is for notebooks, which have a test; the other needs JAX, and has tests where it is.
WITHOUT = {"cotan.load_ipython_extension", "cotan.to_jax"}


def public() -> Iterator[tuple[str, Any]]:
    for part in PUBLIC:
        module = importlib.import_module("cotan" + part)
        for key in getattr(module, "__all__", vars(module)):
            value = getattr(module, key)
            if callable(value) and not key.startswith("_"):
                yield f"cotan{part}.{key}", value


def test_public_functions_are_documented() -> None:
    names = [name for name, value in public() if not value.__doc__]
    assert not names


def test_public_functions_have_examples_that_hold() -> None:
    """Also those that are made in loops and tables, which a module's doctests do not find."""
    lacking, checked = [], set()
    runner = doctest.DocTestRunner(verbose=False)
    for name, value in public():
        if isinstance(value, type) or name in WITHOUT:
            continue
        module = importlib.import_module(name.rpartition(".")[0])
        home = vars(importlib.import_module(value.__module__)) if value.__module__ else {}
        names = {**home, **vars(module), "ct": ct, "np": np}
        test = doctest.DocTestParser().get_doctest(value.__doc__, names, name, None, None)
        if not test.examples:
            lacking.append(name)
        runner.run(test)
        checked.add(name)
    assert not lacking
    assert len(checked) > 400 and not runner.summarize(verbose=False).failed


@pytest.mark.parametrize("page", ["python", "from-numpy", "from-pytorch"])
def test_documents(page: str) -> None:
    failed, count = doctest.testfile(
        str(ROOT / "docs" / f"{page}.md"), module_relative=False, optionflags=doctest.ELLIPSIS
    )
    assert count > 15 and not failed


@pytest.mark.parametrize("page", ["python", "from-numpy", "from-pytorch", "recipes"])
def test_names_in_documents_exist(page: str) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text()
    found = re.findall(r"\b(ct|cnp)((?:\.[a-zA-Z]\w*)+)", text)
    modules = {"ct": ct, "cnp": importlib.import_module("cotan.numpy")}
    for module, path in set(found):
        value: Any = modules[module]
        for name in path[1:].split("."):
            value = getattr(value, name)


@pytest.mark.parametrize("page", ["README.md", "python/README.md"])
def test_the_readme(page: str) -> None:
    text = (ROOT / page).read_text()
    for block in re.findall(r"```python\n(.*?)```", text, re.S):
        exec(block, {})
