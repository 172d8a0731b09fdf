"""What the examples in docstrings may use without importing it."""

import cotan as ct
import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _names(doctest_namespace: dict[str, object]) -> None:
    doctest_namespace.update(ct=ct, np=np)
