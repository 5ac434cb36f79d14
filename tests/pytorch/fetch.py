"""PyTorch's test files, and what they import that this checkout does not have: into build/pytorch-tests, once.

Called by: __main__.py. PyTorch's wheel has no tests and there is no source package of it on PyPI; Debian's source
package has them. apt-get brings and checks it, with a configuration of its own below build/, from the mirror that this
machine's apt uses; apt's own lists stay as they are.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from toolkit.tree import ROOT

BASE = ROOT / "build" / "pytorch-tests"
#: The suite of Debian whose source package is taken, and the release of PyTorch that it has. A stable suite keeps it.
SUITE, RELEASE = "trixie", "2.6.0"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
#: Of the source package: the tests, and the part of PyTorch that they stand on.
WANTED = ("test", "torch/testing")
PACKAGES = ("psutil",)


class FetchError(Exception):
    """One line for the user: what is missing, and what to do."""


def sources(given: str | None) -> Path:
    """The folder with test/ and torch/testing/ of PyTorch; given: a source tree or a tar of one instead of Debian's."""
    if given and Path(given).is_dir():
        if not (Path(given) / "test" / "test_cuda.py").is_file():
            raise FetchError(f"{given} is no source tree of PyTorch: it has no test/test_cuda.py")
        return Path(given).resolve()
    folder = BASE / (f"given-{Path(given).name}" if given else RELEASE)
    if not (folder / "test" / "test_cuda.py").is_file():
        _unpack(Path(given) if given else _download(), folder)
        for one in ("apt", "download"):
            shutil.rmtree(BASE / one, ignore_errors=True)
    return folder


def packages() -> Path:
    """A folder for PYTHONPATH with the packages that the tests import beside PyTorch."""
    folder = BASE / "packages"
    missing = [name for name in PACKAGES if not (folder / name).is_dir()]
    if missing:
        print(f"== {', '.join(missing)} (pip) into {folder.relative_to(ROOT)}", file=sys.stderr)
        _run([sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), *missing], "pip")
    return folder


def _download() -> Path:
    if shutil.which("apt-get") is None:
        raise FetchError("no apt-get here: give PyTorch's sources with --source (a folder or a tar)")
    print(f"== sources of PyTorch {RELEASE} from Debian {SUITE} (27 MB)", file=sys.stderr)
    apt, out = BASE / "apt", BASE / "download"
    for one in ("lists/partial", "cache/archives/partial", "parts"):
        (apt / one).mkdir(parents=True, exist_ok=True)
    signed = f" [signed-by={KEYRING}]" if KEYRING.is_file() else ""
    (apt / "sources.list").write_text(f"deb-src{signed} {_mirror()} {SUITE} main\n")
    options = [
        f"Dir::Etc::sourcelist={apt}/sources.list", f"Dir::Etc::sourceparts={apt}/parts", f"Dir::Cache={apt}/cache",
        f"Dir::State::lists={apt}/lists", "APT::Sandbox::User=root",
    ]  # fmt: skip
    words = [word for one in options for word in ("-o", one)]
    _run(["apt-get", *words, "--quiet", "update"], f"apt-get update of Debian's {SUITE}")
    out.mkdir(exist_ok=True)
    _run(["apt-get", *words, "--quiet", "--download-only", "--tar-only", "source", "pytorch"], "apt-get source", out)
    found = sorted(out.glob(f"pytorch_{RELEASE}*.orig.tar.*"))
    if not found:
        others = ", ".join(one.name for one in out.glob("pytorch_*")) or "nothing"
        raise FetchError(f"Debian's {SUITE} has {others} instead of {RELEASE}: give that release's sources (--source)")
    return found[-1]


def _mirror() -> str:
    """Where this machine's apt gets Debian's main section."""
    words = ["apt-get", "indextargets", "--format", "$(ORIGIN) $(REPO_URI)", "Component: main"]
    lines = subprocess.run(words, capture_output=True, text=True, check=False).stdout.split("\n")
    uris = [line.split()[1] for line in lines if line.startswith("Debian ") and "security" not in line]
    if not uris:
        raise FetchError(
            "apt knows no mirror of Debian here (run 'apt-get update' first; on another distribution give PyTorch's"
            f" sources {RELEASE} with --source)"
        )
    return uris[0]


def _unpack(archive: Path, folder: Path) -> None:
    if not archive.is_file():
        raise FetchError(f"{archive} is neither a folder nor a file")
    half = folder.with_name(folder.name + ".half")
    shutil.rmtree(half, ignore_errors=True)
    half.mkdir(parents=True)
    print(f"== unpacking {archive.name}", file=sys.stderr)
    with tarfile.open(archive) as tar:
        for member in tar:
            inside = member.name.split("/", 1)[-1]
            if any(inside == one or inside.startswith(one + "/") for one in WANTED):
                member.name = inside
                tar.extract(member, half, filter="data")
    if not (half / "test" / "test_cuda.py").is_file():
        raise FetchError(f"{archive} has no test/test_cuda.py: it is no source package of PyTorch")
    shutil.rmtree(folder, ignore_errors=True)
    os.replace(half, folder)


def _run(command: list[str], name: str, cwd: Path | None = None) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-3:]
        raise FetchError(f"{name} failed: {' / '.join(last)}")
