"""The model of documents: what is made of it, and that commands print the documents that it describes."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import pytest
from toolkit.documents import example, refusals
from toolkit.tree import ROOT

from jitc.proxy.status import schema, tables
from jitc.proxy.status.__main__ import DOCUMENTS, TABLES, main, outputs
from jitc.proxy.status.documents import document, mistakes
from jitc.proxy.status.model import BYTES, fields_of, says, shape_of

EXAMPLES = {one: f"jitc {one} --json" for one in ("status", "report", "version", "demo", "doctor")}
EXAMPLES["cluster"] = "jitc cluster show --json"


@dataclass(frozen=True, kw_only=True)
class Inner:
    """What is inside."""

    size: int = says("of it", BYTES)


@dataclass(frozen=True, kw_only=True)
class Made:
    """A made-up document."""

    name: str = says("of it")
    inner: list[Inner] = says("parts")
    named: dict[str, float] = says("by name", since="0.2")
    maybe: int | None = says("may be null")


GOOD: dict[str, Any] = {"name": "a", "inner": [{"size": 3}], "named": {"x": 1}, "maybe": None}


def test_what_was_generated_is_what_is_there() -> None:
    assert main(["--check"]) == 0
    assert len(outputs()) == len(DOCUMENTS) + 1


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_of_the_page_are_documents_of_the_model(name: str) -> None:
    assert list(mistakes(example(EXAMPLES[name]), DOCUMENTS[name])) == []
    assert refusals(example(EXAMPLES[name]), name) == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_schemas_are_schemas_and_refuse(name: str) -> None:
    from jsonschema import Draft202012Validator

    file = ROOT / "proxy" / "status" / f"generated_{name}.schema.json"
    Draft202012Validator.check_schema(json.loads(file.read_text()))
    assert refusals({}, name) and refusals([], name) and refusals(None, name)
    if name in EXAMPLES:
        whole = example(EXAMPLES[name])
        for key in whole:
            assert refusals({one: value for one, value in whole.items() if one != key}, name), key
            assert refusals(whole | {key: {"text": [1]}}, name), key


def test_every_field_says_something() -> None:
    def models(model: type) -> set[type]:
        inner = {shape_of(one.type).inner for one in fields_of(model)}
        return {model}.union(*(models(one) for one in inner if is_dataclass(one)))

    found = set[type]().union(*(models(one) for one in (*DOCUMENTS.values(), *TABLES.values())))
    assert len(found) > 15
    for model in found:
        assert model.__doc__ and not model.__doc__.startswith(model.__name__ + "("), model
        for one in fields_of(model):
            assert one.help and "|" not in one.help and re.fullmatch(r"\d+\.\d+", one.since), (model, one.name)
        assert len(fields(model)) == len(list(fields_of(model)))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, []),
        ({"maybe": 3}, []),
        ({"named": {}}, []),
        ({"name": 7}, ["/name is 7, not a value of type str"]),
        ({"maybe": True}, ["/maybe is True, not a value of type int"]),
        ({"inner": [{"size": 3}, {}]}, ["/inner[1]/size is missing"]),
        ({"inner": {"size": 3}}, ["/inner is no list"]),
        ({"named": {"x": "much"}}, ["/named/x is 'much', not a value of type float"]),
        ({"more": 1}, ["/more is in no model"]),
        ({"inner": [4]}, ["/inner[0] is no object"]),
    ],
)
def test_mistakes_are_named_with_their_place(change: dict[str, Any], said: list[str]) -> None:
    assert list(mistakes(GOOD | change, Made)) == said


def test_an_instance_is_its_document() -> None:
    made = Made(name="a", inner=[Inner(size=3)], named={"x": 1.0}, maybe=None)
    assert document(made) == GOOD
    assert list(document(made)) == [one.name for one in fields_of(Made)]


def test_a_schema_says_what_the_model_says() -> None:
    found = json.loads(schema.schema(Made, "made"))
    assert found["required"] == ["name", "inner", "named", "maybe"]
    assert found["properties"]["inner"] == {
        "type": "array", "items": {"$ref": "#/$defs/Inner"}, "description": "parts", "x-since": "0.1",
    }  # fmt: skip
    assert found["properties"]["maybe"]["anyOf"] == [{"type": "integer"}, {"type": "null"}]
    assert found["properties"]["named"]["x-since"] == "0.2"
    assert found["$defs"]["Inner"]["properties"]["size"]["description"] == "of it (bytes)"


def test_a_table_has_a_row_for_each_field_at_any_depth() -> None:
    rows = tables.table(Made).splitlines()[2:]
    assert rows == [
        "| `name` | text | of it |",
        "| `inner[]` | list: object | parts |",
        "| `inner[].size` | bytes | of it |",
        "| `named{}` | by name: number | by name |",
        "| `maybe` | number, or null | may be null |",
    ]


def test_a_page_without_a_mark_is_refused() -> None:
    with pytest.raises(ValueError, match=r"docs/cli\.md needs one <!-- generated: made -->"):
        tables.page("nothing", {"made": Made})


def test_schemas_are_in_the_package() -> None:
    folder = ROOT / "proxy" / "status"
    assert {one.name for one in folder.glob("generated_*.json")} == {
        f"generated_{name}.schema.json" for name in DOCUMENTS
    }
