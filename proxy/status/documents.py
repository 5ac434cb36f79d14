"""Documents of the model: converts them to JSON values, and checks JSON values.

Called by: the code that fills models in; tests, which check the output of commands.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from .model import Field, Shape, fields_of, shape_of

_PLAIN: dict[type, tuple[type, ...]] = {int: (int,), float: (int, float), str: (str,), bool: (bool,)}


def document(one: Any) -> dict[str, Any]:
    """Returns the JSON object of a model's instance, its keys in the order of the model."""
    found: dict[str, Any] = dataclasses.asdict(one)
    return found


def mistakes(value: Any, model: type, path: str = "") -> Iterator[str]:
    """Returns why a JSON value is no document of the model, each reason with its place: missing keys, keys that no
    field has, values of another type."""
    if not isinstance(value, Mapping):
        yield f"{path or 'the document'} is no object"
        return
    known = {one.name: one for one in fields_of(model)}
    yield from (f"{path}/{name} is missing" for name in known.keys() - value.keys())
    yield from (f"{path}/{name} is in no model" for name in value.keys() - known.keys())
    for name in known.keys() & value.keys():
        yield from _of_field(value[name], known[name], f"{path}/{name}")


def _of_field(value: Any, field: Field, path: str) -> Iterator[str]:
    shape = shape_of(field.type)
    if value is None and shape.optional:
        return
    if shape.kind == "list":
        if not isinstance(value, list):
            yield f"{path} is no list"
            return
        for at, one in enumerate(value):
            yield from _of_one(one, shape, f"{path}[{at}]")
    elif shape.kind == "dict":
        if not isinstance(value, Mapping):
            yield f"{path} is no object"
            return
        for name, one in value.items():
            yield from _of_one(one, shape, f"{path}/{name}")
    else:
        yield from _of_one(value, shape, path)


def _of_one(value: Any, shape: Shape, path: str) -> Iterator[str]:
    if shape.is_model:
        yield from mistakes(value, shape.inner, path)
    elif not isinstance(value, _PLAIN[shape.inner]) or (isinstance(value, bool) and shape.inner is not bool):
        yield f"{path} is {value!r}, not a value of type {shape.inner.__name__}"
