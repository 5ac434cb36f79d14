"""The checks of `jitc doctor` about NVIDIA GPUs: none here, stand-ins of NVIDIA's libraries, and what they refuse."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from doctor_rig import as_root, clean, elsewhere
from toolkit.fakes import fake_library

from jitc.proxy.commands.doctor import gpu
from jitc.proxy.commands.doctor.check import BAD, GOOD, UNKNOWN, Context, Finding

CUDA = Context("cuda")
#: Makes the check of device files for the folder that is named.
FILES = """
import json, sys
from dataclasses import asdict
from pathlib import Path
from jitc.proxy.commands.doctor import gpu
print(json.dumps(asdict(gpu.files(gpu.Context("cuda"), Path(sys.argv[1])))))
"""
#: The numbers of a character device without a driver.
NO_DRIVER = (505, 7)
LIBRARIES = ("nccl", "cublas", "cublaslt", "nvrtc", "cudnn")
FAKES = {
    f"JITC_{name.upper()}": str(fake_library("cuda" if name == "driver" else name)) for name in ("driver", *LIBRARIES)
}


def found(name: str, **environment: str) -> Finding:
    return elsewhere("gpu", name, device="cuda", environment=environment)


def device_files(folder: Path, *names: str) -> Finding:
    """Files that can be opened stand for the driver's."""
    for name in names:
        (folder / name).touch()
    return gpu.files(CUDA, folder)


def test_device_files(tmp_path: Path) -> None:
    nothing = device_files(tmp_path)
    assert nothing.verdict == BAD and "no NVIDIA driver here" in nothing.says and "--gpus all" in nothing.remedy
    some = device_files(tmp_path, "nvidiactl", "nvidia0")
    assert some.verdict == UNKNOWN and some.says.startswith(f"there is no {tmp_path}/nvidia-uvm yet")
    all_ = device_files(tmp_path, "nvidia-uvm")
    assert all_.verdict == GOOD and all_.says.endswith("nvidiactl, nvidia-uvm, nvidia0")


def test_a_driver_without_a_gpu(tmp_path: Path) -> None:
    one = device_files(tmp_path, "nvidiactl", "nvidia-uvm")
    assert one.verdict == BAD and one.says.startswith(f"there is no {tmp_path}/nvidia0:")


def test_wsl(tmp_path: Path) -> None:
    assert device_files(tmp_path, "dxg").verdict == UNKNOWN


def made_device(folder: Path) -> None:
    """A device file of a number that no driver has."""
    try:
        os.mknod(folder / "nvidia0", 0o20666, os.makedev(*NO_DRIVER))
    except PermissionError:
        pytest.skip("this container cannot make device files")


@as_root
def test_a_device_file_that_does_not_open(tmp_path: Path) -> None:
    made_device(tmp_path)
    one = device_files(tmp_path, "nvidiactl", "nvidia-uvm")
    assert one.verdict == BAD
    if f"{tmp_path}/nvidia0 EPERM" in one.says:
        pytest.skip("this container's rules forbid the device, which the next test is about")
    assert f"{tmp_path}/nvidia0 ENXIO" in one.says and one.remedy.startswith("see the file's permissions")


@pytest.fixture
def forbidding() -> Iterator[Path]:
    """A control group whose rules forbid the device, as those of a container that was not given a GPU."""
    group = Path("/sys/fs/cgroup/devices", f"jitc-test-{os.getpid()}")
    try:
        group.mkdir()
        (group / "devices.deny").write_text("c {}:{} rwm".format(*NO_DRIVER))
    except OSError as error:
        with contextlib.suppress(OSError):
            group.rmdir()
        pytest.skip(f"no control group with rules for devices can be made: {error}")
    yield group
    group.rmdir()


