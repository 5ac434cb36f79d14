"""Registrations and campaigns by a clock that stands still until the test moves it, over a store that fails as told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from engine_rig import LIMIT, Seen, threads, value
from failing_engine import DONE, LOST_ANSWER, LOST_REQUEST, FailingEngine
from toolkit.clock import OwnedClock
from toolkit.waiting import until

from jitc.proxy.cluster.store.engine import (
    Campaign,
    Change,
    Engine,
    Held,
    Leading,
    Lost,
    NotLeading,
    Registration,
    State,
    Swapped,
    Taken,
)
from jitc.proxy.cluster.store.engines.local import Dictionary, LocalEngine
from jitc.proxy.cluster.store.registration import RENEWALS, SURE
from jitc.proxy.cluster.store.steps import RETRY_SECONDS

SECONDS = 6.0
KEY, LEADER = "nodes/n0", "jobs/1/leader"


class Node:
    """An engine over a dictionary whose clock is the test's; nothing fails before a test says so."""

    def __init__(self) -> None:
        self.clock = OwnedClock()
        self.store = Dictionary(self.clock)
        self.engine = FailingEngine(self.store, SECONDS)
        self.faults = self.engine.faults.none()
        #: Another node.
        self.other = LocalEngine(self.store, SECONDS)
        self.seen, self.led = Seen[Any](), Seen[Any]()

    def register(self) -> Registration:
        registration = self.engine.register(KEY, b"here", self.seen)
        self.seen.next(Held)
        return registration

    def retry(self) -> None:
        """Lets the time come at which a call that has failed is tried again."""
        until(lambda: self.clock.is_waited_for(RETRY_SECONDS), LIMIT, "something is to be tried again")
        self.clock.advance(RETRY_SECONDS)

    def until(self, condition: Callable[[], bool]) -> None:
        """Waits for that; whatever is to be tried again is tried."""

        def met() -> bool:
            if self.clock.is_waited_for(RETRY_SECONDS):
                self.clock.advance(RETRY_SECONDS)
            return condition()

        until(met, LIMIT, "it has come to that")

    def pass_time(self, seconds: float, registration: Registration) -> None:
        """Lets time pass in steps, in each of which the registration is renewed."""
        while seconds > 0:
            before, step = registration.valid_until, SECONDS / RENEWALS
            self.clock.advance(step)
            until(lambda before=before: registration.valid_until > before, LIMIT, "the lease is renewed")  # type: ignore[misc]
            seconds -= step

    def close(self) -> None:
        self.engine.close()
        self.other.close()
        until(lambda: not threads(), LIMIT, f"its threads have ended: {threads()}")


@pytest.fixture
def node() -> Iterator[Node]:
    one = Node()
    yield one
    one.close()


def before(engine: FailingEngine, verb: str, call: Callable[[], object]) -> None:
    """Calls the function once, before the next call of this verb is served."""

    def hook(one: str) -> None:
        if one == verb:
            engine.before = lambda _: None
            call()

    engine.before = hook


# ---- registrations ------------------------------------------------------------------------------
def test_it_is_renewed_before_it_runs_out(node: Node) -> None:
    registration = node.register()
    lease = registration.lease
    node.pass_time(10 * SECONDS, registration)
    assert registration.holds and registration.lease == lease
    assert [type(one) for one in node.seen.all] == [Held]
    entry = node.other.get(KEY)
    assert entry and entry.lease == lease


def test_it_is_valid_from_before_the_request_was_sent(node: Node) -> None:
    registration = node.register()
    assert registration.valid_until == pytest.approx(node.clock.now() + SECONDS * SURE)
    before(node.engine, "renew", lambda: node.clock.advance(1.5))
    node.clock.advance(SECONDS / RENEWALS)
    sent = node.clock.now()
    until(lambda: registration.valid_until > sent + SECONDS / RENEWALS * 2, LIMIT, "it is renewed")
    assert registration.valid_until == pytest.approx(1000.0 + SECONDS / RENEWALS + SECONDS * SURE)


def test_it_is_lost_when_its_time_is_over_and_nobody_answers(node: Node) -> None:
    registration = node.register()
    node.faults.unreachable = {"renew": 1}
    node.clock.advance(SECONDS * SURE - 0.01)
    assert registration.holds
    node.clock.advance(0.02)
    assert not registration.holds
    lost = node.seen.next(Lost)
    assert "could not be renewed in time" in lost.why
    assert node.other.get(KEY), "the store has it for a moment longer than it is sure"
    node.clock.advance(SECONDS)
    assert node.other.get(KEY) is None
    node.faults.unreachable = {}
    node.until(lambda: len(node.seen.all) == 3)
    again = node.seen.next(Held, after=2)
    assert registration.holds and again != node.seen.all[0]
    assert [type(one) for one in node.seen.all] == [Held, Lost, Held]


