"""A part is made twice: by CMake in a checkout, and by native_parts elsewhere. Both make it of the same."""

from __future__ import annotations

import itertools
import json
import re
import shlex
from pathlib import Path

import pytest
import torch
from toolkit.tree import ROOT, tracked

from jitc.client_shim.native_parts import compile, headers, sources, torch_build

BUILD = ROOT / "build" / "native"
TARGETS = {"libjitc_torch.so": "jitc_torch", "libjitc_operators.so": "jitc_operators"}
libraries = pytest.mark.parametrize("library", sources.LIBRARIES, ids=lambda one: one.name)


def commands(library: sources.Library) -> dict[str, list[str]]:
    """CMake's command for each file of the library."""
    target = f"CMakeFiles/{TARGETS[library.name]}.dir/"
    every = json.loads((BUILD / "compile_commands.json").read_text())
    return {one["file"]: shlex.split(one["command"]) for one in every if target in one["command"]}


def flags(command: list[str]) -> set[str]:
    """What decides about the library that is made; not its debug information, nor warnings."""
    told = {one for one in command if re.match("-(?:D|std=|O|f(?!file-prefix-map))", one)}
    return {one for one in told if not one.endswith("_EXPORTS")}


def folders(command: list[str]) -> list[Path]:
    joined = [word.removeprefix("-I") for word in command if word.startswith("-I")]
    named = [after for word, after in itertools.pairwise(command) if word == "-isystem"]
    return [Path(one).resolve() for one in (*joined, *named)]


@libraries
def test_the_same_files(library: sources.Library) -> None:
    assert {one for one in commands(library) if "/cmake_pch" not in one} == {str(one) for one in library.files()}


@libraries
def test_the_same_flags_and_folders(library: sources.Library, tmp_path: Path) -> None:
    here = torch_build.in_folder(Path(torch.__file__).parent)
    assert here is not None
    tools = compile._Toolchain(("c++",), here, tmp_path)
    for source, theirs in commands(library).items():
        ours = tools.compile(library, Path(source), tmp_path / "out.o")
        assert flags(ours) == flags(theirs)
        assert folders(ours) == [one for one in folders(theirs)]


@libraries
def test_the_same_common_headers(library: sources.Library) -> None:
    (place,) = BUILD.glob(f"**/{TARGETS[library.name]}.dir/cmake_pch.hxx")
    assert re.findall(r"#include <(.*)>", place.read_text()) == [*headers.COMMON, *library.common]


@libraries
def test_the_same_libraries_of_pytorch(library: sources.Library) -> None:
    text = (BUILD / "build.ninja").read_text()
    (line,) = re.findall(rf"^build \S*{library.name}\b.*\n(?:  .*\n)*?  LINK_LIBRARIES = (.*)$", text, re.MULTILINE)
    assert {Path(one).name for one in line.split() if one.endswith(".so") and "/torch/" in one} == set(library.torch)


def test_what_a_part_includes_comes_along() -> None:
    """Each header in quotes is among the files that the digest covers."""
    known = {str(path) for path in sources.files()}
    of_cmake = {str(path) for path in tracked("client_shim/native/*.h", "proxy/native/operators/*.h")}
    assert of_cmake <= known
    for library in sources.LIBRARIES:
        looked = [ROOT / one for one in library.headers]
        for source in [*library.files(), *(ROOT / library.folder).rglob("*.h")]:
            for name in re.findall(r'^#include "(.*)"', source.read_text(), re.MULTILINE):
                places = [(folder / name).resolve() for folder in (source.parent, *looked)]
                assert any(str(place) in known for place in places), f"{source} includes {name}"


def test_the_digest_changes_with_a_file_and_with_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def digest() -> str:
        sources.digest.cache_clear()
        return sources.digest()

    first = digest()
    monkeypatch.setattr(sources, "PACKAGES", tmp_path)
    (tmp_path / "client_shim" / "native").mkdir(parents=True)
    file = tmp_path / "client_shim" / "native" / "one.cpp"
    file.write_text("int one;")
    seen = [first, digest()]
    file.write_text("int two;")
    seen.append(digest())
    seen.append(digest())
    file.rename(file.with_name("two.cpp"))
    seen.append(digest())
    sources.digest.cache_clear()
    assert len(set(seen)) == 4 and seen[2] == seen[3]
