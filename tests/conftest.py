"""Fixtures for all tests: a workplace per test, reference runs once per session; shares of the tests, if asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator

import pytest
from toolkit.job import Script
from toolkit.record import Record
from toolkit.share import Share
from toolkit.waiting import PATIENCE, limit_suspended, patient
from toolkit.workplace import Workplace

_FAILED = pytest.StashKey[bool]()
#: Bytes from which on a failure names only the first difference.
_LARGE = 1 << 16
#: For a run without a fault, however busy the machine is.
_REFERENCE_SECONDS = 1200.0


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--share", type=Share.read, metavar="K/N", help="of the tests, the K-th of N shares (0 to N - 1)")
    parser.addoption(
        "--sample", type=Share.read, metavar="K/N", help="of those marked sampled, this share; of others, all"
    )
    parser.addoption("--files", type=Share.read, metavar="K/N", help="of the files of tests, this share")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """After the marks have chosen."""
    if PATIENCE != 1.0:
        for one in items:
            mark = one.get_closest_marker("timeout")
            limit = mark.args[0] if mark and mark.args else config.getoption("timeout") or config.getini("timeout")
            one.add_marker(pytest.mark.timeout(patient(float(limit or 0))), append=False)
    share: Share | None = config.getoption("--share")
    sample: Share | None = config.getoption("--sample")
    files: Share | None = config.getoption("--files")

    def is_asked_for(one: pytest.Item) -> bool:
        if sample and one.get_closest_marker("sampled") and not sample.has(one.nodeid):
            return False
        if files and not files.has(one.nodeid.partition("::")[0]):
            return False
        return share is None or share.has(one.nodeid)

    left = [one for one in items if not is_asked_for(one)]
    if left:
        items[:] = [one for one in items if is_asked_for(one)]
        config.hook.pytest_deselected(items=left)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        item.stash[_FAILED] = True
    return report


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Where large contents differ first: pytest's own comparison of two mebibytes takes minutes."""
    if op != "==" or not (isinstance(left, bytes) and isinstance(right, bytes)) or len(left) < _LARGE:
        return None
    first = next((i for i, (one, other) in enumerate(zip(left, right, strict=False)) if one != other), None)
    return [f"{len(left)} == {len(right)} bytes, which differ first at {first}"]


def _name(request: pytest.FixtureRequest) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "_", request.node.nodeid.split("/")[-1])


@pytest.fixture
def workplace(request: pytest.FixtureRequest) -> Iterator[Workplace]:
    """Services and jobs of this test; nothing may be left of them."""
    place = Workplace(_name(request))
    yield place
    complaints = place.close(request.node.stash.get(_FAILED, False))
    assert not complaints, "\n".join(complaints)


@pytest.fixture(scope="module")
def shared_workplace(request: pytest.FixtureRequest) -> Iterator[Workplace]:
    """One for all tests of a module, where each of them leaves its service as it found it."""
    before = request.session.testsfailed
    place = Workplace(_name(request))
    yield place
    complaints = place.close(request.session.testsfailed > before)
    assert not complaints, "\n".join(complaints)


@pytest.fixture(scope="session")
def reference() -> Callable[[Script, str], list[Record]]:
    """Records of a script's run without a fault, on "cuda" (its own service) or "cpu"; run once each. Its time is not
    that of the test which asks first."""
    known: dict[tuple[Script, str], list[Record]] = {}

    def records(script: Script, device: str) -> list[Record]:
        if (script, device) not in known:
            place = Workplace(f"reference_{script.name}_{device}")
            failed = True
            with limit_suspended():
                try:
                    service = place.service(script.ranks) if device == "cuda" else None
                    known[script, device] = place.run(script, service, _REFERENCE_SECONDS).records
                    failed = False
                finally:
                    complaints = place.close(failed)
            assert not complaints, "\n".join(complaints)
        return known[script, device]

    return records
