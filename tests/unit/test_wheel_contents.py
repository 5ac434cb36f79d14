"""The wheel and the source distribution: what is in them, what they say of themselves, and that they are the same each
time. Native parts for PyTorch are left out here: tests/end_to_end/test_wheel.py has one."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import io
import json
import re
import runpy
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from email.parser import Parser
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from toolkit.tree import ROOT, tracked
from toolkit.wheel import PLATFORM, made, named_in, places, repaired, tool

from jitc.client_shim.native_parts import sources

MB = 1_000_000
LIBRARIES = {
    "jitc/interpose/lib/libjitc_interpose.so", "jitc/interpose/lib/libjitc_nvml.so",
    "jitc/interpose/lib/libjitc_transport.so", "jitc/proxy/lib/libjitc_boundaries.so",
    "jitc/proxy/lib/libjitc_executor.so",
}  # fmt: skip
#: Packages of what protoc makes.
STUBS = ("jitc/etcd/", "jitc/v1/")
SIZES = ROOT / "scripts" / "wheel" / "sizes.py"
RELEASES = runpy.run_path(str(ROOT / "scripts" / "wheel" / "releases.py"))
#: A native part, as a checkout has it.
OF_A_PART = ("client_shim/lib/libjitc_torch.so", "proxy/lib/libjitc_operators.so")
#: Packages that are imported by another name.
DISTRIBUTIONS = {"google": "protobuf", "grpc": "grpcio", "pynvml": "nvidia-ml-py"}


@pytest.fixture(scope="module")
def making(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder with all of it, and what was said while it was made."""
    folder = tmp_path_factory.mktemp("dist")
    with contextlib.redirect_stdout(io.StringIO()) as output:
        made(folder)
    return folder, output.getvalue()


@pytest.fixture(scope="module")
def out(making: tuple[Path, str]) -> Path:
    return making[0]


@pytest.fixture(scope="module")
def wheel(out: Path) -> zipfile.ZipFile:
    (path,) = out.glob("*.whl")
    return zipfile.ZipFile(path)


def in_source_distribution(out: Path) -> dict[str, bytes]:
    (path,) = out.glob("jitc-*[0-9].tar.gz")
    with tarfile.open(path) as archive:
        members = [one for one in archive.getmembers() if one.isfile()]
        return {one.name.partition("/")[2]: archive.extractfile(one).read() for one in members}  # type: ignore[union-attr]


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
    for proto in tracked("protos/jitc/*/*.proto"):
        package = f"jitc/{proto.parent.name}"
        assert {f"{package}/{proto.stem}_pb2.py", f"{package}/{proto.stem}_pb2_grpc.py"} <= names
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
    """Of files that are as git has them nothing needs to be asked."""
    written = {path.read_bytes() for path in tracked()}
    built = {one: data for one in wheel.namelist() if (data := wheel.read(one)) not in written}
    assert set(built) >= LIBRARIES
    assert {one: found for one, data in built.items() if (found := named_in(data, places()))} == {}


@pytest.mark.parametrize(
    ("contents", "found"),
    [
        (b"\0/root/jitc/a.cpp\0", ["/root"]), (b"'/root'", ["/root"]), (b"-I /root", ["/root"]),
        (b"/mnt/root/a /rooted /root-2 x/root", []), (b"on vm2, vm-3, my.vm", []), (b"on vm.", ["vm"]),
        (b"\0 vm \0", []), (b"-I/home/me/jitc/include", ["/home/me/jitc"]), (b"/home/me/jitc2", []),
    ],
)  # fmt: skip
def test_a_place_is_found_where_it_stands_by_itself(contents: bytes, found: list[str]) -> None:
    assert named_in(contents, {"/root", "vm", "/home/me/jitc"}) == found


def sizes(wheel: Path) -> tuple[int, list[str], str]:
    done = subprocess.run([sys.executable, str(SIZES), str(wheel)], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines(), done.stderr


def test_its_sizes_are_printed(making: tuple[Path, str], wheel: zipfile.ZipFile) -> None:
    out, output = making
    (path,) = out.glob("*.whl")
    status, lines, errors = sizes(path)
    assert (status, errors) == (0, "")
    library = wheel.getinfo("jitc/interpose/lib/libjitc_interpose.so").file_size
    unpacked = sum(one.file_size for one in wheel.infolist())
    measured = ((path.stat().st_size, "wheel (at most 8)"), (unpacked, "installed (at most 20)"),
                (library, "preloaded library (at most 1.5)"))  # fmt: skip
    assert lines == [f"   {size / MB:6.2f} MB  {what}" for size, what in measured]
    assert output.rstrip().splitlines()[-len(lines) :] == lines, "make.py says it at its end"


@pytest.mark.parametrize("what", ["wheel", "installed", "preloaded library"])
def test_one_that_is_too_large_is_refused(tmp_path: Path, what: str) -> None:
    path = tmp_path / "jitc-1-py3-none-any.whl"
    counts = {"wheel": (1, 9), "installed": (1, 20), "preloaded library": (2, 0)}[what]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED if what == "wheel" else zipfile.ZIP_DEFLATED) as made_up:
        made_up.writestr("jitc/interpose/lib/libjitc_interpose.so", bytes(counts[0] * MB))
        made_up.writestr("jitc/client_shim/lib/parts/torch_1/libjitc_torch.so", bytes(counts[1] * MB))
    status, lines, errors = sizes(path)
    (line,) = errors.splitlines()
    assert status == 1 and line.startswith(f"{path.name} is larger than it may be: {what} ")
    assert lines[-1] == f"   {counts[1]:6.2f} MB  part torch_1"


