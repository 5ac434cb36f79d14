"""Documents of the service's calls: what the executor takes, and that it refuses everything else by its key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from executor_rig import Control, Shared, make_executor
from google.protobuf.message_factory import GetMessageClass

from jitc.interpose.generator import messages_visitor
from jitc.proxy.common.executor import Executor, ExecutorError
from jitc.proxy.worker.json_codec import from_document, to_document
from jitc.v1 import control_pb2, worker_pb2

_SERVICE = worker_pb2.DESCRIPTOR.services_by_name["Worker"]


@pytest.fixture
def executor() -> Iterator[Executor]:
    shared, executor = Shared(), make_executor(Control())
    executor.open_session(shared.request())
    yield executor
    executor.close()
    shared.close()


WRONG: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("Fence", {"epoch": "7"}, '"epoch" has a wrong type'),
    ("Fence", {"epoch": -7}, '"epoch" has a wrong type'),
    ("Fence", {"epoch": 7.0}, '"epoch" has a wrong type'),
    ("Fence", {"epoch": 1 << 64}, '"epoch" has a wrong type'),
    ("Keep", {"timeout_ms": 1 << 32}, '"timeout_ms" has a wrong type'),
    ("Keep", {"timeout_ms": True}, '"timeout_ms" has a wrong type'),
    ("Tell", {"text": 7}, '"text" has a wrong type'),
    ("Resume", {"bound": "much"}, '"bound" has a wrong type'),
    ("Resume", {"slots": 7}, '"slots" is no list'),
    ("Resume", {"slots": [7, "eight"]}, '"slots" has a wrong type'),
    ("Resume", {"slots": [1 << 32]}, '"slots" has a wrong type'),
    ("SetPolicy", {"copy_all": 1}, '"copy_all" has a wrong type'),
    ("SetPolicy", {"known_ordinals": {}}, '"known_ordinals" is no list'),
    ("Rollback", {"replaced": [7]}, '"replaced" holds what is no message'),
    ("Rollback", {"replaced": [{"hash": "77"}]}, '"hash" is no hash in hex'),
    ("Rollback", {"replaced": [{"hash": "z" * 32}]}, '"hash" is no hash in hex'),
    ("Arm", {}, 'the request has no "fault"'),
    ("Arm", {"fault": []}, '"fault" is no message'),
    ("Arm", {"fault": {"skip": -1}}, '"skip" has a wrong type'),
    ("Undo", {}, 'unknown command "Undo"'),
)


@pytest.mark.parametrize(("method", "request_", "text"), WRONG, ids=lambda one: one if isinstance(one, str) else "")
def test_a_wrong_document_is_refused_by_its_key(
    executor: Executor, method: str, request_: dict[str, Any], text: str
) -> None:
    with pytest.raises(ExecutorError) as error:
        executor.command(method, {"session": 1, **request_})
    assert text in str(error.value)


def test_a_member_that_no_message_has_is_ignored(executor: Executor) -> None:
    executor.command("SetSpacing", {"session": 1, "every": 1, "colour": {"of": ["the", "sky"]}})


def test_a_session_that_is_not_there_is_named(executor: Executor) -> None:
    with pytest.raises(ExecutorError, match="this worker has no session 2"):
        executor.command("SetSpacing", {"session": 2, "every": 1})


@pytest.mark.parametrize("method", [one.name for one in _SERVICE.methods if one.name not in messages_visitor.OWN])
def test_every_call_of_the_service_is_the_executors(executor: Executor, method: str) -> None:
    """Whatever becomes of it in an idle session: it is known, and its reply has the message's fields alone."""
    described = _SERVICE.methods_by_name[method]
    request = GetMessageClass(described.input_type)()
    request.session = 1
    try:
        document = executor.command(method, to_document(request))
    except ExecutorError as error:
        assert "unknown command" not in str(error)
        return
    assert set(document) <= {field.name for field in described.output_type.fields}
    reply = GetMessageClass(described.output_type)()
    from_document(document, reply)
    assert to_document(reply) == json.loads(json.dumps(document))


def test_bytes_that_are_no_hash_are_refused_by_the_generator() -> None:
    with pytest.raises(ValueError, match="unique_id: bytes that are no hash"):
        messages_visitor._struct(control_pb2.JoinRequest.DESCRIPTOR)
