"""The wheel and the source distribution: what is in them, what they say of themselves, and that they are the same each
time. Native parts for PyTorch are left out here: tests/end_to_end/test_wheel.py has one."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from toolkit.tree import ROOT, tracked
from toolkit.wheel import made

from jitc.client_shim.native_parts import sources

MB = 1_000_000
BIN = Path(sys.executable).parent
LIBRARIES = {
    "jitc/interpose/lib/libjitc_interpose.so", "jitc/interpose/lib/libjitc_nvml.so",
    "jitc/interpose/lib/libjitc_transport.so", "jitc/proxy/lib/libjitc_boundaries.so",
    "jitc/proxy/lib/libjitc_executor.so",
}  # fmt: skip
#: What the parts for all releases may take beside: fifteen of them, some of which serve two.
PARTS_BYTES, PARTS_INSTALLED = 5 * MB, 12 * MB


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    made(folder)
    return folder


@pytest.fixture(scope="module")
def wheel(out: Path) -> zipfile.ZipFile:
    (path,) = out.glob("*.whl")
    return zipfile.ZipFile(path)


def in_source_distribution(out: Path) -> dict[str, bytes]:
    (path,) = out.glob("jitc-*[0-9].tar.gz")
    with tarfile.open(path) as archive:
        members = [one for one in archive.getmembers() if one.isfile()]
        return {one.name.partition("/")[2]: archive.extractfile(one).read() for one in members}  # type: ignore[union-attr]


def said(*command: str, **environ: str) -> str:
    path = f"{BIN}:{os.environ['PATH']}"
    done = subprocess.run(
        [str(BIN / command[0]), *command[1:]], capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "PATH": path, "COLUMNS": "300", "NO_COLOR": "1", **environ},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_libraries_are_in_it(wheel: zipfile.ZipFile) -> None:
    """Which no tool asks for: a wheel without them ends in tracebacks."""
    assert {one for one in wheel.namelist() if ".so" in one} == LIBRARIES


def test_all_python_code_is_in_it(wheel: zipfile.ZipFile) -> None:
    places = {
        "client_shim": "client_shim", "examples": "examples", "protos/ops": "ops", "proxy": "proxy",
        "interpose/__init__.py": "interpose/__init__.py",
    }  # fmt: skip
    names = set(wheel.namelist())
    for place, package in places.items():
        for path in tracked(f"{place}/*.py" if "." not in place else place):
            packed = "jitc/" + str(path.relative_to(ROOT)).replace(place, package, 1)
            assert (packed in names) != packed.startswith("jitc/proxy/commands/pages/"), "that makes pages of docs/"
    for proto in tracked("protos/jitc/v1/*.proto"):
        assert {f"jitc/v1/{proto.stem}_pb2.py", f"jitc/v1/{proto.stem}_pb2_grpc.py"} <= names
    assert {"jitc/__init__.py", "jitc/__main__.py", "jitc/LICENSE", "jitc/proxy/py.typed"} <= names
    schemas = {f"jitc/proxy/status/{path.name}" for path in tracked("proxy/status/*.schema.json")}
    assert schemas and schemas <= names
    manuals = {one.rpartition("/")[2] for one in names if ".data/data/share/man/man1/" in one}
    assert manuals == {"jitc.1", "jitc-proxyd.1"}


def test_what_a_part_is_made_of_is_in_it_and_no_other_source(wheel: zipfile.ZipFile) -> None:
    needed = {f"jitc/{path.relative_to(ROOT)}" for path in sources.files()}
    there = {one for one in wheel.namelist() if one.endswith((".cpp", ".h"))}
    assert there == needed


def test_nothing_is_in_it_that_only_builds_need(wheel: zipfile.ZipFile) -> None:
    strangers = [
        one for one in wheel.namelist() if re.search(r"README|CMakeLists|\.cmake|\.proto$|\.map$|tests?/", one)
    ]
    assert not strangers


def test_no_place_of_the_build_is_in_any_file(wheel: zipfile.ZipFile) -> None:
    places = {str(ROOT), str(Path.home()), sys.prefix, sys.base_prefix, os.uname().nodename}
    bad = [
        (one, place) for one in wheel.namelist() for place in places
        if len(place) > len("/root") and place.encode() in wheel.read(one)
    ]  # fmt: skip
    assert not bad


def test_it_is_small(out: Path, wheel: zipfile.ZipFile) -> None:
    (path,) = out.glob("*.whl")
    assert path.stat().st_size <= 8 * MB - PARTS_BYTES
    assert sum(one.file_size for one in wheel.infolist()) <= 20 * MB - PARTS_INSTALLED
    assert wheel.getinfo("jitc/interpose/lib/libjitc_interpose.so").file_size <= 1.5 * MB


def test_its_tags_and_metadata(out: Path, wheel: zipfile.ZipFile) -> None:
    (info,) = {one.split("/")[0] for one in wheel.namelist() if ".dist-info/" in one}
    tags = wheel.read(f"{info}/WHEEL").decode()
    assert "Tag: py3-none-manylinux_2_34_x86_64\n" in tags and "Root-Is-Purelib: false" in tags
    metadata = Parser().parsestr(wheel.read(f"{info}/METADATA").decode())
    assert set(metadata.get_all("Provides-Extra", [])) == {"torch", "cuda12", "cuda13", "dev"}
    assert (metadata["Requires-Python"], metadata["License-Expression"]) == (">=3.10", "Apache-2.0")
    for name in metadata.get_all("License-File", []):
        assert wheel.read(f"{info}/licenses/{name}")
    assert wheel.read(f"{info}/entry_points.txt").decode().count("jitc") >= 3


def test_stubs_ask_for_no_newer_release_than_the_metadata(wheel: zipfile.ZipFile) -> None:
    """Stubs refuse to work with older releases of protobuf and grpcio than their generator's."""
    project = (ROOT / "pyproject.toml").read_text()
    allowed = {name: number for name, number in re.findall(r'"(grpcio|protobuf)>=([\d.]+),', project)}
    stubs = [wheel.read(one).decode() for one in wheel.namelist() if one.startswith("jitc/v1/") and one.endswith(".py")]
    assert len(stubs) >= 6
    asked = {
        "protobuf": {one[1] for text in stubs if (one := re.search(r"# Protobuf Python Version: ([\d.]+)", text))},
        "grpcio": {one[1] for text in stubs if (one := re.search(r"GRPC_GENERATED_VERSION = '([\d.]+)'", text))},
    }

    def number(text: str) -> tuple[int, ...]:
        return tuple(int(one) for one in text.split("."))

    for name, versions in asked.items():
        assert versions and max(map(number, versions))[:2] <= number(allowed[name])[:2], name


