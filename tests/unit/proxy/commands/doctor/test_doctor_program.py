"""The checks of `jitc doctor` about a program: real ones, made of C or Python, into which jitc's library cannot get."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from doctor_rig import NOBODY, as_root, elsewhere, look

from jitc.proxy.commands.doctor import child, elf, interpreter, program, runtime
from jitc.proxy.commands.doctor.check import BAD, GOOD, UNKNOWN, Context, Finding

Build = Callable[..., Path]
#: Source of a library with the texts by which a CUDA runtime is known.
RUNTIME = 'const char runtime[] = "cuGetExportTable\\0cudaErrorInsufficientDriver";\n'


@pytest.fixture
def build(tmp_path: Path) -> Build:
    if shutil.which("gcc") is None:
        pytest.skip("no C compiler")

    def built(name: str, *options: str, code: str = "int main(void) { return 0; }\n", check: bool = True) -> Path:
        (tmp_path / f"{name}.c").write_text(code)
        command = ["gcc", str(tmp_path / f"{name}.c"), "-o", str(tmp_path / name), *options]
        if subprocess.run(command, check=check, capture_output=True).returncode:
            pytest.skip(f"gcc cannot do this here: {' '.join(options)}")
        return tmp_path / name

    return built


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def of(name: str, *words: str | Path) -> Finding:
    return look("program", name, Context("software", program=tuple(map(str, words))))


def asked(*words: str | Path) -> Context:
    return Context("software", program=tuple(map(str, words)))


# -- the file ---------------------------------------------------------------------------------------


def test_programs_that_cannot_be_started(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("text")
    os.mkfifo(tmp_path / "pipe", 0o755)
    for word, why in (
        ("no-such-program", "there is no program no-such-program on PATH"),
        (tmp_path / "none", "there is no such file"),
        (tmp_path, "is a folder"), (tmp_path / "text", "is not executable"),
        (script(tmp_path / "script", "#!/no/such/interpreter\n"), "there is no such file"),
        (tmp_path / "pipe", "is no file"), (script(tmp_path / "empty", "#!\n"), "names no interpreter"),
        (script(tmp_path / "quoted", "#!/no/'such\n"), "there is no such file"),
        (script(tmp_path / "loop", f"#!{tmp_path}/loop\n"), "script of a script"),
    ):  # fmt: skip
        found = of("program", word)
        assert found.verdict == BAD and why in found.says, found
        # Nothing else is said of it.
        for one in program.CHECKS[1:]:
            assert one.look(asked(word)) is None
    assert all(one.look(Context("software")) is None for one in program.CHECKS)


def test_scripts_are_followed(tmp_path: Path) -> None:
    assert of("program", sys.executable).says == sys.executable
    for line in (
        f"#!{sys.executable} -u",
        f"#!/usr/bin/env -S {sys.executable} -u",
        f"#!/usr/bin/env A=1 {sys.executable}",
    ):
        made = script(tmp_path / "begin", f"{line}\n")
        assert of("program", made).says == f"{made}, a script of {sys.executable}"
        assert interpreter.subject(asked(made)).is_python
    assert not interpreter.subject(asked("sh", "-c", "true")).is_python


def test_the_script_behind_a_launcher(tmp_path: Path) -> None:
    made = script(tmp_path / "train.py", "import cupy\n")
    launched = interpreter.subject(asked(sys.executable, "-m", "torch.distributed.run", "--", str(made)))
    assert (launched.script, launched.module) == (made, "torch.distributed.run")
    assert interpreter.subject(asked(sys.executable, "-m")).module == ""


# -- rights and loader ------------------------------------------------------------------------------


@as_root
@pytest.mark.parametrize(("mode", "words"), [(0o4755, "set-uid of user"), (0o2755, "set-gid of group")])
def test_more_rights_than_the_caller(mode: int, words: str, build: Build) -> None:
    made = build("rights")
    assert of("rights", made).verdict == GOOD
    os.chown(made, NOBODY, NOBODY)
    made.chmod(mode)
    if os.statvfs(made).f_flag & os.ST_NOSUID:
        pytest.skip("this disk has no set-uid programs")
    found = of("rights", made)
    assert found.verdict == BAD and f"{words} {NOBODY}" in found.says


@as_root
def test_file_capabilities(build: Build, tmp_path: Path) -> None:
    made = build("capable")
    try:
        subprocess.run(["setcap", "cap_net_raw+ep", str(made)], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no setcap here")
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.geteuid() and folder.stat().st_mode & 0o005 != 0o005:
            folder.chmod(folder.stat().st_mode | 0o055)  # the other user has to come here
    found = elsewhere("program", "rights", program=(str(made),), user=NOBODY)
    assert found.verdict == BAD and "file capabilities" in found.says
    assert of("rights", made).verdict == GOOD, "root has them anyway"


def test_loaders(build: Build) -> None:
    assert of("loader", build("usual")).verdict == GOOD
    for options, words in ((["-static"], "linked statically"), (["-static-pie"], "linked statically")):
        found = of("loader", build("static", *options, check=False))
        assert found.verdict == BAD and words in found.says
    found = of("loader", build("musl", "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1"))
    assert found.verdict == BAD and "is for musl" in found.says
    found = of("loader", build("strange", "-Wl,--dynamic-linker=/opt/ld.so"))
    assert found.verdict == UNKNOWN and "/opt/ld.so" in found.says


@pytest.mark.parametrize(
    ("at", "byte", "words"),
    [(4, 1, "for 32 bits"), (5, 2, "for another processor"), (18, 183, "for another processor")],
)
def test_other_processors(at: int, byte: int, words: str, build: Build) -> None:
    made = build("other")
    changed = bytearray(made.read_bytes())
    changed[at] = byte
    made.write_bytes(changed)
    found = of("loader", made)
    assert found.verdict == BAD and words in found.says


def test_files_that_only_begin_like_programs(tmp_path: Path) -> None:
    whole = Path(sys.executable).read_bytes()[:200]
    for length in (0, 3, 4, 20, 63, 64, 70, 200):
        made = script(tmp_path / "cut", "")
        made.write_bytes(whole[:length])
        assert (elf.read(made) is None) == (length < 64)
        assert of("loader", made).verdict != GOOD
        assert elf.has_runtime(made) is False


def test_damaged_heads(build: Build) -> None:
    """Each byte of the head and of the table behind it is set to its extremes."""
    made = build("damaged")
    whole = made.read_bytes()
    for at in range(64 + 56 * 4):
        for byte in (0, 0x7F, 0xFF):
            made.write_bytes(whole[:at] + bytes([byte]) + whole[at + 1 : 4096])
            program.of_loader(made)


def test_libraries_that_are_missing(build: Build, tmp_path: Path) -> None:
    library = build("libgone.so", "-shared", "-fPIC", code="int gone(void) { return 1; }\n")
    made = build(
        "needs",
        f"-L{tmp_path}",
        "-l:libgone.so",
        "-Wl,--no-as-needed",
        code="int gone(void); int main(void) { return gone(); }\n",
    )
    found = elsewhere("program", "needs", program=(str(made),), environment={"LD_LIBRARY_PATH": str(tmp_path)})
    assert found.verdict == GOOD, found
    library.unlink()
    found = of("needs", made)
    assert found.verdict == BAD and "libgone.so" in found.says


# -- the CUDA runtime -------------------------------------------------------------------------------


def real_runtime() -> Path | None:
    folders = [Path(one) / "nvidia" / "cu13" / "lib" for one in sys.path]
    return next((path for one in folders if (path := one / "libcudart_static.a").is_file()), None)


def test_a_program_with_nvidia_s_own_runtime(build: Build) -> None:
    archive = real_runtime()
    if archive is None:
        pytest.skip("no libcudart_static.a here")
    code = "int cudaMalloc(void**, unsigned long); int main(void) { void* p; return cudaMalloc(&p, 4); }\n"
    made = build("cuda", str(archive), "-ldl", "-lrt", "-lpthread", "-s", code=code)
    found = of("cuda runtime", made)
    assert found.verdict == BAD and str(made) in found.says and "-cudart shared" in found.remedy


def test_a_library_of_the_program_has_a_runtime(build: Build, tmp_path: Path) -> None:
    build("libkernels.so", "-shared", "-fPIC", code=RUNTIME)
    shared = build("uses", f"-L{tmp_path}", "-Wl,--no-as-needed", "-l:libkernels.so", f"-Wl,-rpath,{tmp_path}")
    found = of("cuda runtime", shared)
    assert found.verdict == BAD and "libkernels.so" in found.says and str(shared) not in found.says
    assert of("cuda runtime", build("none")).verdict == GOOD


def its(tmp_path: Path, text: str) -> Context:
    made = script(tmp_path / "train.py", text)
    one = Context("software", program=(sys.executable, str(made)))
    found = interpreter.Python("3.11.0", "/", True, [str(tmp_path / "packages")], "")
    one._known[interpreter.python] = found
    return one


def test_packages_with_a_runtime(build: Build, tmp_path: Path) -> None:
    library = build("kernels.so", "-shared", "-fPIC", code=RUNTIME)
    for place in ("cupy/core/kernels.so", "fruit/apple.so", "leaf.libs/part.so", "nvidia/cu13/lib/libcublas.so.13"):
        (tmp_path / "packages" / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, tmp_path / "packages" / place)
    for text, verdict, words in (
        ("import cupy.linalg\n", BAD, "cupy/core/kernels.so"),
        ("def f():\n    from fruit.core import seed\n", BAD, "fruit/apple.so"),
        ("import leaf\n", BAD, "leaf.libs/part.so"),
        ("import json\nfrom . import fruit\n", UNKNOWN, "programs that use these fail"),
        ("this is no python (\n", UNKNOWN, "cupy/core/kernels.so"),
        ("import nvidia.cublas\n", UNKNOWN, "cupy/core/kernels.so"),
    ):
        found = program.static_runtime(its(tmp_path, text))
        assert found is not None and found.verdict == verdict and words in found.says, (text, found)
    shutil.rmtree(tmp_path / "packages" / "cupy")
    found = program.static_runtime(its(tmp_path, "import json\n"))
    assert found is not None and found.verdict == GOOD


def test_a_search_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "_FILES", 2)
    for number in range(5):
        (tmp_path / f"{number}.so").write_text("text")
    search = runtime.Search().files(sorted(tmp_path.glob("*.so")))
    assert (search.read, search.left) == (2, 3)
    found = program.of_static_runtime(search, [])
    assert found.verdict == UNKNOWN and found.says.startswith("3 files could not be read in time")


# -- its Python -------------------------------------------------------------------------------------


def test_this_python(tmp_path: Path) -> None:
    made = script(tmp_path / "train.py", "import torch\n")
    for name in ("its python", "its torch", "cuda runtime", "needs", "rights", "loader"):
        found = of(name, sys.executable, made)
        assert found.verdict in (GOOD, UNKNOWN) and (name == "cuda runtime" or found.verdict == GOOD), (name, found)


def test_another_python(tmp_path: Path) -> None:
    """Without the packages of this one's environment."""
    folder = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=120)
    found = of("its python", folder / "bin" / "python")
    assert found.verdict == BAD and "without jitc" in found.says and "pip install jitc" in found.remedy
    found = of("its torch", folder / "bin" / "python")
    assert found.verdict == UNKNOWN and "has no PyTorch" in found.says
    site = next(folder.glob("lib/python*/site-packages"))
    for name, text in (
        ("torch/__init__.py", ""),
        ("torch/version.py", "__version__ = '2.5.1'\n"),
        ("jitc/__init__.py", ""),
    ):
        script(site / name, text)
    assert of("its python", folder / "bin" / "python").verdict == GOOD
    found = of("its torch", folder / "bin" / "python")
    assert found.verdict == BAD and "2.5.1" in found.says
    script(site / "torch" / "version.py", "__version__ = '2.12.0'\n")
    found = of("its torch", folder / "bin" / "python")
    assert found.verdict == BAD and "was built for PyTorch" in found.says


def test_a_python_that_does_not_answer(tmp_path: Path, build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    made = tmp_path / "python3"
    shutil.copy("/bin/false", made)
    found = of("its python", made)
    assert found.verdict == UNKNOWN and found.says == "its Python does not answer: exit status 1"
    build("python3", code="#include <unistd.h>\nint main(void) { return pause(); }\n")
    monkeypatch.setattr(child, "SECONDS", 0.3)
    one = asked(made)
    for name in ("its python", "its torch"):
        found = look("program", name, one)
        assert found.verdict == UNKNOWN and found.says == "python3 did not answer within 0.3 s"
