"""Who may import whom, and other rules of the tree that are easy to break without noticing."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from toolkit.texts import python_texts, texts
from toolkit.tree import ROOT, tracked

sys.path.insert(0, str(ROOT / "scripts"))

import changed

#: Folders without a rule of their own -> what of jitc and of the heavy packages they must not import.
FORBIDDEN = {
    "examples": ("jitc",),
    "tests/toolkit": ("jitc.proxy", "jitc.client_shim", "jitc.interpose", "torch"),
    "tests/end_to_end": ("jitc.proxy", "jitc.client_shim", "jitc.interpose"),
    "tests/gpu": ("toolkit", "pytest"),  # runs where neither is
    "tests/gpu/steps": ("torch", "jitc"),
    "tests/gpu/preflight": ("torch", "jitc", "grpc"),
}
#: Where packages of jitc lie.
PACKAGES = {
    "jitc.client_shim": "client_shim",
    "jitc.etcd": "protos/jitc/etcd",
    "jitc.interpose": "interpose",
    "jitc.ops": "protos/ops",
    "jitc.proxy": "proxy",
    "jitc.v1": "protos/jitc/v1",
}
#: Top folders in which every source file stands under a README that says what it may import.
RULED = ("client_shim", "interpose", "protos", "proxy")
#: Where headers are looked for, beside the folder of the file that includes them.
HEADERS = (
    "protos/include", "protos/transport", "interpose/include", "interpose", "proxy/native/include", "proxy/native",
    "client_shim/native",
)  # fmt: skip
#: Headers of the system with a folder of their own.
SYSTEM = ("sys", "linux", "netinet", "arpa", "bits")
#: Those of the C library and the compiler; any other header without a folder is a foreign library's.
C_LIBRARY = {
    f"{name}.h"
    for name in (
        "cxxabi", "dlfcn", "elf", "fcntl", "immintrin", "nmmintrin", "poll", "pthread", "signal", "stddef", "stdint",
        "stdlib", "unistd",
    )
}  # fmt: skip
FOLDERS_WITHOUT_README = {"tests"}


def imports(path: Path) -> set[str]:
    """Dotted names, absolute: of the modules, and of what is taken from them (a name may be a module)."""
    package = dotted(path.parent)
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            names |= {module, *(f"{module}.{one.name}" for one in node.names)}
    return names


def dotted(folder: Path) -> str:
    inside = str(folder.relative_to(ROOT))
    for package, place in PACKAGES.items():
        if inside == place or inside.startswith(place + "/"):
            return package + inside.removeprefix(place).replace("/", ".")
    return inside.replace("/", ".")


def matches(name: str, forbidden: str) -> bool:
    return name == forbidden.rstrip(".") or name.startswith(forbidden.rstrip(".") + ".")


@pytest.mark.parametrize("folder", FORBIDDEN)
def test_imports(folder: str) -> None:
    files = tracked(f"{folder}/*.py")
    assert files, f"the rule for {folder} matches no file"
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in files
        for name in sorted(imports(path))
        for forbidden in FORBIDDEN[folder]
        if matches(name, forbidden)
    ]
    assert not wrong, "\n".join(wrong)


#: Paths of the kernel's that are about this process or the machine.
OWN_FOLDER = re.compile(r"/proc/(?:self(?:/|$)|(?:cpuinfo|meminfo|vmstat)(?:\W|$)|sys/)")
A_FOLDER = re.compile(r"(?<![\w.])/proc(?=/|\W|$)")
#: Who may say "/proc" of anything else, and why. Another container's process cannot be seen, and a number may mean
#: another process by now: none is reached through its folder.
DESCRIBES = {
    "interpose/session/job/launcher.cpp": "reads when a rank's launcher began, which tells its jobs apart",
    "proxy/commands/support/processes.py": "describes jitc's processes in a support bundle",
    "proxy/common/host_memory.py": "has meminfo and vmstat in a folder that tests replace",
    "proxy/keeper/launch.py": "reads whether the process that the kernel names for a connection is a keeper",
}


def names_others(text: str) -> bool:
    return any(not OWN_FOLDER.match(text, found.start()) for found in A_FOLDER.finditer(text))


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ('Path("/proc") / str(pid)', True), ('Path(f"/proc/{pid}/mem")', True), ('os.listdir("/proc")', True),
        ('"/proc/" + pid', True), ('Path("/proc", "7")', True), ("run('open(\\'/proc/7/fd\\')')", True),
        ('"/proc/self/fd"', False), ('f"/proc/self/fd/{one}"', False), ('"/proc/sys/kernel/cap_last_cap"', False),
        ('Path("/proc/meminfo")', False), ('"api/process/symbols.h"', False), ('"/proc/selfish"', True),
    ],
)  # fmt: skip
def test_what_names_another_process_s_folder(code: str, names: bool) -> None:
    assert any(map(names_others, python_texts(ast.parse(f"one = {code}")))) is names


def test_no_process_is_reached_through_its_folder() -> None:
    files = [
        path for top in RULED for path in tracked(*(f"{top}/*.{kind}" for kind in ("py", "cpp", "h", "proto", "sh")))
    ]
    assert len(files) > 500
    found = {str(path.relative_to(ROOT)) for path in files if any(map(names_others, texts(path)))}
    assert found == set(DESCRIBES), "one more does, or one that is listed no longer"


#: Folder with a README that has a rule -> what may be imported there: folders with rules, and foreign packages.
RULES = changed.rules()


def room(path: str) -> str:
    """The nearest folder above that has a rule."""
    return changed.room(path, RULES)


def targets(path: Path) -> set[str]:
    """What a file imports: folders with rules, or foreign packages."""
    return modules_of(path) if path.suffix == ".py" else headers_of(path)


def modules_of(path: Path) -> set[str]:
    found = set()
    for name in imports(path):
        package = next((one for one in PACKAGES if matches(name, one)), None)
        if package:
            inside = PACKAGES[package] + name.removeprefix(package).replace(".", "/")
            folder = inside if (ROOT / inside).is_dir() else str(Path(inside).parent)
            folder = folder if (ROOT / folder).is_dir() else str(Path(folder).parent)  # a name from a module
            found.add(room(folder + "/"))
        elif name.split(".")[0] not in sys.stdlib_module_names:
            found.add(name.split(".")[0])
    return found


def headers_of(path: Path) -> set[str]:
    found = set()
    for bracket, name in re.findall(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', path.read_text(), re.MULTILINE):
        if bracket == '"':
            near = [path.parent, *(ROOT / folder for folder in HEADERS)]
            there = next(((one / name).resolve() for one in near if (one / name).exists()), None)
            found.add(room(str(there.relative_to(ROOT))) if there else name)
        elif "/" in name and name.split("/")[0] not in SYSTEM:
            found.add(name.split("/")[0])
        elif name.endswith(".h") and "/" not in name and name not in C_LIBRARY:
            found.add(name)
    return found


def test_every_source_has_a_rule() -> None:
    files = tracked(*(f"{top}/*{suffix}" for top in RULED for suffix in (".py", ".h", ".cpp")))
    assert len(files) > 100
    assert not [str(path.relative_to(ROOT)) for path in files if not room(str(path.relative_to(ROOT)))]


@pytest.mark.parametrize("folder", sorted(RULES))
def test_imports_are_what_the_readme_allows(folder: str) -> None:
    files = tracked(f"{folder}/*.py", f"{folder}/*.h", f"{folder}/*.cpp")
    files = [one for one in files if room(str(one.relative_to(ROOT))) == folder]
    wrong = {
        f"{path.relative_to(ROOT)} imports {name}"
        for path in files
        for name in targets(path) - RULES[folder] - {folder}
    }
    assert not wrong, "\n".join(sorted(wrong))


def test_rules_name_what_there_is_and_go_one_way() -> None:
    inside = {
        one: {name for name in allowed if "/" in name or (ROOT / name).is_dir()} for one, allowed in RULES.items()
    }
    assert not {name for allowed in inside.values() for name in allowed} - set(RULES), "no such folder with a rule"
    assert list(TopologicalSorter(inside).static_order())  # raises CycleError and names the circle


def floors(readme: Path) -> dict[str, int]:
    """Of a README with a line of them: folder -> floor, the ground is 0."""
    line = re.search(r"^Floors: ([^.]+)\.", readme.read_text(), re.MULTILINE)
    each = [re.findall(r"`(\w+)`", one) for one in line[1].split("<")] if line else []
    return {folder: number for number, names in enumerate(each) for folder in names}


#: Folders whose READMEs give floors to their own folders, and what stands beside these.
FLOORS = {
    "proxy/native/executor": set(),
    "proxy/native/device/cuda": set(),
    "proxy/native/device/software": set(),
    "interpose/api": {"generated"},
}  # fmt: skip


@pytest.mark.parametrize("folder", FLOORS)
def test_no_include_runs_up(folder: str) -> None:
    top, known = ROOT / folder, floors(ROOT / folder / "README.md")
    files = [path for path in tracked(f"{folder}/*.h", f"{folder}/*.cpp") if path.parent != top]
    inside = {path: path.relative_to(top).parts[0] for path in files}
    assert set(inside.values()) == set(known) | FLOORS[folder]
    wrong = [
        f"{path.relative_to(top)} includes {there.relative_to(top)}"
        for path in files
        if inside[path] in known
        for there in included(path)
        if inside.get(there, inside[path]) in known.keys() - {inside[path]}
        and known[inside[there]] >= known[inside[path]]
    ]
    assert not wrong, "\n".join(wrong)


def included(path: Path) -> set[Path]:
    """The headers of ours that a source names."""
    near = [path.parent, *(ROOT / folder for folder in HEADERS)]
    names = re.findall(r'^\s*#\s*include\s*"([^"]+)"', path.read_text(), re.MULTILINE)
    return {next((one / name).resolve() for one in near if (one / name).exists()) for name in names}


def test_tests_do_not_import_tests() -> None:
    files = tracked("tests/*.py")
    assert files
    wrong = [str(path.relative_to(ROOT)) for path in files for name in imports(path) if re.search(r"(^|\.)test_", name)]
    assert not wrong, "tests that import tests: " + ", ".join(wrong)


def test_no_two_files_of_tests_have_the_same_name() -> None:
    """pytest knows a file by its name alone: of two in one process the second is not collected."""
    names = [path.name for path in tracked("tests/*.py") if path.name.startswith("test_")]
    assert len(names) > 100
    assert not sorted({name for name in names if names.count(name) > 1})


def test_every_folder_of_sources_says_what_it_is() -> None:
    folders = {path.parent for path in tracked("*.py", "*.h", "*.cpp") if "/" in str(path.relative_to(ROOT))}
    tops = {ROOT / folder.relative_to(ROOT).parts[0] for folder in folders}
    missing = [
        one.name for one in sorted(tops) if one.name not in FOLDERS_WITHOUT_README and not (one / "README.md").exists()
    ]
    assert not missing, "no README.md in: " + ", ".join(missing)


def test_every_python_module_starts_with_what_it_is_for() -> None:
    files = [path for path in tracked("*.py") if not path.name.startswith("generated_")]
    wrong = [str(path.relative_to(ROOT)) for path in files if not ast.get_docstring(ast.parse(path.read_text()))]
    assert not wrong, "no docstring: " + ", ".join(wrong)


def test_light_commands_import_nothing_heavy() -> None:
    """`jitc preload-path` runs in every job's start-up: no grpc, no torch."""
    heavy = ("torch", "grpc", "google.protobuf")
    code = f"import sys; import jitc.proxy.common.paths; print([one for one in {heavy} if one in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd="/")
    assert done.stdout.strip() == "[]"


def test_all_packages_are_shipped() -> None:
    """What pyproject.toml puts into the wheel has every package, under the name by which it is imported."""
    table = re.search(
        r"^\[tool.scikit-build.wheel.packages\]\n(.*?)\n\n", (ROOT / "pyproject.toml").read_text(), re.M | re.S
    )
    assert table
    shipped = dict(re.findall(r'^"jitc/([\w/]+)" = "([\w/]+)"$', table[1], re.MULTILINE))
    for package, place in PACKAGES.items():
        assert shipped[package.removeprefix("jitc.").replace(".", "/")] == place
