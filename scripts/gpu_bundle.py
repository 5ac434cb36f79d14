"""make gpu-bundle: a folder and a tar with all that scripts/gpu_check.py needs on a bare machine with a GPU.

Python code, generated gRPC stubs, native libraries of whose symbols only names are left. Run there:
`python3 gpu_check.py`. Promise: under 64 MiB, or an error. `gpu_bundle.py FOLDER` fills that one instead of
build/gpu-bundle, without a tar.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 64 << 20
#: Package of jitc -> its folder, as in pyproject.toml, and what is not needed there: generators, native sources.
PACKAGES: dict[str, tuple[str, tuple[str, ...]]] = {
    "client_shim": ("client_shim", ("native",)),
    "etcd": ("protos/jitc/etcd", ()),
    "interpose": ("interpose", ("api", "generator", "include", "session", "spec")),
    "ops": ("protos/ops", ()),
    "proxy": ("proxy", ("native",)),
    "v1": ("protos/jitc/v1", ()),
}
LEFT_OUT = ("__pycache__", "*.proto", "*.md", "*.txt")
NEEDED = (
    "proxy/lib/libjitc_executor.so", "interpose/lib/libjitc_interpose.so", "interpose/lib/libjitc_transport.so",
    "client_shim/lib/libjitc_torch.so",
)  # fmt: skip
LOOPS = "libgpu_loops.so"
#: What the step third_party needs, in tests.
THIRD_PARTY = (
    *(f"third_party/{name}.py" for name in ("__init__", "cases", "counts")),
    *(f"third_party/programs/{path.name}" for path in sorted((ROOT / "tests/third_party/programs").glob("*.py"))),
)
#: A stub refuses to work with a runtime older than its generator. What is used of it has been the same for years, and
#: the machine's packages cannot be changed.
CHECKS = (
    (re.compile(r"_runtime_version\.ValidateProtobufRuntimeVersion\(.*?\n\)\n", re.DOTALL), ""),
    (re.compile(r"^if _version_not_supported:\n    raise RuntimeError\(.*?\n    \)\n", re.DOTALL | re.MULTILINE), ""),
)


def main() -> int:
    missing = [one for one in NEEDED if not (ROOT / one).exists()]
    if missing or not built(LOOPS):
        print(f"gpu-bundle: {', '.join(missing) or LOOPS} missing; run `make build`", file=sys.stderr)
        return 1
    if len(sys.argv) > 1:
        fill(Path(sys.argv[1]))
        return 0
    folder = ROOT / "build" / "gpu-bundle"
    shutil.rmtree(folder, ignore_errors=True)
    fill(folder)
    archive = folder.with_suffix(".tar.gz")
    with tarfile.open(archive, "w:gz") as out:
        out.add(folder, folder.name, filter=_anonymous)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"gpu-bundle: {folder} {size / 2**20:.1f} MiB, {archive.name} {archive.stat().st_size / 2**20:.1f} MiB")
    if size > LIMIT:
        print(f"gpu-bundle: more than {LIMIT >> 20} MiB", file=sys.stderr)
        return 1
    return 0


def fill(folder: Path) -> None:
    for name, (source, left_out) in PACKAGES.items():
        ignored = shutil.ignore_patterns(*LEFT_OUT)
        shutil.copytree(ROOT / source, folder / "jitc" / name, ignore=ignored)
        for one in left_out:
            shutil.rmtree(folder / "jitc" / name / one)
    for stub in (folder / "jitc").glob("*/*_pb2*.py"):
        stub.write_text(without_version_checks(stub.read_text()))
    shutil.copytree(
        ROOT / "tests" / "gpu", folder / "gpu", ignore=shutil.ignore_patterns("__pycache__", "*.cpp", "*.txt")
    )
    shutil.copy(built(LOOPS)[-1], folder / "gpu" / "native")
    for one in THIRD_PARTY:
        (folder / one).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "tests" / one, folder / one)
    for library in folder.rglob("*.so"):
        subprocess.run(["strip", "--strip-debug", str(library)], check=True)
    shutil.copy(ROOT / "scripts" / "gpu_check.py", folder)
    shutil.copy(ROOT / "LICENSE", folder)
    _registration(folder)
    described = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    commit = subprocess.run(described, cwd=ROOT, capture_output=True, text=True, check=False)
    (folder / "COMMIT").write_text(commit.stdout)


def built(library: str) -> list[Path]:
    """The check's own native part, as it was built; the newest last."""
    return sorted(ROOT.glob(f"build/*/tests/{library}"), key=lambda path: path.stat().st_mtime)


def without_version_checks(text: str) -> str:
    for pattern, replacement in CHECKS:
        text = pattern.sub(replacement, text)
    return text


def _registration(folder: Path) -> None:
    """Has PyTorch find jitc's entry point in a folder on the import path."""
    own = metadata.distribution("jitc")
    info = folder / f"jitc-{own.version}.dist-info"
    info.mkdir()
    for name in ("METADATA", "entry_points.txt"):
        (info / name).write_text(own.read_text(name) or "")


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


if __name__ == "__main__":
    sys.exit(main())
