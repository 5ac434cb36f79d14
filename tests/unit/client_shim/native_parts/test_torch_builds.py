"""Which PyTorch is here, and where a part for it is looked for."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
import torch
from parts_rig import torch_package

from jitc.client_shim.native_parts import installation, store, torch_build
from jitc.client_shim.native_parts.store import LIBRARIES, MANIFEST, Store, UnsafeStore
from jitc.client_shim.native_parts.torch_build import TorchBuild


def test_the_installed_one_is_what_pytorch_says_of_itself() -> None:
    found = torch_build.installed()
    assert found is not None
    assert found.version == torch.__version__ and found.git == torch.version.git_version
    assert found.folder == Path(torch.__file__).parent
    assert found.old_strings is not torch.compiled_with_cxx11_abi()
    assert torch.__version__.startswith(found.minor + ".") and torch.__version__.startswith(found.release)


@pytest.mark.parametrize("text", [None, "", "version = 3\n", "__version__ = 2\n", b"\xff\xfe"])
def test_a_folder_that_says_nothing_is_no_pytorch(tmp_path: Path, text: str | bytes | None) -> None:
    if text is not None:
        (tmp_path / "version.py").write_bytes(text if isinstance(text, bytes) else text.encode())
    assert torch_build.in_folder(tmp_path) is None


def test_old_strings_are_what_the_cmake_file_says(tmp_path: Path) -> None:
    assert torch_package(tmp_path / "old", old_strings=True).old_strings
    assert not torch_package(tmp_path / "new").old_strings


def test_this_is_a_checkout() -> None:
    assert installation.is_checkout() and "make build" in installation.remedy()


def test_what_mends_it_is_what_installed_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "PACKAGES", tmp_path / "jitc")
    info = tmp_path / "jitc-0.1.0.dist-info"
    info.mkdir(parents=True)
    assert installation.remedy() == "run `pip install --force-reinstall jitc`"
    for installer, command in (("pip", "pip install --force-reinstall"), ("debian", "apt-get install --reinstall")):
        (info / "INSTALLER").write_text(f"{installer}\n")
        assert installation.remedy() == f"run `{command} jitc`"


def part(folder: Path, name: str, *builds: TorchBuild) -> Path:
    made = folder / "made"
    made.mkdir(parents=True)
    for library in LIBRARIES:
        (made / library).write_text(f"{library} of {name}")
    return Store(folder).add(name, made, builds)


def test_each_build_has_its_part(tmp_path: Path) -> None:
    one = torch_package(tmp_path / "one")
    others = [
        torch_package(tmp_path / "version", version="2.98.0+cu130"),
        torch_package(tmp_path / "git", git="abd"),
        torch_package(tmp_path / "strings", old_strings=True),
    ]
    kept = tmp_path / "parts"
    assert Store(kept).find(one) is None
    place = part(kept, "of-one", one)
    assert Store(kept).find(one) == place
    assert [Store(kept).find(other) for other in others] == [None] * 3
    Store(kept).serve("of-one", others[0])
    assert Store(kept).find(others[0]) == Store(kept).find(one) == place


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("damage", ["cut", "gone", "bit"])
def test_half_a_part_is_none(tmp_path: Path, library: str, damage: str) -> None:
    torch = torch_package(tmp_path)
    file = part(tmp_path / "parts", "p", torch) / library
    contents = file.read_bytes()
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(contents[:-1] if damage == "cut" else bytes([contents[0] ^ 1]) + contents[1:])
    assert Store(tmp_path / "parts").find(torch) is None
    shutil.rmtree(tmp_path / "parts" / "made", ignore_errors=True)
    assert Store(tmp_path / "parts").find(torch) is None
    part(tmp_path / "parts", "p", torch)  # a whole one in its place
    assert Store(tmp_path / "parts").find(torch) is not None


@pytest.mark.parametrize(
    "said", ["", "{", "[]", "3", '{"format": 9}', '{"format": 1, "sources": "other", "builds": []}']
)
def test_a_description_that_is_none_hides_nothing_else(tmp_path: Path, said: str) -> None:
    torch = torch_package(tmp_path)
    place = part(tmp_path / "parts", "whole", torch)
    (tmp_path / "parts" / "bad").mkdir()
    (tmp_path / "parts" / "bad" / MANIFEST).write_text(said)
    assert Store(tmp_path / "parts").find(torch) == place


@pytest.mark.parametrize("field", ["builds", "sha256"])
def test_a_description_without_a_field_describes_no_part(tmp_path: Path, field: str) -> None:
    torch = torch_package(tmp_path)
    manifest = part(tmp_path / "parts", "p", torch) / MANIFEST
    said = json.loads(manifest.read_text())
    for value in (None, 3, "x"):
        manifest.write_text(json.dumps({**said, field: value}))
        assert Store(tmp_path / "parts").find(torch) is None
    del said[field]
    manifest.write_text(json.dumps(said))
    assert Store(tmp_path / "parts").find(torch) is None


def test_parts_of_other_sources_are_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = torch_package(tmp_path)
    part(tmp_path / "parts", "p", torch)
    monkeypatch.setattr(store.sources, "digest", lambda: "of another jitc")
    assert Store(tmp_path / "parts").find(torch) is None


def test_a_users_store_that_others_may_write_is_refused(tmp_path: Path) -> None:
    torch = torch_package(tmp_path)
    mine = Store(tmp_path / "parts", private=True)
    mine.open()
    assert (tmp_path / "parts").stat().st_mode & 0o777 == 0o700
    part(tmp_path / "parts", "p", torch)
    assert mine.find(torch) is not None
    (tmp_path / "parts").chmod(0o777)
    with pytest.raises(UnsafeStore, match="others may write it"):
        mine.find(torch)
    with pytest.raises(UnsafeStore, match="JITC_CACHE"):
        mine.open()


def test_all_users_can_load_what_one_has_built_into_the_package(tmp_path: Path) -> None:
    """Also one whose umask lets nobody read."""
    before = os.umask(0o077)
    try:
        store = Store(tmp_path / "lib" / "parts")
        store.open()
        made = store.folder / "made"
        made.mkdir(mode=0o755)
        made.chmod(0o755)  # as supply does
        for library in LIBRARIES:
            (made / library).write_text("")
        place = store.add("p", made, [torch_package(tmp_path)])
    finally:
        os.umask(before)
    modes = {path.relative_to(tmp_path): path.stat().st_mode & 0o777 for path in (tmp_path / "lib").rglob("*")}
    assert {mode for path, mode in modes.items() if path.suffix} == {0o644} and len(modes) == 5
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "lib", store.folder, place)} == {0o755}


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_another_users_store_is_refused(tmp_path: Path) -> None:
    torch = torch_package(tmp_path)
    part(tmp_path / "parts", "p", torch)
    os.chown(tmp_path / "parts", 12345, 12345)
    with pytest.raises(UnsafeStore, match="another user's"):
        Store(tmp_path / "parts", private=True).find(torch)
