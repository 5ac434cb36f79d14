"""A native part that belongs to another PyTorch: one line that says `make build`, no traceback, exit status 1."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from toolkit.stand_in import STAND_IN, environment

USE = "torch.ones(1, device='cuda')"
OTHER = "import torch\ntorch.__version__ = '2.99.0+cu130'\n"
FILE = "import torch, pathlib\nfrom jitc.client_shim import torch_device\ntorch_device.LIBRARY = pathlib.Path({!r})\n"


def start(program: str, **environ: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program], env=environment(**environ), text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    said, errors = process.communicate(timeout=120)
    return process.returncode, said, errors


def test_another_release() -> None:
    status, said, errors = ended(start(OTHER + USE + "\nprint('goes on')"))
    assert (status, said) == (1, "")
    (line,) = errors.splitlines()
    assert line.startswith("jitc: ")
    assert "was built for PyTorch 2." in line
    assert line.endswith("not for this PyTorch (2.99.0+cu130): run 'make build' with it")


def test_another_build_of_the_same_release() -> None:
    program = (
        "import torch\ntorch.__version__ = torch.__version__.split('+')[0] + '+mine.77'\n" + USE + "\nprint('goes on')"
    )
    assert ended(start(program)) == (0, "goes on\n", "")


def test_a_library_that_does_not_load(tmp_path: Path) -> None:
    library = tmp_path / "libjitc_torch.so"
    missing = ended(start(FILE.format(str(library)) + USE))
    library.write_text("no library")
    broken = ended(start(FILE.format(str(library)) + USE))
    for (status, _, errors), why in ((missing, "is missing"), (broken, "does not work with this PyTorch")):
        assert status == 1
        (line,) = errors.splitlines()
        assert line.startswith(f"jitc: {library} {why}"), line
        assert "run 'make build' with" in line


def test_a_library_from_before_the_release_was_in_it() -> None:
    """Any library without the function."""
    status, _, errors = ended(start(FILE.format(str(STAND_IN)) + USE))
    assert (status, len(errors.splitlines())) == (1, 1)
    assert "run 'make build'" in errors


def test_one_rank_of_a_launcher_says_it() -> None:
    ranks = [start(OTHER + USE, LOCAL_RANK=str(number)) for number in range(3)]
    results = [ended(rank) for rank in ranks]
    assert [status for status, _, _ in results] == [1, 1, 1]
    assert [len(errors.splitlines()) for _, _, errors in results] == [1, 0, 0]


def test_torchrun_says_it_and_starts_no_rank(tmp_path: Path) -> None:
    """It would add what it has to say of ranks that fail, with a traceback of its own."""
    script = tmp_path / "job.py"
    script.write_text("import os\nos.write(1, b'a rank\\n')\n")  # in one piece, beside the other's
    agent = ["torch.distributed.run", "--nproc-per-node", "2", str(script)]
    code = f"import sys, runpy, torch\nsys.argv = {agent!r}\nrunpy.run_module(sys.argv[0], run_name='__main__')"
    assert ended(start(code))[:2] == (0, "a rank\na rank\n")
    launcher = OTHER + "import sys\nsys.orig_argv = ['python', '-m', 'torch.distributed.run']\n"
    status, said, errors = ended(
        start(launcher + "from jitc import client_shim\nclient_shim.autoload()\nprint('goes on')")
    )
    assert (status, said) == (1, "")
    (line,) = errors.splitlines()
    assert line.startswith("jitc: ") and "run 'make build'" in line


def test_one_of_several_processes_says_it() -> None:
    ask = "from jitc.client_shim import wrong_build\nprint(wrong_build._speaks_for_the_others(), flush=True)\ninput()"
    first = start(ask)
    try:
        assert first.stdout is not None
        assert first.stdout.readline() == "True\n"
        status, said, errors = ended(start(OTHER + USE))
        assert (status, said, errors) == (1, "", "")
    finally:
        first.communicate("\n", timeout=60)
    assert len(ended(start(OTHER + USE))[2].splitlines()) == 1  # nobody holds it any more


def test_the_service_does_not_start(tmp_path: Path) -> None:
    """Its workers would not."""
    torch = tmp_path / "torch"
    torch.mkdir()
    (torch / "__init__.py").write_text("")
    (torch / "version.py").write_text("__version__ = '2.99.0+cu130'\n")
    folder, socket = Path(sys.executable).parent, str(tmp_path / "socket")
    for command in ([folder / "jitc-proxyd", "--socket", socket], [folder / "jitc", "run", "--", "true"]):
        env = {**os.environ, "PYTHONPATH": str(tmp_path)}
        done = subprocess.run([*map(str, command)], env=env, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 1, done.stdout + done.stderr
        said = [line for line in done.stderr.splitlines() if "libjitc_operators.so was built for PyTorch" in line]
        assert len(said) == 1 and "Traceback" not in done.stderr
        assert said[0].endswith("not for the one here (2.99.0+cu130): run 'make build' with it")


def test_a_thread_gets_an_exception() -> None:
    program = (
        OTHER
        + f"""
import threading
def use():
    try:
        {USE}
    except Exception as error:
        print(type(error.__cause__ or error).__name__, 'make build' in str(error))
thread = threading.Thread(target=use)
thread.start()
thread.join()
"""
    )
    status, said, errors = ended(start(program))
    assert (status, said) == (0, "RuntimeError True\n"), errors


@pytest.fixture(autouse=True)
def _outside_of_a_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOCAL_RANK", raising=False)
