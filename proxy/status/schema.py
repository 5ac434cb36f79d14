"""JSON Schema files of the documents, made from the model.

Called by: `python -m jitc.proxy.status`. Promise: output depends only on the model. Objects may have further keys: a
later version may add some.
"""

from __future__ import annotations

import json
from typing import Any

from .model import Field, fields_of, shape_of

_TYPES = {int: "integer", float: "number", str: "string", bool: "boolean"}
_DRAFT = "https://json-schema.org/draft/2020-12/schema"


def schema(model: type, title: str) -> str:
    """Returns the text of the file."""
    definitions: dict[str, Any] = {}
    whole = _object(model, definitions)
    found = {"$schema": _DRAFT, "title": title, **whole, "$defs": dict(sorted(definitions.items()))}
    return json.dumps(found, indent=2) + "\n"


def _object(model: type, definitions: dict[str, Any]) -> dict[str, Any]:
    fields = list(fields_of(model))
    return {
        "type": "object",
        "description": " ".join((model.__doc__ or "").split()),
        "properties": {one.name: _property(one, definitions) for one in fields},
        "required": [one.name for one in fields],
    }


def _property(field: Field, definitions: dict[str, Any]) -> dict[str, Any]:
    shape = shape_of(field.type)
    if shape.is_model:
        name = shape.inner.__name__
        if name not in definitions:
            definitions[name] = {}  # a model that names itself would end here
            definitions[name] = _object(shape.inner, definitions)
        inner: dict[str, Any] = {"$ref": f"#/$defs/{name}"}
    else:
        inner = {"type": _TYPES[shape.inner]}
    if shape.kind == "list":
        inner = {"type": "array", "items": inner}
    elif shape.kind == "dict":
        inner = {"type": "object", "additionalProperties": inner}
    if shape.optional:
        inner = {"anyOf": [inner, {"type": "null"}]}
    text = f"{field.help} ({field.unit})" if field.unit else field.help
    return inner | {"description": text, "x-since": field.since}
