"""What a bridge and a board are told of links, in which order, and what is left when either service or bridge ends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from jitc.proxy.cluster import links
from jitc.proxy.cluster.entries import link_number
from jitc.proxy.cluster.links import SegmentLinks
from jitc.proxy.cluster.meetings import LinkError, LocalCommunicator, Segment
from jitc.proxy.common.config import SLOTS
from jitc.proxy.keeper.log import Log
from jitc.proxy.ranks.numbers import first_session, node_of
from jitc.v1 import bridge_pb2

WORLD, OTHER = b"w" * 128, b"o" * 128
OWN = first_session(1) + 1


def there(number: int = 1, node: int = 2) -> int:
    """A session of another node."""
    return first_session(node) + number


class Told:
    """Board and bridge of node 1, and what they were told, in order. errors: what the bridge raises, by method."""

    def __init__(self, log: Log | None = None) -> None:
        self.log = log or Log.make()
        self.calls: list[tuple[str, Any]] = []
        self.errors: dict[str, LinkError] = {}
        self.pid = 77
        self.jobs: list[set[int]] = []
        self.slots: dict[int, int] = {OWN: 3}
        self.certificate = "ab"
        self.cut: list[tuple[int, str]] = []
        self.links = self.service()

    def service(self) -> SegmentLinks:
        """One that begins with the log as it is."""
        jobs: Any = SimpleNamespace(connected=self._connected)
        return SegmentLinks(
            1, self, self, jobs, log=self.log, slots=lambda: self.slots, peer=self._peer,
            cut=lambda identity, why: self.cut.append((identity, why)),
        )  # fmt: skip

    def took(self) -> list[str]:
        """Names of the calls since the last time."""
        found, self.calls = self.calls, []
        return [name for name, _ in found]

    def call(self, method: str, request: Any) -> Any:
        if (error := self.errors.get(method)) is not None:
            raise error
        self.calls.append((method, request))

    def enter(self, slot: int, session: int, epoch: int, unique_ids: Sequence[bytes]) -> None:
        self.calls.append(("enter", (slot, session, epoch, list(unique_ids))))

    def begin(self, slot: int, epoch: int, counters: Mapping[str, int]) -> None:
        self.calls.append(("begin", (slot, epoch, dict(counters))))

    def leave(self, slot: int) -> None:
        self.calls.append(("leave", slot))

    def _connected(self, sessions: Iterable[int]) -> set[int]:
        some = set(sessions)
        return some.union(*(one for one in self.jobs if one & some))

    def _peer(self, number: int) -> Any:
        return bridge_pb2.BridgePeer(number=number, node=f"n{number}", certificate=self.certificate)


def communicator(*elsewhere: int, unique_id: bytes = WORLD, epoch: int = 0, identity: int = 9) -> LocalCommunicator:
    """Rank 0 is this node's."""
    seats = dict(enumerate((OWN, *elsewhere)))
    ranks = frozenset(range(1, len(seats)))
    return LocalCommunicator(unique_id, len(seats), seats, ranks, {}, Segment(identity, 4096), epoch, False)


@pytest.fixture
def told() -> Told:
    one = Told()
    one.jobs = [{OWN, there()}]
    return one


def test_slots_come_before_the_bridge_knows_of_them_and_links_last(told: Told) -> None:
    told.links.set([communicator(there())])
    peers, entered, mirror, link = told.calls
    assert peers == ("SetPeers", bridge_pb2.SetPeersRequest(peers=[told._peer(2)]))
    assert entered == ("enter", (SLOTS, there(), 0, [WORLD]))
    assert mirror == (
        "Mirror",
        bridge_pb2.MirrorRequest(
            shown=[bridge_pb2.ShownSlot(slot=3, session=OWN, peers=[2])],
            mirrored=[bridge_pb2.MirroredSlot(slot=SLOTS, session=there(), peer=2)],
        ),
    )
    assert link == (
        "Link",
        bridge_pb2.SegmentRequest(
            link=link_number(WORLD, 0), identity=9, segment_bytes=4096, ranks=2, here=[0],
            elsewhere=[bridge_pb2.RanksElsewhere(peer=2, ranks=[1])],
        ),
    )  # fmt: skip
    assert told.links.slots_of([there(), OWN]) == [SLOTS]


def test_what_has_not_changed_is_not_told_again(told: Told) -> None:
    told.links.set([communicator(there())])
    told.took()
    told.links.set([communicator(there())])
    assert told.took() == ["enter"], "the board takes it again"


