"""In which order a client hears of results and progress: as they were made, so that all that it waited for is there."""

from __future__ import annotations

import pytest
from executor_rig import BASE, MIB, PROGRESS, RESULT, Client, Shared, make_executor

from jitc.proxy.common.executor import Executor

FIRST, SECOND, EVENT = 11, 12, 21
ROUNDS = 200


@pytest.fixture(params=["0", "1", "2"])
def client(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, shared: Shared, executors: list[Executor]
) -> Client:
    """Of a worker of the software device, without shuffle and with two seeds."""
    monkeypatch.setenv("JITC_TEST_SHUFFLE", request.param)
    executors.append(make_executor())
    executors[0].open_session(shared.request())
    made = Client(executors[0])
    made.attach()
    for stream in (FIRST, SECOND):
        made.op("stream_create", stream, 1, 0)
    made.op("event_create", EVENT)
    assert made.call("allocate", BASE, 2 * MIB).status == 0
    return made


def heard(client: Client, kind: int, sequence: int, stream: int = 0) -> int:
    """The place at which the client heard of it, for the first time."""
    return next(
        place
        for place, one in enumerate(client.seen)
        if one.kind == kind and one.stream == stream and one.sequence >= sequence
    )


def test_an_events_progress_comes_before_the_answer_to_who_waits_for_it(client: Client) -> None:
    for _ in range(ROUNDS):
        client.op("fill", BASE, 64, 7, 1, stream=FIRST)
        record = client.op("event_record", EVENT, stream=FIRST)
        answer = client.call("event_synchronize", EVENT, stream=FIRST)
        assert heard(client, PROGRESS, record, FIRST) < client.seen.index(answer)


def test_a_numbers_result_comes_after_the_progress_of_what_it_came_after(client: Client) -> None:
    """Of another stream, whose event the copy's stream waits for."""
    for turn in range(ROUNDS):
        client.op("fill", BASE, 64, turn % 256, 1, stream=FIRST)
        record = client.op("event_record", EVENT, stream=FIRST)
        client.op("event_wait", EVENT, stream=SECOND)
        answer = client.call("copy_d2h", BASE, 1, stream=SECOND)
        assert answer.payload[0] == turn % 256
        assert heard(client, PROGRESS, record, FIRST) < client.seen.index(answer)


def test_results_and_progress_of_a_stream_are_in_order(client: Client) -> None:
    """Hundreds of ops in one message, which the worker may take in parts."""
    copies = [client.op("copy_d2h", BASE + 64 * (turn % 8), 64, stream=FIRST) for turn in range(1000)]
    client.flush()
    client.wait(lambda: copies[-1] in client.results)
    results = [one.sequence for one in client.seen if one.kind == RESULT and one.sequence in copies]
    assert results == copies
    told = 0
    for one in client.seen:
        if one.kind == PROGRESS and one.stream == FIRST:
            assert told <= one.sequence
            told = one.sequence
        elif one.kind == RESULT and one.sequence in copies:
            assert told < one.sequence, "progress passed an op before its result was there"
