"""Makes the wheel and the source distribution.

    make.py [--releases "2.11.0 ..."] [--out FOLDER]

Called by: `make wheel`. Promises: the libraries are those of the checkout's native build; only native parts for PyTorch
are compiled, and kept; the same commit gives the same bytes; beside the wheel lie debug files for its libraries, and
SHA256SUMS; the sizes are printed, and a wheel that is too large is a failure. One at a time works in a checkout.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import backend
import parts
import releases
import sizes

from jitc.client_shim.native_parts.compile import CannotBuild

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "wheel"
#: The oldest glibc that the libraries need; tests/unit/test_portable.py reads what they do need.
PLATFORM = "manylinux_2_34_x86_64"
#: Libraries with debug information, as the native build leaves them.
_NATIVE = ("interpose/lib/libjitc_interpose.so", "interpose/lib/libjitc_nvml.so", "interpose/lib/libjitc_transport.so",
           "proxy/lib/libjitc_executor.so", "proxy/lib/libjitc_boundaries.so")  # fmt: skip


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument(
        "--releases", default=" ".join(releases.RELEASES), help="of PyTorch, for which parts come along"
    )
    options.add_argument("--out", type=Path, default=ROOT / "build" / "dist", help="where all of it goes")
    arguments = options.parse_args()
    os.chdir(ROOT)
    os.environ["SOURCE_DATE_EPOCH"] = _output("git", "log", "-1", "--format=%ct")
    wanted = tuple(arguments.releases.split())
    WORK.mkdir(parents=True, exist_ok=True)
    with (WORK / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _make(wanted, arguments.out.resolve())
    for one in sorted(arguments.out.resolve().iterdir()):
        print(f"   {one.stat().st_size / 1e6:6.2f} MB  {one.relative_to(ROOT) if one.is_relative_to(ROOT) else one}")
    print("== sizes", flush=True)
    (wheel,) = arguments.out.glob("*.whl")
    sizes.show(wheel)
    return 0


def _make(wanted: tuple[str, ...], out: Path) -> None:
    chosen = parts.chosen(parts.make(WORK, wanted), wanted, WORK / "chosen")
    _count(len(list(chosen.iterdir())), wanted)
    stubs = _stubs()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    print("== source distribution", flush=True)
    tree = _tree(stubs)
    _backend("build_sdist", out, {}, tree)
    print("== wheel", flush=True)
    _wheel(tree, chosen, out)
    _debug_files(out)
    _sums(out)


def _count(made: int, wanted: tuple[str, ...]) -> None:
    """Says how many parts serve the releases. Documents quote the number for all of them from releases.py."""
    print(f"== {made} native parts for {len(wanted)} releases of PyTorch", flush=True)
    if wanted == releases.RELEASES and made != releases.PARTS:
        raise CannotBuild(f"scripts/wheel/releases.py says PARTS = {releases.PARTS}: correct it there")


def _stubs() -> Path:
    """Makes gRPC's stubs with the release of protoc that they must be of, in an environment of its own."""
    tools, stubs = WORK / "protoc", WORK / "stubs"
    if not (tools / "made").exists():
        print("== protoc", flush=True)
        shutil.rmtree(tools, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(tools)], check=True)
        _pip(str(tools / "bin" / "python"), *backend.PROTOC)
        (tools / "made").touch()
    shutil.rmtree(stubs, ignore_errors=True)
    stubs.mkdir(parents=True)
    protos = sorted(str(one) for one in Path("protos/jitc").glob("*/*.proto"))
    outputs = [f"--{kind}_out={stubs}" for kind in ("python", "pyi", "grpc_python")]
    subprocess.run([tools / "bin" / "python", "-m", "grpc_tools.protoc", "-Iprotos", *outputs, *protos], check=True)
    return stubs


def _tree(stubs: Path) -> Path:
    """Copies the tracked files alone, and the stubs, to a folder."""
    tree = WORK / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    for name in _output("git", "ls-files", "-z").strip("\0").split("\0"):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)
    shutil.copytree(stubs, tree / "protos", dirs_exist_ok=True)
    (tree / ".gitignore").unlink()  # which hides the stubs
    return tree


def _wheel(tree: Path, chosen: Path, out: Path) -> None:
    """Makes the wheel of the libraries that are built, without a compiler. From the source distribution, pip has CMake
    build the same ones."""
    for name in _NATIVE:
        (tree / name).parent.mkdir(exist_ok=True)
        subprocess.run(["strip", "-o", str(tree / name), name], check=True)
    shutil.copytree(chosen, tree / "client_shim" / "lib" / "parts")
    bill = ROOT / "build" / "native" / "jitc.cdx.json"
    settings = {
        "wheel.cmake": "false",
        "wheel.platlib": "true",
        "wheel.tags": f"py3-none-{PLATFORM}",
        f"wheel.force-include.{bill}": "${SKBUILD_METADATA_DIR}/sboms/jitc.cdx.json",
    }
    _backend("build_wheel", out, settings, tree)


def _backend(hook: str, out: Path, settings: dict[str, str], tree: Path) -> None:
    code = (
        f"import sys; sys.path.insert(0, 'scripts/wheel'); import backend; backend.{hook}({str(out)!r}, {settings!r})"
    )
    log = WORK / f"{hook}.log"
    with log.open("wb") as kept:
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=tree, stdout=kept, stderr=subprocess.STDOUT, check=False,
            env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        )  # fmt: skip
    if done.returncode:
        sys.stderr.write(log.read_text(errors="replace")[-6000:])
        raise SystemExit(f"make wheel: {hook} failed; {log} has all of it")


def _debug_files(out: Path) -> None:
    """Where a debugger looks for them: .build-id/ab/cdef.debug, below /usr/lib/debug or a folder that it is told."""
    folder = WORK / "debug"
    shutil.rmtree(folder, ignore_errors=True)
    for name in _NATIVE:
        number = re.search(r"Build ID: (\w{2})(\w+)", _output("readelf", "-n", name))
        assert number is not None, f"{name} has no build id"
        place = folder / ".build-id" / number[1] / f"{number[2]}.debug"
        place.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["objcopy", "--only-keep-debug", "--compress-debug-sections", name, str(place)], check=True)
    (wheel,) = out.glob("*.whl")
    epoch = int(os.environ["SOURCE_DATE_EPOCH"])

    def same_each_time(one: tarfile.TarInfo) -> tarfile.TarInfo:
        one.mtime, one.uid, one.gid, one.uname, one.gname = epoch, 0, 0, "", ""
        return one

    with tarfile.open(out / f"{wheel.name.split('-py3')[0]}-debug.tar.xz", "w:xz") as archive:
        for path in sorted(folder.rglob("*.debug")):
            archive.add(path, str(path.relative_to(folder)), filter=same_each_time)


def _sums(out: Path) -> None:
    lines = [f"{hashlib.sha256(one.read_bytes()).hexdigest()}  {one.name}\n" for one in sorted(out.iterdir())]
    (out / "SHA256SUMS").write_text("".join(lines))


def _pip(python: str, *requirements: str) -> None:
    words = ["install", "--quiet", "--disable-pip-version-check", *requirements]
    done = subprocess.run([python, "-m", "pip", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"make wheel: pip failed:\n{done.stderr[-3000:]}")


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT).stdout.strip("\n")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (CannotBuild, sizes.TooLarge, OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"make wheel: {error}")