@as_root
def test_a_device_file_that_the_container_s_rules_forbid(forbidding: Path, tmp_path: Path) -> None:
    made_device(tmp_path)
    for name in ("nvidiactl", "nvidia-uvm"):
        (tmp_path / name).touch()
    enter = ("sh", "-c", f'echo $$ > {forbidding}/cgroup.procs && exec "$@"', "sh")
    words = [*enter, sys.executable, "-c", FILES, str(tmp_path)]
    done = subprocess.run(words, env=clean(), check=True, capture_output=True, text=True, timeout=60)
    one = Finding(**json.loads(done.stdout))
    assert one.verdict == BAD and one.says == f"a new process cannot open {tmp_path}/nvidia0 EPERM"
    assert one.remedy.startswith("the container's rules for devices forbid it")


@pytest.mark.parametrize("value", ["", "-1", "NoDevFiles", "x,0"])
def test_no_gpu_is_visible(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", value)
    assert gpu.visible(CUDA).verdict == BAD


@pytest.mark.parametrize("value", [None, "0", "1,0", "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", "MIG-1"])
def test_gpus_are_visible(value: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if value is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", value)
    assert gpu.visible(CUDA).verdict == GOOD


@pytest.mark.parametrize("name", ["driver", "addresses", *LIBRARIES])
def test_stand_ins_are_good(name: str) -> None:
    one = found(name, JITC_FAKE_DEVICES="2", **FAKES)
    assert one.verdict == GOOD, one
    assert name != "driver" or one.says.startswith(f"{FAKES['JITC_DRIVER']} for CUDA 1")


def test_a_driver_that_fails() -> None:
    one = found("driver", JITC_FAKE_FAIL="cuInit:1+=999", **FAKES)
    assert one.verdict == BAD and "cuInit of the CUDA driver failed with error 999" in one.says
    one = found("nccl", JITC_FAKE_FAIL="cuInit:1+=999", **FAKES)
    assert one.verdict == UNKNOWN and "only with a driver" in one.says and "--nccl" in one.remedy


def test_a_driver_that_shows_no_gpu() -> None:
    one = found("driver", CUDA_VISIBLE_DEVICES="", **FAKES)
    assert one.verdict == BAD and ("shows no GPU" in one.says or "error 100" in one.says)


def test_a_driver_that_grants_no_addresses() -> None:
    one = found("addresses", JITC_FAKE_FAIL="cuMemAddressReserve:1+=2", **FAKES)
    assert one.verdict == BAD and "cuMemAddressReserve" in one.says


def test_no_driver(tmp_path: Path) -> None:
    one = found("driver", JITC_DRIVER=str(tmp_path / "none"))
    assert one.verdict == BAD and "there is no such file" in one.says
    (tmp_path / "text").write_text("no library")
    one = found("driver", JITC_DRIVER=str(tmp_path / "text"))
    assert one.verdict == BAD and "cannot be opened" in one.says


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_library_that_does_not_open(name: str, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no library")
    one = found(name, **FAKES | {f"JITC_{name.upper()}": str(tmp_path / "text")})
    assert one.verdict == BAD and "cannot be opened" in one.says and "pip install" in one.remedy


def test_a_driver_that_hangs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its constructor never returns."""
    source, library = tmp_path / "stuck.c", tmp_path / "stuck.so"
    source.write_text(
        "#include <unistd.h>\n__attribute__((constructor)) static void stay(void) { for (;;) pause(); }\n"
    )
    try:
        subprocess.run(["gcc", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    except FileNotFoundError:
        pytest.skip("no C compiler")
    monkeypatch.setattr(gpu, "_DRIVER_SECONDS", 1.0)
    monkeypatch.setenv("JITC_DRIVER", str(library))
    one = gpu.driver(Context("cuda"))
    assert one.verdict == UNKNOWN and "did not answer within 1 s" in one.says


def test_nvml(tmp_path: Path) -> None:
    (tmp_path / "libnvidia-ml.so.1").symlink_to(fake_library("nvml"))
    one = found("nvml", LD_LIBRARY_PATH=str(tmp_path), JITC_FAKE_DEVICES="2")
    assert one.verdict == GOOD and one.says.startswith("NVML lists "), one
    (tmp_path / "libnvidia-ml.so.1").unlink()
    (tmp_path / "libnvidia-ml.so.1").write_text("no library")
    assert found("nvml", LD_LIBRARY_PATH=str(tmp_path)).verdict == BAD
