"""The native parts that a wheel brings: one for each release of PyTorch, or for several that differ in nothing that it
includes.

    parts.py FOLDER [RELEASE ...]

Called by: make.py. Promises: a part that is there and made of these sources is not made again; FOLDER/parts is what
goes into the wheel, the rest of FOLDER is fetched and noted on the way there.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from pathlib import Path

import releases

from jitc.client_shim.native_parts import compile, sources, torch_build
from jitc.client_shim.native_parts.bar import Bar
from jitc.client_shim.native_parts.store import MANIFEST, Store
from jitc.client_shim.native_parts.torch_build import TorchBuild

#: Headers that say which release it is; of them a part uses the minor release alone.
_VERSIONS = ("version.h", "macros.h")


def make(folder: Path, wanted: tuple[str, ...]) -> Store:
    """Makes the parts for these releases. Raises CannotBuild, OSError."""
    store = Store(folder / "parts")
    store.open()
    for release in wanted:
        torch = torch_build.in_folder(releases.headers(release, folder / "torch"))
        assert torch is not None, release
        if store.find(torch) is None:
            _share(store, torch, folder) or _make(store, torch, folder)
    return store


def chosen(store: Store, wanted: tuple[str, ...], folder: Path) -> Path:
    """Copies the parts that serve one of these releases to a folder, and of what they serve names only those."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for release in wanted:
        torch = torch_build.in_folder(store.folder.parent / "torch" / release / "torch")
        assert torch is not None
        part = store.find(torch)
        assert part is not None, release
        place = folder / part.name
        if not place.exists():
            shutil.copytree(part, place)
            said = json.loads((place / MANIFEST).read_text())
            said["builds"] = [one for one in said["builds"] if one["version"].split("+")[0] in wanted]
            (place / MANIFEST).write_text(json.dumps(said, indent=1) + "\n")
    return folder


def _make(store: Store, torch: TorchBuild, folder: Path) -> None:
    bar = Bar(f"native part for PyTorch {torch.version}")
    name = _name(torch.release)
    made = store.folder / f"{name}.building"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    try:
        read = compile.build(torch, made, bar.show, folder / "build.log")
    finally:
        bar.end()
    store.add(name, made, [torch])
    note = _note(folder, torch.release)
    note.parent.mkdir(exist_ok=True)
    note.write_text(json.dumps({"headers": read, "digest": _digest(torch, read), "sources": sources.digest()}))


def _share(store: Store, torch: TorchBuild, folder: Path) -> bool:
    """Lets a part serve this release too whose headers are the same here; returns whether there is one."""
    for note in sorted(_note(folder, torch.minor).parent.glob(f"{torch.minor}.*.json")):
        said = json.loads(note.read_text())
        if said["sources"] == sources.digest() and said["digest"] == _digest(torch, said["headers"]):
            print(f"== native part for PyTorch {torch.version}: that of {note.stem}", flush=True)
            store.serve(_name(note.stem), torch)
            return True
    return False


def _name(release: str) -> str:
    """Returns the part's folder, which could be imported: tools that look at wheels ask for that."""
    return f"torch_{release.replace('.', '_')}"


def _note(folder: Path, release: str) -> Path:
    return folder / "read" / f"{release}.json"


def _digest(torch: TorchBuild, read: list[str]) -> str:
    whole = hashlib.sha256(f"{torch.old_strings}\n".encode())
    for name in read:
        if Path(name).name not in _VERSIONS:
            file = torch.folder / name
            whole.update(file.read_bytes() if file.exists() else b"none")
    return whole.hexdigest()


if __name__ == "__main__":
    make(Path(sys.argv[1]), tuple(sys.argv[2:]) or releases.RELEASES)
