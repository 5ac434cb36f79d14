"""Protobuf messages as plain dictionaries with the field names of the .proto, and back.

Called by: the worker's control plane. The executor speaks JSON with whole numbers as numbers and bytes in hex;
protobuf's own JSON form (64-bit numbers as strings, base64, other names) is neither. Promise: every field of a message
is in its document, except a message field that is not set.
"""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

_PLAIN = (str, int, float, bool)


def to_document(message: Message) -> dict[str, Any]:
    """Returns every field, also one with its default; a message field only when it is set."""
    document: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        if field.is_repeated:
            document[field.name] = [_plain(item) for item in value]
        elif field.type != FieldDescriptor.TYPE_MESSAGE or message.HasField(field.name):
            document[field.name] = _plain(value)
    return document


def from_document(document: dict[str, Any], message: Message) -> None:
    """Fills the message. Keys that the message does not have are ignored: the executor may say more."""
    for field in message.DESCRIPTOR.fields:
        if field.name not in document:
            continue
        value = document[field.name]
        if field.is_repeated:
            _fill_repeated(field, value, getattr(message, field.name))
        elif field.type == FieldDescriptor.TYPE_MESSAGE:
            getattr(message, field.name).SetInParent()  # also where it has no content
            from_document(value, getattr(message, field.name))
        else:
            setattr(message, field.name, _scalar(field, value))


def _fill_repeated(field: Any, values: list[Any], target: Any) -> None:
    for value in values:
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            from_document(value, target.add())
        else:
            target.append(_scalar(field, value))


def _scalar(field: Any, value: Any) -> Any:
    return bytes.fromhex(value) if field.type == FieldDescriptor.TYPE_BYTES else value


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    return value if isinstance(value, _PLAIN) else to_document(value)