def test_the_text_says_why_it_could_not_be_renewed(node: Node) -> None:
    node.register()
    node.faults.unreachable = {"renew": 1}
    node.clock.advance(SECONDS / RENEWALS)
    node.retry()
    node.clock.advance(SECONDS)
    assert "the test lets renew fail" in node.seen.next(Lost).why


def test_a_renewal_that_comes_too_late_is_told_as_a_loss(node: Node) -> None:
    """The store has kept the key all the time; whoever looked in between has seen that it was not sure."""
    registration = node.register()
    before(node.engine, "renew", lambda: node.clock.advance(SECONDS / RENEWALS * 1.99))
    node.clock.advance(SECONDS / RENEWALS)
    node.seen.next(Held, after=1)
    assert [type(one) for one in node.seen.all] == [Held, Lost, Held]
    assert node.seen.all[0] == node.seen.all[2], "the store had the key all the time"
    assert "too late" in node.seen.all[1].why
    registration.resign()


def test_a_process_that_did_not_run_for_a_while_has_lost_it(node: Node) -> None:
    registration = node.register()
    lease = registration.lease
    node.clock.advance(100 * SECONDS)
    assert not registration.holds
    node.seen.next(Held, after=1)
    assert [type(one) for one in node.seen.all] == [Held, Lost, Held]
    assert registration.holds and registration.lease != lease


@pytest.mark.parametrize("verb", ["grant", "get"])
def test_a_store_that_is_not_there_at_the_beginning_comes_later(node: Node, verb: str) -> None:
    node.faults.unreachable = {verb: 1}
    registration = node.engine.register(KEY, b"here", node.seen)
    for _ in range(3):
        node.retry()
    assert not registration.holds and registration.valid_until == 0 and node.seen.all == []
    node.faults.unreachable = {}
    node.until(lambda: registration.holds)
    node.seen.next(Held)


@pytest.mark.parametrize("fault", [LOST_ANSWER, LOST_REQUEST])
def test_a_write_of_which_nobody_knows_is_found_or_made_again(node: Node, fault: str) -> None:
    node.faults.restart((fault, DONE, DONE, DONE))
    registration = node.engine.register(KEY, b"here", node.seen)
    node.retry()
    node.seen.next(Held)
    entry = node.other.get(KEY)
    assert entry and node.seen.all == [Held(entry.revision)] and entry.lease == registration.lease


def test_a_key_that_was_removed_is_written_again(node: Node) -> None:
    registration = node.register()
    entry = node.other.get(KEY)
    assert entry
    node.other.compare_and_swap([Change(KEY, entry.revision, None)])
    node.clock.advance(SECONDS / RENEWALS)
    again = node.seen.next(Held, after=1)
    assert again.revision > entry.revision and registration.holds


def test_a_key_that_was_overwritten_is_left_to_the_other_one(node: Node) -> None:
    registration = node.register()
    entry = node.other.get(KEY)
    assert entry
    node.other.compare_and_swap([Change(KEY, entry.revision, b"theirs")])
    node.clock.advance(SECONDS / RENEWALS)
    until(lambda: len(node.seen.all) == 3 or None, LIMIT, "it has seen that")
    assert [type(one).__name__ for one in node.seen.all] == ["Held", "Lost", "Taken"]
    assert not registration.holds and value(node.other.get(KEY)) == b"theirs"


@pytest.mark.parametrize("kind", [Held, Lost])
def test_it_may_be_resigned_by_who_is_told(node: Node, kind: type[Any]) -> None:
    def notify(event: object) -> None:
        node.seen(event)
        if isinstance(event, kind):
            registrations[0].resign()

    registrations: list[Registration] = []
    before(node.engine, "grant", lambda: until(lambda: registrations or None, LIMIT, "it is known"))
    registrations.append(node.engine.register(KEY, b"here", notify))
    node.seen.next(Held)
    if kind is Lost:
        node.other.revoke(registrations[0].lease)
        node.clock.advance(SECONDS / RENEWALS)
        node.seen.next(Lost)
    until(lambda: not threads() or None, LIMIT, "its thread has ended")
    assert node.other.get(KEY) is None and registrations[0].lease == ""


def test_an_error_in_the_function_that_is_called_ends_nothing(node: Node, capfd: pytest.CaptureFixture[str]) -> None:
    def notify(event: object) -> None:
        node.seen(event)
        raise RuntimeError("made by the test")

    registration = node.engine.register(KEY, b"here", notify)
    node.seen.next(Held)
    node.retry()
    node.pass_time(SECONDS, registration)
    assert registration.holds and "made by the test" in capfd.readouterr().err