def test_there_is_room_for_the_parts(out: Path, wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    """As many as the wheel for all releases has, each as large as that of this checkout."""
    (path,) = out.glob("*.whl")
    part = b""
    for name in OF_A_PART:
        subprocess.run(["strip", "-o", str(tmp_path / "stripped"), str(ROOT / name)], check=True)
        part += (tmp_path / "stripped").read_bytes()
    count = RELEASES["PARTS"]
    assert path.stat().st_size + count * len(zlib.compress(part)) <= 8 * MB
    assert sum(one.file_size for one in wheel.infolist()) + count * len(part) <= 20 * MB


def imported(node: ast.AST) -> Iterator[str]:
    """Top packages that the code imports when it runs; not those that types alone are of."""
    if isinstance(node, ast.Import):
        yield from (one.name.partition(".")[0] for one in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield node.module.partition(".")[0]
    for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    within: Iterable[ast.AST] = node.orelse if for_types else ast.iter_child_nodes(node)
    for one in within:
        yield from imported(one)


def test_what_it_imports_is_declared(wheel: zipfile.ZipFile) -> None:
    """In the metadata, as a dependency or in an extra; and nothing else is a dependency."""
    (info,) = {one.split("/")[0] for one in wheel.namelist() if ".dist-info/" in one}
    metadata = Parser().parsestr(wheel.read(f"{info}/METADATA").decode())
    marks = [(one.name, str(one.marker)) for one in map(Requirement, metadata.get_all("Requires-Dist", []))]
    extras = {name for name, mark in marks if "extra ==" in mark and 'extra == "dev"' not in mark}
    needed = {name for name, mark in marks if "extra ==" not in mark}
    code = {one: wheel.read(one) for one in wheel.namelist() if one.endswith(".py")}
    names = {name for text in code.values() for name in imported(ast.parse(text))}
    beside = {Path(one).stem for one in code if one.startswith("jitc/examples/")}  # which examples import
    foreign = names - set(sys.stdlib_module_names) - {"jitc", "tomllib"} - beside
    asked = {DISTRIBUTIONS.get(one, one) for one in foreign}
    assert needed <= asked <= needed | extras


def test_its_tags_and_metadata(out: Path, wheel: zipfile.ZipFile) -> None:
    (info,) = {one.split("/")[0] for one in wheel.namelist() if ".dist-info/" in one}
    tags = wheel.read(f"{info}/WHEEL").decode()
    assert "Tag: py3-none-manylinux_2_34_x86_64\n" in tags and "Root-Is-Purelib: false" in tags
    metadata = Parser().parsestr(wheel.read(f"{info}/METADATA").decode())
    assert set(metadata.get_all("Provides-Extra", [])) == {"torch", "cluster", "cuda12", "cuda13", "dev"}
    assert (metadata["Requires-Python"], metadata["License-Expression"]) == (">=3.10", "Apache-2.0")
    for name in metadata.get_all("License-File", []):
        assert wheel.read(f"{info}/licenses/{name}")
    assert wheel.read(f"{info}/entry_points.txt").decode().count("jitc") >= 3


def test_stubs_ask_for_no_newer_release_than_the_metadata(wheel: zipfile.ZipFile) -> None:
    """Stubs refuse to work with older releases of protobuf and grpcio than their generator's."""
    project = (ROOT / "pyproject.toml").read_text()
    allowed = {name: number for name, number in re.findall(r'"(grpcio|protobuf)>=([\d.]+),', project)}
    stubs = [wheel.read(one).decode() for one in wheel.namelist() if one.startswith(STUBS) and one.endswith(".py")]
    assert len(stubs) >= 8
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
    assert set(components) == {"nghttp2", "xxHash", "nlohmann-json", "libstdc++", "PyTorch"}
    assert "version" not in components["PyTorch"], "each part has headers of another release"
    versions = [one["version"] for name, one in components.items() if name != "PyTorch"]
    assert all(re.fullmatch(r"\d+(\.\d+)+", one) for one in versions)
    assert components["nghttp2"]["purl"] == f"pkg:github/nghttp2/nghttp2@v{components['nghttp2']['version']}"
    licences = [one for one in wheel.namelist() if "/licenses/" in one and one.endswith(".txt")]
    assert len(licences) == len(components)


def test_the_tools_find_nothing(out: Path, tmp_path: Path) -> None:
    (path,) = out.glob("*.whl")
    assert f'constrains the platform tag to "{PLATFORM}"' in " ".join(tool("auditwheel", "show", str(path)).split())
    assert repaired(path, tmp_path / "repaired").name == path.name
    assert "OK" in tool("check-wheel-contents", str(path))
    (archive,) = out.glob("jitc-*[0-9].tar.gz")
    assert tool("twine", "check", "--strict", str(path), str(archive)).count("PASSED") == 2


def test_the_source_distribution_has_what_a_build_needs(out: Path, wheel: zipfile.ZipFile) -> None:
    files = in_source_distribution(out)
    folders = ("client_shim", "examples", "interpose", "protos", "proxy")
    for path in tracked(*(f"{one}/*" for one in folders), "scripts/wheel/*", "scripts/portable/*", "scripts/*.cmake"):
        assert str(path.relative_to(ROOT)) in files
    assert {"CMakeLists.txt", "pyproject.toml", "LICENSE", "NOTICE", "README.md", "PKG-INFO"} <= set(files)
    for one in wheel.namelist():
        if one.startswith(STUBS):
            assert files[f"protos/{one}"] == wheel.read(one), "the stubs come along"
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