def test_a_session_that_leaves_its_job(told: Told) -> None:
    """Its node stays connected until the link has ended, and its slot is the bridge's until it has been told."""
    told.links.set([communicator(there())])
    told.took()
    told.jobs = []
    told.links.set([])
    first, *calls = told.calls
    assert first[0] == "Mirror" and not first[1].shown and len(first[1].mirrored) == 1
    assert [name for name, _ in calls] == ["Unlink", "Mirror", "leave", "SetPeers"]
    assert calls[0][1].link == link_number(WORLD, 0)
    assert not calls[1][1].mirrored and calls[2][1] == SLOTS and not calls[3][1].peers
    assert not told.log.entries("mirror/") and not told.log.entries("link/")


def test_a_slot_is_kept_while_the_job_lasts_and_is_free_then(told: Told) -> None:
    told.links.set([communicator(there())])
    told.links.set([])
    told.jobs = [{OWN, there(), there(2)}]
    told.links.set([communicator(there(2), unique_id=OTHER)])
    assert told.links.slots_of([there(), there(2)]) == [SLOTS, SLOTS + 1]
    told.jobs = [{OWN, there(2)}]
    told.links.set([communicator(there(2), unique_id=OTHER)])
    told.jobs = [{OWN, there(2), there(3)}]
    told.links.set([communicator(there(2), there(3))])
    assert told.links.slots_of([there(2), there(3)]) == [SLOTS + 1, SLOTS]


def test_ranks_with_which_none_here_shares_a_communicator_have_slots(told: Told) -> None:
    """Boundaries of the others count only where what these show is seen."""
    told.jobs = [{OWN, there(), there(1, 3)}]
    told.links.set([communicator(there())])
    entered = [one for name, one in told.calls if name == "enter"]
    assert entered == [(SLOTS, there(), 0, [WORLD]), (SLOTS + 1, there(1, 3), 0, [])]
    (mirror,) = [one for name, one in told.calls if name == "Mirror"]
    assert list(mirror.shown[0].peers) == [2, 3] and [one.peer for one in mirror.mirrored] == [2, 3]


def test_ranks_that_have_ended_need_no_slot(told: Told) -> None:
    told.jobs = [{OWN}]
    told.links.set([communicator(there())._replace(ends={1: "it has ended"})])
    assert told.took() == ["SetPeers", "Mirror", "Link"]


def test_a_node_that_is_not_known_is_named_later(told: Told) -> None:
    plain = told.links._peer
    told.links._peer = lambda number: None
    told.links.set([communicator(there())])
    assert not told.calls[0][1].peers
    told.took()
    told.links._peer = plain
    told.links.set([communicator(there())])
    assert told.took() == ["SetPeers", "enter"]


def test_another_certificate_is_told(told: Told) -> None:
    told.links.set([communicator(there())])
    told.took()
    told.certificate = "cd"
    told.links.set([communicator(there())])
    assert told.calls[0][1].peers[0].certificate == "cd" and told.took() == ["SetPeers", "enter"]


def test_an_epoch_is_the_bridge_s_before_it_is_the_board_s(told: Told) -> None:
    told.links.set([communicator(there())])
    told.took()
    told.links.begin_epoch(4, {there(): {"prepared": 6}, there(9): {"prepared": 1}})
    mirror, begun = told.calls
    assert [one.epoch for one in mirror[1].mirrored] == [4] and begun == ("begin", (SLOTS, 4, {"prepared": 6}))
    told.took()
    told.links.set([communicator(there(), epoch=4, identity=10)])
    assert [name for name, _ in told.calls] == ["enter", "Unlink", "Link"]
    assert told.calls[0][1] == (SLOTS, there(), 4, [WORLD]) and told.calls[2][1].link == link_number(WORLD, 4)


def test_an_epoch_that_the_bridge_does_not_take_does_not_begin(told: Told) -> None:
    told.links.set([communicator(there())])
    told.took()
    told.errors["Mirror"] = LinkError("it has ended")
    with pytest.raises(LinkError):
        told.links.begin_epoch(4, {there(): {"prepared": 6}})
    assert not told.calls
    told.errors.clear()
    told.links.begin_epoch(4, {there(): {"prepared": 6}})
    assert told.took() == ["Mirror", "begin"]


