"""Tables of the documents' fields for `docs/cli.md`, made from the model.

Called by: `python -m jitc.proxy.status`. Promise: output depends only on the model; only the parts of the page between
two marks change.
"""

from __future__ import annotations

from collections.abc import Iterator

from .model import Field, fields_of, shape_of

_HEAD = "| field | type | what it says |\n|---|---|---|\n"


def page(text: str, models: dict[str, type]) -> str:
    """Returns the page with current tables. models: by the name in their marks. Raises ValueError if a mark is
    missing."""
    for name, model in models.items():
        begin, end = f"<!-- generated: {name} -->\n", f"<!-- end of {name} -->\n"
        if text.count(begin) != 1 or text.count(end) != 1:
            raise ValueError(f"docs/cli.md needs one {begin.strip()} and one {end.strip()}")
        before, rest = text.split(begin)
        text = before + begin + table(model) + end + rest.split(end)[1]
    return text


def table(model: type) -> str:
    return _HEAD + "".join(_rows(model, ""))


def _rows(model: type, path: str) -> Iterator[str]:
    """Returns the rows of its fields, and of those of the models in them."""
    for one in fields_of(model):
        shape = shape_of(one.type)
        place = path + one.name + {"list": "[]", "dict": "{}"}.get(shape.kind, "")
        yield f"| `{place}` | {_type_text(one)} | {one.help} |\n"
        if shape.is_model:
            yield from _rows(shape.inner, f"{place}.")


def _type_text(field: Field) -> str:
    shape = shape_of(field.type)
    names = {int: "number", float: "number", str: "text", bool: "true or false"}
    inner = "object" if shape.is_model else field.unit or names[shape.inner]
    text = {"one": inner, "list": f"list: {inner}", "dict": f"by name: {inner}"}[shape.kind]
    return f"{text}, or null" if shape.optional else text
