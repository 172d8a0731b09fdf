"""The functions of the library by the table of cases that all front ends share: values and gradients of
NumPy and SciPy, recorded in ``tests/library/cases.json``.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cotan as ct
import cotan.numpy as cnp
from cotan._operation import row

PATH = Path(__file__).parents[2] / "tests" / "library" / "cases.json"
DTYPES = {"f64": np.float64, "i64": np.int64, "bool": np.bool_}


def array(case: dict[str, Any]) -> Any:
    values = np.array([float(x) if isinstance(x, str) else x for x in case["values"]])
    return values.astype(DTYPES[case["dtype"]]).reshape(case["shape"])


def called(case: dict[str, Any], arrays: dict[str, Any]) -> list[Any]:
    args: dict[str, Any] = {}
    for name, value in case["args"].items():
        if isinstance(value, dict):
            # Complex numbers are recorded by their parts.
            stem = name.removesuffix("_re").removesuffix("_im")
            both = f"{stem}_re" in case["args"]
            args[stem if both else name] = (
                [arrays[f"{stem}_re"], arrays[f"{stem}_im"]] if both else arrays[name]
            )
        else:
            args[name] = value.strip("`") if isinstance(value, str) else value
    # Real numbers in the place of complex ones, and one integer in the place of several.
    if "z" in args and not isinstance(args["z"], list):
        args["z"] = [args["z"]]
    ints = [k for k, v in args.items() if type(v) is int]
    for lists in itertools.product([False, True], repeat=len(ints)):
        several = {k: [args[k]] for k, is_list in zip(ints, lists, strict=True) if is_list}
        try:
            made = row(case["function"], **{**args, **several})
            break
        except TypeError:
            continue
    else:
        raise TypeError(f"{case['function']} does not take {args}")
    return list(made) if isinstance(made, tuple) else [made]


def weighted(made: list[Any]) -> Any:
    """The sum of the floats, with the weights cos(0), cos(1), .. of the recorded gradients."""
    floats = [x for x in made if x.dtype.kind == "f"]
    total, first = 0.0, 0
    for x in floats:
        total = total + cnp.sum(cnp.ravel(x) * np.cos(np.arange(first, first + x.size)))
        first += x.size
    return total


CASES = json.loads(PATH.read_text()) if PATH.exists() else []


@pytest.mark.skipif(not CASES, reason="the sources are not here")
def test_functions_have_the_values_and_gradients_of_numpy() -> None:
    for case in CASES:
        arrays = {k: array(v) for k, v in case["args"].items() if isinstance(v, dict)}
        found = ct.jit(lambda arrays, case=case: called(case, arrays))(arrays)
        expected = [array(value) for value in case["values"]]
        what = f"{case['function']}: {case['args']}"
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12, err_msg=what)
        wrt = {k: arrays[k] for k in case["gradients"]}
        if not wrt:
            continue
        rest = {k: x for k, x in arrays.items() if k not in wrt}
        f = lambda wrt, rest, case=case: weighted(called(case, {**wrt, **rest}))
        slopes = ct.grad(f)(wrt, rest)
        for name, value in case["gradients"].items():
            np.testing.assert_allclose(
                slopes[name], array(value), rtol=1e-7, atol=1e-7, err_msg=f"{name} of {what}"
            )
