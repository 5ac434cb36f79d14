"""Fields of documents: the meaning, the unit and the first version of each.

Called by: the modules that describe documents; schema.py and tables.py, which read the descriptions.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

#: Units, as tables and schemas name them.
BYTES, SECONDS, TIME = "bytes", "seconds", "seconds since 1970"


def says(help: str, unit: str = "", since: str = "0.1", default: Any = dataclasses.MISSING) -> Any:
    """Describes a field of a document. help: half a sentence. since: the first version of jitc that has it. default:
    the value until a later author of the document fills it in."""
    return dataclasses.field(metadata={"help": help, "unit": unit, "since": since}, default=default)


@dataclass(frozen=True)
class Field:
    """The description of one field of a model."""

    name: str
    type: Any  # int, float, str, bool, a model, or a list, dict or optional of these
    help: str
    unit: str
    since: str


def fields_of(model: type) -> Iterator[Field]:
    """Returns the fields, in the order of the document."""
    hints = typing.get_type_hints(model)
    for one in dataclasses.fields(model):
        yield Field(one.name, hints[one.name], one.metadata["help"], one.metadata["unit"], one.metadata["since"])


@dataclass(frozen=True)
class Shape:
    """An analysed type: the type inside of a list or dictionary, and whether it may be null."""

    inner: type
    kind: str = "one"  # or "list", "dict"
    optional: bool = False

    @property
    def is_model(self) -> bool:
        return dataclasses.is_dataclass(self.inner)


def shape_of(annotation: Any) -> Shape:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        (inner,) = (one for one in arguments if one is not type(None))
        found = shape_of(inner)
        return Shape(found.inner, found.kind, optional=True)
    if origin in (list, dict):
        return Shape(arguments[-1], origin.__name__)
    return Shape(annotation)