def test_slots_that_run_out(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    """One communicator is not linked, and the others are."""
    monkeypatch.setattr(links, "_MIRRORS", range(SLOTS, SLOTS + 2))
    told.jobs = [{OWN, *(there(number) for number in range(4))}]
    many = communicator(there(0), there(2), there(3), unique_id=OTHER)
    for _ in range(2):
        with pytest.raises(LinkError, match="more than 2 ranks on other nodes"):
            told.links.set([communicator(there(0)), many])
    linked = [request.link for name, request in told.calls if name == "Link"]
    assert linked == [link_number(WORLD, 0)]
    told.took()
    told.jobs = [{OWN, there(0), there(2)}]
    told.links.set([communicator(there(0)), communicator(there(0), there(2), unique_id=OTHER)])
    assert "Link" in told.took()


def test_a_communicator_that_cannot_be_linked_keeps_no_other_one_from_it(told: Told) -> None:
    plain = told.call

    def call(method: str, request: Any) -> Any:
        if method == "Link" and request.link == link_number(WORLD, 0):
            raise LinkError("the communicator's segment has been given up")
        plain(method, request)

    told.call = call  # type: ignore[method-assign]
    both = [communicator(there()), communicator(there(), unique_id=OTHER, identity=10)]
    with pytest.raises(LinkError, match="given up"):
        told.links.set(both)
    assert [one.link for name, one in told.calls if name == "Link"] == [link_number(OTHER, 0)]
    told.call = plain  # type: ignore[method-assign]
    told.took()
    told.links.set(both)
    assert [one.link for name, one in told.calls if name == "Link"] == [link_number(WORLD, 0)]


def test_without_a_bridge_nothing_happens_and_nothing_is_wrong(told: Told) -> None:
    told.pid = 0
    told.links.set([communicator(there())])
    assert not told.calls
    told.pid = 78
    told.links.bridge_begun()
    told.links.set([communicator(there())])
    assert told.took() == ["SetPeers", "enter", "Mirror", "Link"]


def test_a_bridge_that_has_ended_cuts_its_links_once(told: Told) -> None:
    """They are not linked again; those of the recovery that follows are."""
    told.links.set([communicator(there())])
    told.took()
    told.links.bridge_ended()
    told.links.bridge_ended()
    ((identity, why),) = told.cut
    assert identity == 9 and "bridge to other nodes has ended" in why
    told.links.bridge_begun()
    told.links.set([communicator(there())])
    assert told.took() == ["SetPeers", "enter", "Mirror"]
    told.links.begin_epoch(2, {there(): {}})
    told.links.set([communicator(there(), epoch=2, identity=10)])
    assert told.took() == ["Mirror", "begin", "enter", "Link"], "the one before is not known to this bridge"
    told.links.bridge_ended()
    assert [one for one, _ in told.cut] == [9, 10]


def test_a_bridge_that_ends_while_it_links_is_cut_as_well(told: Told) -> None:
    told.errors["Link"] = LinkError("it has ended")
    with pytest.raises(LinkError):
        told.links.set([communicator(there())])
    told.links.bridge_ended()
    assert [identity for identity, _ in told.cut] == [9]


def test_the_next_service_tells_the_bridge_everything_again(told: Told) -> None:
    """And what has ended meanwhile."""
    told.jobs = [{OWN, there(), there(2)}]
    told.links.set([communicator(there()), communicator(there(2), unique_id=OTHER, identity=10)])
    told.links.begin_epoch(3, {there(2): {}})
    told.took()
    told.links = told.service()
    told.links.bridge_begun()
    told.links.set([communicator(there(2), unique_id=OTHER, identity=10)])
    assert told.took() == ["SetPeers", "enter", "enter", "Mirror", "Unlink", "Link"]
    assert told.links.slots_of([there(), there(2)]) == [SLOTS, SLOTS + 1]
    assert dict(told.log.entries("mirror/")) == {str(there()): [SLOTS, 0], str(there(2)): [SLOTS + 1, 3]}


def test_the_next_service_cuts_what_a_bridge_had_that_ended_meanwhile(told: Told) -> None:
    told.links.set([communicator(there())])
    told.links = told.service()
    told.links.bridge_ended()
    assert [identity for identity, _ in told.cut] == [9]
    told.links = told.service()
    told.links.bridge_ended()
    told.links.bridge_begun()
    told.took()
    told.links.set([communicator(there())])
    assert "Link" not in told.took() and len(told.cut) == 1


def test_several_nodes(told: Told) -> None:
    told.jobs = [{OWN, there(), there(1, 3)}]
    told.links.set([communicator(there(), there(1, 3))])
    assert [one.number for one in told.calls[0][1].peers] == [2, 3]
    (link,) = [one for name, one in told.calls if name == "Link"]
    assert [(one.peer, list(one.ranks)) for one in link.elsewhere] == [(2, [1]), (3, [2])]
    assert node_of(there(1, 3)) == 3
