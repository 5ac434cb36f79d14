"""The runner of PyTorch's own tests sees how a test ends, whatever it does to its process."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytorch import expected, table
from pytorch.processes import CannotRun, Place, Result, listed, results
from pytorch.suite import SuiteFile

TESTS = """
import os, threading, time, unittest

class TestThing(unittest.TestCase):
    mess = False
    def test_aborts(self): os.abort()
    def test_fails(self):
        TestThing.mess = True
        self.assertEqual(1, 2)
    def test_hangs(self): time.sleep(3600)
    def test_in_a_thread(self):
        one = threading.Thread(target=lambda: 1 / 0)
        one.start()
        one.join()
    def test_passes(self): self.assertFalse(TestThing.mess)
    @unittest.skip("not today")
    def test_skips(self): pass
    def test_with_parts(self):
        for part in range(3):
            with self.subTest(part=part):
                self.assertNotEqual(part, 1)

class TestThingCUDA(TestThing):
    pass
"""
RANKS = """
import os, sys, unittest
import torch.multiprocessing

def look(parent, setting):
    import torch
    loaded_before = "torch.testing._internal.common_distributed" in sys.modules
    as_given = os.environ["SETTING"] == setting and not torch.cuda.is_initialized()
    sys.exit(0 if loaded_before and as_given and os.getppid() != parent else 1)

class TestRanks(unittest.TestCase):
    def test_ranks(self):
        for setting in ("one", "another"):
            os.environ["SETTING"] = setting
            process = torch.multiprocessing.get_context("spawn").Process(
                target=look, name="rank", args=(os.getpid(), setting), kwargs={})
            process.start()
            process.join()
            self.assertEqual(process.exitcode, 0)
"""
ENDS = {
    "aborts": "crashed", "fails": "failed", "hangs": "hung", "in_a_thread": "failed", "passes": "passed",
    "skips": "skipped", "with_parts": "failed",
}  # fmt: skip
FILE = SuiteFile("test_thing.py", memory="64MiB", seconds=5)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "test_thing.py").write_text(TESTS)
    return Place(tmp_path, tmp_path, tmp_path / "log")


def test_how_tests_end(place: Place) -> None:
    names = listed(place, FILE)
    assert len(names) == 2 * len(ENDS)
    chosen = [name for name in names if name.startswith("TestThing.")]
    found = {one.test.removeprefix("TestThing.test_"): one for one in results(place, FILE, chosen, isolated=True)}
    assert {name: one.outcome for name, one in found.items()} == ENDS
    assert "ZeroDivisionError" in found["in_a_thread"].why
    assert "time.sleep" in place.log.read_text() or "test_hangs" in place.log.read_text(), "the stacks of a hung test"


def test_part_for_the_device(place: Place) -> None:
    device_part = SuiteFile("test_thing.py", memory="64MiB", device_part=True)
    assert {name.split(".")[0] for name in listed(place, device_part)} == {"TestThingCUDA"}


def test_ranks_begin_with_pytorch_loaded(place: Place) -> None:
    """And with the environment that the test has by then, as spawned ones."""
    (place.sources / "test" / "test_ranks.py").write_text(RANKS)
    file = SuiteFile("test_ranks.py", memory="64MiB", ranks_prepared=True)
    found = [(one.test, one.outcome) for one in results(place, file, ["TestRanks.test_ranks"], isolated=True)]
    assert found == [("TestRanks.test_ranks", "passed")], place.log.read_text()


def test_file_that_cannot_be_imported(place: Place) -> None:
    (place.sources / "test" / "test_thing.py").write_text("import no_such_module")
    with pytest.raises(CannotRun, match="cannot be listed"):
        listed(place, FILE)


def test_expectations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expected, "FOLDER", tmp_path)
    (tmp_path / "one.txt").write_text(
        "# why\n\nA.test_x | failed | real GPU: because\nB.* | crashed | unexplained: x\n"
    )
    read = expected.read("one")
    assert [read.of(name).outcome for name in ("A.test_x", "A.test_y", "B.test_x")] == ["failed", "passed", "crashed"]
    assert [expected.agrees(read.of("A.test_x"), one) for one in ("failed", "passed", "skipped")] == [True, False, True]
    done = {name: Result(name, outcome, "", 1.0) for name, outcome in (("A.test_x", "failed"), ("B.test_x", "crashed"))}
    figures = table.counts(["A.test_x", "B.test_x"], done, read)
    assert (figures["excused"], figures["failed"], figures["by real GPU"]) == (1, 1, 1)
    for wrong in ("A.test_x | failed", "A | sometimes | real GPU: x", "A | failed | no such class: x"):
        (tmp_path / "two.txt").write_text(wrong)
        with pytest.raises(expected.BadExpectation, match=r"two\.txt:1"):
            expected.read("two")


def test_lists_in_the_repository_can_be_read() -> None:
    for path in expected.FOLDER.glob("*.txt"):
        assert all(line.reason for line in expected.read(path.stem).lines), path