def test_a_resignation_that_the_store_does_not_hear_of_is_over_when_the_lease_is(node: Node) -> None:
    registration = node.register()
    node.faults.unreachable = {"revoke": 1}
    registration.resign()
    assert not registration.holds and node.other.get(KEY)
    node.clock.advance(SECONDS)
    assert node.other.get(KEY) is None


def test_a_lease_that_has_run_out_is_in_nobody_s_way(node: Node) -> None:
    lease = node.other.grant(SECONDS).name
    assert isinstance(node.other.compare_and_swap([Change(KEY, 0, b"old", lease)]), Swapped)
    node.clock.advance(SECONDS)
    assert isinstance(node.other.compare_and_swap([Change(KEY, 0, b"new")]), Swapped)
    assert value(node.other.get(KEY)) == b"new"


def test_another_value_is_written_at_once_and_nothing_is_lost(node: Node) -> None:
    """Nothing is reported, since the key is held all the time; entries with the lease stay."""
    registration = node.register()
    entry, lease = node.other.get(KEY), registration.lease
    assert entry
    assert isinstance(node.engine.compare_and_swap([Change(LEADER, 0, b"n0", lease)]), Swapped)
    registration.update(b"moved")
    until(lambda: value(node.other.get(KEY)) == b"moved", LIMIT, "the store has it")
    later = node.other.get(KEY)
    assert later and later.lease == lease and later.revision > entry.revision and node.other.get(LEADER)
    node.pass_time(SECONDS, registration)
    assert registration.holds and [type(one) for one in node.seen.all] == [Held]
    registration.update(b"moved")
    node.pass_time(SECONDS, registration)
    assert node.other.get(KEY) == later, "it has that value already"


@pytest.mark.parametrize("fault", [LOST_ANSWER, LOST_REQUEST])
def test_another_value_of_which_nobody_knows_whether_it_was_written(node: Node, fault: str) -> None:
    registration = node.register()
    node.faults.restart((fault, DONE, DONE, DONE))
    registration.update(b"moved")
    node.until(lambda: value(node.other.get(KEY)) == b"moved")
    node.pass_time(SECONDS, registration)
    assert registration.holds and [type(one) for one in node.seen.all] == [Held]


def test_another_value_waits_for_a_store_that_is_away(node: Node) -> None:
    registration = node.register()
    node.faults.unreachable = {"renew": 1}
    registration.update(b"moved")
    node.retry()
    assert value(node.other.get(KEY)) == b"here" and registration.holds
    node.faults.unreachable = {}
    node.until(lambda: value(node.other.get(KEY)) == b"moved")
    assert [type(one) for one in node.seen.all] == [Held]


def test_a_key_of_another_one_keeps_its_value(node: Node) -> None:
    theirs = Seen[Any]()
    other = node.other.register(KEY, b"theirs", theirs)
    theirs.next(Held)
    registration = node.engine.register(KEY, b"here", node.seen)
    node.seen.next(Taken)
    registration.update(b"moved")
    node.pass_time(SECONDS, other)
    assert value(node.other.get(KEY)) == b"theirs" and not registration.holds
    other.resign()
    node.clock.advance(SECONDS / RENEWALS)
    node.seen.next(Held)
    assert value(node.other.get(KEY)) == b"moved"


# ---- campaigns ----------------------------------------------------------------------------------
def test_nobody_leads_without_a_registration(node: Node) -> None:
    node.faults.unreachable = {"grant": 1}
    registration = node.engine.register(KEY, b"here", node.seen)
    campaign = node.engine.lead(LEADER, b"n0", registration, node.led)
    watch = Seen[State]()
    node.engine.watch("", watch)
    watch.next(State)
    assert not campaign.leads and node.led.all == [] and node.other.get(LEADER) is None
    node.faults.unreachable = {}
    node.until(lambda: campaign.leads)
    node.led.next(Leading)
    assert campaign.leads


def test_who_is_not_sure_of_its_lease_does_not_lead_from_that_moment_on(node: Node) -> None:
    registration = node.register()
    campaign = node.engine.lead(LEADER, b"n0", registration, node.led)
    node.led.next(Leading)
    node.pass_time(3 * SECONDS, registration)
    assert campaign.leads and [type(one) for one in node.led.all] == [Leading]
    node.faults.unreachable = {"renew": 1}
    node.clock.advance(SECONDS * SURE + 0.01)
    assert not campaign.leads
    assert node.other.get(LEADER), "the store has the key for a moment longer"
    node.led.next(NotLeading)
    node.faults.unreachable = {}
    node.clock.advance(SECONDS)
    node.until(lambda: campaign.leads)
    node.led.next(Leading, after=2)
    assert campaign.leads