def test_what_is_linked_in_is_named(wheel: zipfile.ZipFile) -> None:
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    (name,) = [one for one in wheel.namelist() if one.endswith(".dist-info/sboms/jitc.cdx.json")]
    text = wheel.read(name).decode()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    components = {one["name"]: one for one in json.loads(text)["components"]}
    assert set(components) == {"nghttp2", "xxHash", "nlohmann-json", "libstdc++"}
    assert all(re.fullmatch(r"\d+(\.\d+)+", one["version"]) for one in components.values())
    assert components["nghttp2"]["purl"] == f"pkg:github/nghttp2/nghttp2@v{components['nghttp2']['version']}"
    licences = [one for one in wheel.namelist() if "/licenses/" in one and one.endswith(".txt")]
    assert len(licences) == len(components)


def test_the_tools_find_nothing(out: Path) -> None:
    (path,) = out.glob("*.whl")
    assert 'constrains the platform tag to "manylinux_2_34_x86_64"' in " ".join(
        said("auditwheel", "show", str(path)).split()
    )
    repaired = out / "repaired"
    said("auditwheel", "repair", "--plat", "manylinux_2_34_x86_64", "-w", str(repaired), str(path))
    assert [one.name for one in repaired.iterdir()] == [path.name]
    assert "OK" in said("check-wheel-contents", str(path))
    (archive,) = out.glob("jitc-*[0-9].tar.gz")
    assert said("twine", "check", "--strict", str(path), str(archive)).count("PASSED") == 2


def test_the_source_distribution_has_what_a_build_needs(out: Path, wheel: zipfile.ZipFile) -> None:
    files = in_source_distribution(out)
    folders = ("client_shim", "examples", "interpose", "protos", "proxy")
    for path in tracked(*(f"{one}/*" for one in folders), "scripts/wheel/*", "scripts/portable/*", "scripts/*.cmake"):
        assert str(path.relative_to(ROOT)) in files
    assert {"CMakeLists.txt", "pyproject.toml", "LICENSE", "NOTICE", "README.md", "PKG-INFO"} <= set(files)
    for one in wheel.namelist():
        if one.startswith("jitc/v1/"):
            assert files[one.replace("jitc/v1", "protos/jitc/v1", 1)] == wheel.read(one), "the stubs come along"
    strange = [one for one in files if one.startswith(("tests", "docs", ".", "build")) or one.endswith(".so")]
    assert strange == ["docs/man/generated_jitc-proxyd.1", "docs/man/generated_jitc.1"]


def test_debug_files_belong_to_the_libraries(out: Path, wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    (archive,) = out.glob("*-debug.tar.xz")
    with tarfile.open(archive) as debug:
        names = debug.getnames()
    for library in LIBRARIES:
        path = Path(wheel.extract(library, tmp_path))
        notes = subprocess.run(["readelf", "-n", str(path)], capture_output=True, text=True, check=True).stdout
        found = re.search(r"Build ID: (\w{2})(\w+)", notes)
        assert found is not None
        names.remove(f".build-id/{found[1]}/{found[2]}.debug")
        sections = subprocess.run(["readelf", "-S", str(path)], capture_output=True, text=True, check=True).stdout
        assert ".debug_info" not in sections and ".symtab" not in sections
    assert names == []


def test_the_sums_are_right(out: Path) -> None:
    lines = [line.split("  ") for line in (out / "SHA256SUMS").read_text().splitlines()]
    assert len(lines) == 3
    for number, name in lines:
        assert hashlib.sha256((out / name).read_bytes()).hexdigest() == number


def test_the_same_commit_gives_the_same_bytes(out: Path, tmp_path: Path) -> None:
    made(tmp_path / "again")
    assert (tmp_path / "again" / "SHA256SUMS").read_text() == (out / "SHA256SUMS").read_text()
