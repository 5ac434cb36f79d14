"""Gives a process the native part for its PyTorch: the wheel's, the user's, or one that is built now.

Called by: client_shim/torch_device.py (training processes), the software device and the workers of a service,
`jitc build-torch`. Promises: of all processes that need the same part at once one builds it, and the others wait for
it; one that is killed meanwhile holds nobody up, and what it has left is removed by the next; a build that fails
leaves no part. None of this happens in a checkout, whose parts `make build` makes.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from . import compile, sources
from .bar import Bar
from .compile import CannotBuild
from .installation import PACKAGES
from .store import Store, UnsafeStore
from .torch_build import TorchBuild

__all__ = ["CannotBuild", "UnsafeStore", "build", "find", "of_the_package", "of_the_user", "provide"]

_BUILDING = ".building"
_MINUTES = 4
#: Letters of PyTorch's version in the name of a part's folder.
_READABLE = 60


def of_the_package() -> Store:
    return Store(PACKAGES / "client_shim" / "lib" / "parts")


def of_the_user() -> Store:
    """Returns the user's store: below JITC_CACHE, else XDG_CACHE_HOME, else ~/.cache. Raises CannotBuild."""
    base = os.environ.get("JITC_CACHE")
    if not base:
        try:
            base = f"{os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache'}/jitc"
        except RuntimeError:  # as for a user of a container who has only a number
            raise CannotBuild("this user has no home folder for a native part: set JITC_CACHE to a folder") from None
    return Store(Path(base) / "parts", private=True)


def find(torch: TorchBuild) -> Path | None:
    """Returns the folder of the part for this PyTorch; None if it must be built. Raises CannotBuild, UnsafeStore."""
    return of_the_package().find(torch) or of_the_user().find(torch)


def provide(torch: TorchBuild) -> Path:
    """Returns the folder of the part for this PyTorch, which is built where there is none. Raises CannotBuild,
    UnsafeStore."""
    return find(torch) or build(torch, of_the_user())


def build(torch: TorchBuild, store: Store) -> Path:
    """Builds the part for this PyTorch in a store, unless another process has done it meanwhile. Raises CannotBuild,
    UnsafeStore."""
    try:
        store.open()
        with _alone(store.folder):
            return store.find(torch) or _built(torch, store)
    except OSError as error:
        reason = "the disk is full" if error.errno == errno.ENOSPC else str(error)
        raise CannotBuild(
            f"jitc's part for PyTorch {torch.version} cannot be built in {store.folder}: {reason}; JITC_CACHE names "
            "another folder"
        ) from None


def _built(torch: TorchBuild, store: Store) -> Path:
    for left in store.folder.glob(f"*{_BUILDING}"):
        shutil.rmtree(left, ignore_errors=True)
    try:
        compile.refuse_without_tools(torch)
        return _compiled(torch, store)
    except CannotBuild as error:
        raise CannotBuild(f"no part of jitc is for PyTorch {torch.version}, and none can be built: {error}") from None


def _compiled(torch: TorchBuild, store: Store) -> Path:
    name, said = _name(torch), ""
    # No other has had this folder: compilers of one that was killed may still write into theirs.
    made = Path(tempfile.mkdtemp(prefix=f"{name}.", suffix=_BUILDING, dir=store.folder))
    bar = Bar(f"builds its part for PyTorch {torch.version}, once: about {_MINUTES} minutes on two cores")
    try:
        made.chmod(0o755)
        compile.build(torch, made, bar.show, store.folder / "build.log")
        place = store.add(name, made, [torch])
        said = f"its part for PyTorch {torch.version} is in {place}"
        return place
    finally:
        bar.end(said)
        shutil.rmtree(made, ignore_errors=True)


def _name(torch: TorchBuild) -> str:
    """Returns the part's folder: the version, so that people know it, and a hash of what it is for. A version is any
    text, which must not lead out of the store."""
    told = f"{torch.version} {torch.git} {torch.old_strings} {sources.digest()}"
    readable = re.sub(r"[^\w+.-]", "_", torch.version, flags=re.ASCII).strip("._-")[:_READABLE]
    return f"{readable or 'torch'}-{hashlib.sha256(told.encode()).hexdigest()[:12]}"


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Holds the folder's lock, which the kernel takes from a process that dies. Says once that it waits for it."""
    with open(folder / "lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if os.environ.get("LOCAL_RANK", "0") == "0":  # of the ranks of a launcher, one says it
                print(f"jitc: waits for another process that builds in {folder}", file=sys.stderr, flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
