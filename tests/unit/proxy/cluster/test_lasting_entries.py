"""What a node has in the store for as long as that has its data: which store it is, and which number is whose."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from toolkit.waiting import until

from jitc.proxy.cluster import keys
from jitc.proxy.cluster.lasting import Lasting
from jitc.proxy.cluster.nodes import CannotJoin
from jitc.proxy.cluster.store.clock import BootClock
from jitc.proxy.cluster.store.engine import Change, Unreachable
from jitc.proxy.cluster.store.engines.local import Dictionary, LocalEngine
from jitc.proxy.keeper.log import Log

SECONDS = 20.0
WHERE = "etcd://h:2379"


class Place:
    """Stores, and services of node n1 with number 5, each with the log of the one before."""

    def __init__(self, ends: ExitStack) -> None:
        self._ends = ends
        self.log = Log.make(lambda descriptor: None)
        ends.callback(self.log.close)

    def service(self, store: Dictionary, log: Log | None = None, engine: type[LocalEngine] = LocalEngine) -> Lasting:
        opened = engine(store)
        self._ends.callback(opened.close)
        made = Lasting(opened, self.log if log is None else log, "n1", 5, WHERE)
        self._ends.callback(made.close)
        return made


@pytest.fixture
def place() -> Iterator[Place]:
    with ExitStack() as ends:
        yield Place(ends)


@pytest.fixture
def store() -> Dictionary:
    return Dictionary(BootClock())


def remove(store: Dictionary, *names: str) -> None:
    for key in names:
        entry = store.entry(key)
        assert entry is not None, key
        store.swap([Change(key, entry.revision, None)])


def wait_value(store: Dictionary, key: str, value: bytes) -> None:
    until(lambda: (entry := store.entry(key)) is not None and entry.value == value, SECONDS, f"{key} is {value!r}")


def test_a_store_has_one_name_whoever_came_first(place: Place, store: Dictionary) -> None:
    other = Log.make(lambda descriptor: None)
    place.service(store).begin(has_jobs=False)
    name = place.log.get("cluster-store")
    place.service(store, other).begin(has_jobs=False)
    assert other.get("cluster-store") == name
    wait_value(store, keys.STORE, name.encode())
    place.service(store).begin(has_jobs=True)
    other.close()


@pytest.mark.parametrize("there", ["another one", "an empty one"])
def test_a_service_with_jobs_joins_no_other_store(place: Place, store: Dictionary, there: str) -> None:
    place.service(store).begin(has_jobs=False)
    second = Dictionary(BootClock())
    if there == "another one":
        other = Log.make(lambda descriptor: None)
        place.service(second, other).begin(has_jobs=False)
        other.close()
    before = second.state("").entries
    with pytest.raises(CannotJoin) as error:
        place.service(second).begin(has_jobs=True)
    assert f"the store at {WHERE} is not the one in which the jobs of this service began" in str(error.value)
    assert "--cluster" in str(error.value)
    assert second.state("").entries == before or there == "another one"
    place.service(store).begin(has_jobs=True)


def test_a_service_without_jobs_may_go_anywhere(place: Place, store: Dictionary) -> None:
    place.service(store).begin(has_jobs=False)
    before, second = place.log.get("cluster-store"), Dictionary(BootClock())
    place.service(second).begin(has_jobs=False)
    assert place.log.get("cluster-store") != before
    place.service(second).begin(has_jobs=True)


def test_a_service_of_before_stores_had_names_goes_on(place: Place, store: Dictionary) -> None:
    place.service(store).begin(has_jobs=True)
    wait_value(store, keys.STORE, place.log.get("cluster-store").encode())


def test_what_the_store_has_lost_is_written_again(place: Place, store: Dictionary) -> None:
    place.service(store).begin(has_jobs=False)
    wait_value(store, f"{keys.NUMBERS}n1", b"5")
    wait_value(store, keys.LAST_NUMBER, b"5")
    name = place.log.get("cluster-store").encode()
    remove(store, f"{keys.NUMBERS}n1", keys.LAST_NUMBER, keys.STORE)
    for key, value in ((keys.STORE, name), (f"{keys.NUMBERS}n1", b"5"), (keys.LAST_NUMBER, b"5")):
        wait_value(store, key, value)


def test_numbers_that_others_have_been_given_meanwhile_stay(place: Place, store: Dictionary) -> None:
    store.swap([Change(keys.LAST_NUMBER, 0, b"9"), Change(f"{keys.NUMBERS}n1", 0, b"2")])
    place.service(store).begin(has_jobs=False)
    wait_value(store, f"{keys.NUMBERS}n1", b"5")
    wait_value(store, keys.LAST_NUMBER, b"9")


def test_another_node_has_named_the_store_first_after_a_loss(place: Place, store: Dictionary) -> None:
    place.service(store).begin(has_jobs=False)
    entry = store.entry(keys.STORE)
    assert entry is not None
    store.swap([Change(keys.STORE, entry.revision, b"ab" * 16)])
    until(lambda: place.log.get("cluster-store") == "ab" * 16, SECONDS, "the next service knows it by that name")


def test_a_write_of_which_nobody_knows_whether_it_was_made(place: Place, store: Dictionary) -> None:
    class Forgetful(LocalEngine):
        calls = 0

        def compare_and_swap(self, changes: Any) -> Any:
            self.calls += 1
            outcome = super().compare_and_swap(changes) if self.calls % 3 else None
            from jitc.proxy.cluster.store.engine import Unknown

            return outcome if self.calls % 3 == 2 else Unknown("the test has lost the answer")

    place.service(store, engine=Forgetful).begin(has_jobs=False)
    for _ in range(3):
        wait_value(store, f"{keys.NUMBERS}n1", b"5")
        remove(store, f"{keys.NUMBERS}n1", keys.LAST_NUMBER, keys.STORE)
    wait_value(store, keys.STORE, place.log.get("cluster-store").encode())


def test_a_store_that_does_not_answer_is_not_waited_for_by_a_service_with_jobs(place: Place, store: Dictionary) -> None:
    """It goes on with them, and tries again."""

    class Dead(LocalEngine):
        def get(self, key: str) -> Any:
            raise Unreachable("nothing answers at h:2379")

    place.service(store).begin(has_jobs=False)
    with pytest.raises(CannotJoin, match="nothing answers at h:2379"):
        place.service(store, engine=Dead).begin(has_jobs=True)


@pytest.mark.parametrize("value", [b"", b"x", b"\xff" * 32, b"a" * (1 << 16), b"ab" * 16 + b"\n"])
def test_a_name_that_is_none(place: Place, store: Dictionary, value: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    """A service that is about to begin refuses it; one that is there says so, and goes on."""
    place.service(store).begin(has_jobs=False)
    entry = store.entry(keys.STORE)
    assert entry is not None
    store.swap([Change(keys.STORE, entry.revision, value)])
    said: list[str] = []

    def complains() -> bool:
        said.append(capfd.readouterr().err)
        return "store in the store is no name of a store; remove it" in "".join(said)

    until(complains, SECONDS, "it complains")
    for has_jobs in (False, True):
        with pytest.raises(CannotJoin, match="is no name of a store; remove it"):
            place.service(store).begin(has_jobs=has_jobs)
    remove(store, keys.STORE)
    wait_value(store, keys.STORE, place.log.get("cluster-store").encode())
