"""What services under running jobs share by its layout alone: another layout has another version.

A service that takes over (`--replace`) gives memory of the one before to workers of its own. It is refused where
versions differ (test_take_over.py), so a layout that changes must change its version.
"""

from __future__ import annotations

import hashlib
import re

import pytest
from toolkit.tree import ROOT

from jitc.ops import table
from jitc.proxy import service
from jitc.proxy.common.paths import BOARD_VERSION, JOURNAL_VERSION, WORKER_VERSION

#: SHA-256, the first 16 digits, of each layout that there has been (of journals since 13, of workers since 2).
BOARDS = {
    2: "b827d787e1118371",
    3: "404b2e87529ca122",
    4: "31113ca4d23c308b",
    5: "db58c5904ddda34c",
    6: "4af33878a23279ed",
    7: "52f5f4278095dbe3",
    8: "61d3d1255194f970",
    9: "4d987ef935bb3893",
}
JOURNALS = {13: "8f81857faa196fcd"}
WORKERS = {2: "f258ed2c7e494940", 3: "dd4341585cc8016c"}
FLAGS = re.DOTALL | re.MULTILINE
FORMATS = {1: "30ee713743e7faea"}


def without_comments(text: str) -> str:
    return " ".join(re.sub(r"//[^\n]*", "", text).split())


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def board() -> str:
    shared = ROOT / "proxy/native/base/shared"
    job, node, both = ((shared / name).read_text() for name in ("job_board.h", "node_board.h", "board.h"))
    slots = [re.search(r"struct alignas\(64\) \w+Slot \{.*?^\};", header, FLAGS) for header in (job, node)]
    constants = r"(?:constexpr|return) [^;]*(?:kSlots|kTurnGpus|kBytes|word\()[^;]*;"
    words = [word for one in (job, node, both) for word in re.findall(constants, one)]
    doorbells = re.search(r"^struct JobDoorbells \{.*?^\};", job, FLAGS)
    tally = (ROOT / "proxy/native/base/tally.cpp").read_text()
    history = re.search(r"^std::vector<uint64_t> RankHistory::pack.*?^\}", tally, FLAGS)
    assert all(slots) and words and doorbells and history
    return without_comments(" ".join([*(one[0] for one in slots if one), *words, doorbells[0], history[0], segments()]))


def segments() -> str:
    """Of communicators: where ranks of workers meet that services of two versions may have started."""
    device = ROOT / "proxy/native/device"
    headers = {
        "common/shared_segment.h": ("SegmentHead",),
        "software/segment/segment.h": ("Descriptor", "RankArea", "Mailbox"),
        "cuda/nccl/nccl_bootstrap.h": ("Box", "RankSlot", "Head"),
    }
    structs = [
        re.search(rf"^( *)struct (?:alignas\(64\) )?{name} \{{.*?^\1\}};", (device / header).read_text(), FLAGS)
        for header, names in headers.items()
        for name in names
    ]
    assert all(structs)
    return " ".join(one[0] for one in structs if one)


def ops() -> str:
    fields = [(one.family, one.number, one.name, [field[:2] for field in one.fields], one.payload) for one in table.OPS]
    return repr(sorted(fields))


def journal() -> str:
    """How a boundary is packed: what a worker reads that another one wrote."""
    state = ROOT / "proxy/native/executor"
    structs = re.findall(
        r"^struct Resources \{.*?^\};", (ROOT / "proxy/native/device/resources.h").read_text(), flags=FLAGS
    )
    packed = [(state / name).read_text() for name in ("state/resource_pack.cpp", "boundary/boundary_state.cpp")]
    functions = [one for text in packed for one in re.findall(r"^[^\n]*\bpack\w*\([^;]*?\{.*?^\}", text, flags=FLAGS)]
    header = re.search(r"^  struct Header \{.*?^  \};", (state / "journal/record_log.h").read_text(), flags=FLAGS)
    assert len(structs) == 1 and len(functions) > 4 and header
    return without_comments(" ".join([*structs, *functions, header[0]]))


def worker() -> str:
    """What a service asks of workers, also of spare ones that the service before it has started."""
    return without_comments((ROOT / "protos/jitc/v1/worker.proto").read_text())


@pytest.mark.parametrize(
    ("known", "version", "now", "where"),
    [
        (BOARDS, BOARD_VERSION, board(), "BOARD_VERSION"),
        (JOURNALS, JOURNAL_VERSION, journal(), "JOURNAL_VERSION and Journal::kFormat"),
        (FORMATS, table.FORMAT_VERSION, ops(), "FORMAT_VERSION"),
        (WORKERS, WORKER_VERSION, worker(), "WORKER_VERSION"),
    ],
    ids=["board", "journal", "ops", "worker"],
)
def test_a_layout_that_changes_has_another_version(known: dict[int, str], version: int, now: str, where: str) -> None:
    assert known.get(version) == digest(now), (
        f"the layout is another one: raise {where} (unless ops or fields were only added), and remember {digest(now)}"
    )


def test_a_service_that_takes_over_must_have_the_same() -> None:
    assert service.VERSIONS["board"] == BOARD_VERSION
    assert service.VERSIONS["journal"] == JOURNAL_VERSION
    assert f"kFormat = {JOURNAL_VERSION};" in (ROOT / "proxy/native/executor/journal/record_log.h").read_text()
    assert service.VERSIONS["worker"] == WORKER_VERSION
    assert service.VERSIONS["ops and records"] == table.FORMAT_VERSION