def test_a_watch_that_is_behind_takes_no_lead_away(node: Node) -> None:
    """Which has not seen the key that the campaign has won."""

    def fall_behind() -> None:
        node.engine.behind = True

    registration = node.register()
    before(node.engine, "write", fall_behind)
    campaign = node.engine.lead(LEADER, b"n0", registration, node.led)
    node.led.next(Leading)
    node.pass_time(3 * SECONDS, registration)
    assert campaign.leads and [type(one) for one in node.led.all] == [Leading]


def test_a_key_with_the_same_value_is_not_one_s_own(node: Node) -> None:
    """As of two services that have one name."""
    theirs = Seen[Any]()
    registration = node.other.register("nodes/n1", b"there", theirs)
    theirs.next(Held)
    node.other.lead(LEADER, b"n0", registration, theirs)
    theirs.next(Leading)
    campaign = node.engine.lead(LEADER, b"n0", node.register(), node.led)
    watch = Seen[State]()
    node.engine.watch(LEADER, watch)
    watch.until(lambda state: LEADER in state.entries)
    assert not campaign.leads
    registration.resign()
    node.led.next(Leading)
    assert campaign.leads


@pytest.mark.parametrize("fault", [LOST_ANSWER, LOST_REQUEST])
def test_a_campaign_whose_write_is_not_answered(node: Node, fault: str) -> None:
    registration = node.register()
    node.faults.restart((fault, DONE, DONE, DONE))
    campaign = node.engine.lead(LEADER, b"n0", registration, node.led)
    if fault == LOST_REQUEST:
        node.retry()
    node.led.next(Leading)
    entry = node.other.get(LEADER)
    assert entry and node.led.all == [Leading(entry.revision)] and campaign.leads


def test_a_key_that_was_removed_is_won_again(node: Node) -> None:
    campaign = node.engine.lead(LEADER, b"n0", node.register(), node.led)
    first = node.led.next(Leading)
    node.other.compare_and_swap([Change(LEADER, first.revision, None)])
    node.led.next(NotLeading)
    again = node.led.next(Leading, after=1)
    assert again.revision > first.revision and campaign.leads


def test_who_waits_leads_when_the_one_before_has_ended(node: Node) -> None:
    theirs = Seen[Any]()
    registration = node.other.register("nodes/n1", b"there", theirs)
    theirs.next(Held)
    before = Seen[Any]()
    node.other.lead(LEADER, b"n1", registration, before)
    before.next(Leading)
    mine = node.register()
    campaign = node.engine.lead(LEADER, b"n0", mine, node.led)
    watch = Seen[State]()
    node.engine.watch(LEADER, watch)
    watch.next(State)
    assert not campaign.leads and node.led.all == []
    registration.resign()
    node.led.next(Leading)
    assert campaign.leads and value(node.other.get(LEADER)) == b"n0"


@pytest.mark.parametrize("writes", [(DONE,), (LOST_ANSWER,), (LOST_REQUEST, DONE)])
def test_a_campaign_that_is_resigned_leaves_no_key_behind(node: Node, writes: tuple[str, ...]) -> None:
    """Whether the write that removes it was answered or not."""
    registration = node.register()
    campaign = node.engine.lead(LEADER, b"n0", registration, node.led)
    node.led.next(Leading)
    node.faults.restart(writes)
    campaign.resign()
    assert not campaign.leads
    node.until(lambda: not any("campaign" in one for one in threads()))
    assert node.other.get(LEADER) is None and registration.holds
    assert not any(LEADER in one for one in threads()), "and so has its watch"


def test_a_key_that_was_won_after_the_resignation_is_removed_as_well(node: Node) -> None:
    """Its write was on its way when the campaign was resigned."""
    registration = node.register()
    campaigns: list[Campaign] = []

    def resign() -> None:
        until(lambda: campaigns or None, LIMIT, "it is known")[0].resign()

    before(node.engine, "write", resign)
    node.faults.restart((LOST_ANSWER, DONE))
    campaigns.append(node.engine.lead(LEADER, b"n0", registration, node.led))
    node.until(lambda: not any("campaign" in one for one in threads()))
    assert node.other.get(LEADER) is None and node.led.all == []


def test_a_key_of_the_same_beginning_is_another_one(node: Node) -> None:
    engine: Engine = node.other
    outcome = engine.compare_and_swap([Change(f"{LEADER}s", 0, b"theirs")])
    assert isinstance(outcome, Swapped)
    campaign = node.engine.lead(LEADER, b"n0", node.register(), node.led)
    node.led.next(Leading)
    assert campaign.leads
