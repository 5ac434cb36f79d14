"""Which device there is and what a worker is told of it, as far as no driver is needed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from standin_client import config
from toolkit.fakes import fake_environment, fake_library

from jitc.proxy.backends import open_backend, software
from jitc.proxy.backends.base import NoDevice
from jitc.proxy.backends.cuda import backend as cuda
from jitc.proxy.backends.cuda import libraries, nvml, probe
from jitc.proxy.backends.cuda.xid import APPLICATION, describe, is_lost
from jitc.proxy.common.config import ADDRESS_BASES, LARGE_BYTES

GPU_A, GPU_B = "0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"
Answer = Callable[..., dict[str, Any]]


def real_cudnn() -> Path | None:
    return next((Path(one).resolve() for one in libraries.candidates("cudnn") if Path(one).is_file()), None)


def test_operators_of_another_release_are_refused(tmp_path: Path) -> None:
    library = tmp_path / "libjitc_operators.so"
    library.write_bytes(b"\x7fELF\0jitc operators built for PyTorch 2.11.0 \0more")
    software.refuse_another_release(library, "2.11.0+cu130")
    software.refuse_another_release(library, None)  # no PyTorch, no operators
    software.refuse_another_release(None, "2.12.0")
    with pytest.raises(NoDevice, match=r"was built for PyTorch 2\.11\.0, and not .* \(2\.12\.0\): run 'make build'"):
        software.refuse_another_release(library, "2.12.0")
    library.write_bytes(b"\x7fELF of an earlier build")
    with pytest.raises(NoDevice, match="an unknown release"):
        software.refuse_another_release(library, "2.11.0")


def test_software_gpus(tmp_path: Path) -> None:
    backend = open_backend(config(tmp_path, gpus=3, memory_limit=1 << 20, threads=2))
    assert [gpu.physical for gpu in backend.gpus] == [0, 1, 2]
    assert len({gpu.uuid for gpu in backend.gpus}) == 3
    assert backend.assignment(1).memory_limit == backend.gpus[1].memory_total == 1 << 20
    assert backend.assignment(1).threads == 2
    assert backend.watch(lambda event: None) is None
    assert len(open_backend(config(tmp_path, gpus=0)).gpus) == 1
    with pytest.raises(NoDevice, match="--gpus"):
        open_backend(config(tmp_path, workers_per_gpu=2))
    with pytest.raises(NoDevice, match="abacus"):
        open_backend(config(tmp_path, device="abacus"))


def test_without_the_nvml_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(NoDevice, match=r"needs .* nvidia-ml-py; install it with `pip install nvidia-ml-py`"):
        open_backend(config(tmp_path, device="cuda"))


def test_library_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "nccl/lib/libnccl.so.2", "cublas/lib/libcublas.so.12", "cu13/lib/libcublas.so.13", "cudnn/lib/libcudnn.so.9"
    ):  # fmt: skip
        path = tmp_path / "nvidia" / name
        path.parent.mkdir(parents=True)
        path.touch()
    place = SimpleNamespace(submodule_search_locations=[str(tmp_path / "nvidia")])
    monkeypatch.setattr(libraries, "find_spec", lambda name: place if name == "nvidia" else None)
    assert libraries.candidates("nccl") == [str(tmp_path / "nvidia/nccl/lib/libnccl.so.2"), "libnccl.so.2"]
    assert [Path(one).name for one in libraries.candidates("cublas")] == ["libcublas.so.13", "libcublas.so.12"] * 2
    assert libraries.candidates("driver") == ["libcuda.so.1"]
    assert libraries.candidates("nvrtc") == ["libnvrtc.so.13", "libnvrtc.so.12"]
    assert libraries.candidates("cudnn") == [str(tmp_path / "nvidia/cudnn/lib/libcudnn.so.9"), "libcudnn.so.9"]
    named = tmp_path / "nvidia/cublas/lib/libcublas.so.12"
    assert libraries.candidates("cublas", str(named)) == [str(named)]
    assert libraries.sibling(str(named)) == libraries.sibling("libcublas.so.13") == libraries.sibling("") == []
    named.with_name("libcublasLt.so.12").touch()
    assert libraries.sibling(str(named)) == [str(named.with_name("libcublasLt.so.12"))]
    with pytest.raises(NoDevice, match="--nccl /nowhere: there is no such file"):
        libraries.candidates("nccl", "/nowhere")


def test_libraries_are_not_newer_than_the_driver() -> None:
    assert libraries.fits("/x/libcublas.so.12", 13000)
    assert libraries.fits("libcublas.so.13", 13000)
    assert not libraries.fits("libcublas.so.13", 12090)
    assert libraries.fits("libnvrtc.so.12", 12090) and not libraries.fits("/x/libnvrtc.so.13", 12090)
    assert libraries.fits("/x/libnccl.so.2.28.9", 12000)


def test_xid_kinds() -> None:
    assert is_lost(79)
    assert not is_lost(48)
    assert 31 in APPLICATION
    assert 48 not in APPLICATION
    assert describe(79) == "Xid 79 (GPU has fallen off the bus)"
    assert describe(9999) == "Xid 9999"


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Answer:
    """What NVML and the driver say, in place of asking them."""

    def set_up(uuids: tuple[str, ...] = (GPU_A, GPU_B), **changes: Any) -> dict[str, Any]:
        said: dict[str, Any] = {
            "driver": {"path": "/d/libcuda.so.1", "version": 13000},
            "gpus": [
                {
                    "name": "NVIDIA Test",
                    "memory": 80 << 30,
                    "uuid": one,
                    "attributes": {"16": 132, "75": 9, "76": 0},
                    "taken": 1 << 30,
                }
                for one in uuids
            ],
            "libraries": {
                "nccl": {"path": "/d/libnccl.so.2", "version": 22809},
                "cublas": {"path": "/d/libcublas.so.13", "version": 130100},
                "cublaslt": {"path": "", "version": 0, "error": "not found"},
                "nvrtc": {"path": "/d/libnvrtc.so.13", "version": 13000},
                "cudnn": {"path": "/d/libcudnn.so.9", "version": 91900},
            },
            "addresses": {"base": ADDRESS_BASES[0], "bytes": 2 << 40, "refused": []},
        } | changes
        monkeypatch.setattr(probe, "ask", lambda request: said)
        return said

    listed = {f"GPU-{cuda.dashed(one)}": "NVIDIA Test" for one in (GPU_A, GPU_B)}
    monkeypatch.setattr(nvml, "physical_gpus", lambda: listed)
    return set_up


def environments(backend: Any) -> list[Mapping[str, str]]:
    return [backend.assignment(index).environment for index in range(len(backend.gpus))]


def test_cuda_gpus(tmp_path: Path, answer: Answer, capsys: pytest.CaptureFixture[str]) -> None:
    answer()
    backend = open_backend(config(tmp_path, device="cuda", gpus=0))
    assert "refused: cuBLASLt calls" in capsys.readouterr().err
    first = backend.gpus[0]
    assert (first.name, first.uuid, first.memory_total) == ("NVIDIA Test", GPU_A, 80 << 30)
    assert (first.capability, first.multiprocessors, first.attributes[16]) == ((9, 0), 132, 132)
    told = backend.assignment(1)
    assert told.libraries == {
        "driver": "/d/libcuda.so.1", "nccl": "/d/libnccl.so.2", "cublas": "/d/libcublas.so.13",
        "nvrtc": "/d/libnvrtc.so.13", "cudnn": "/d/libcudnn.so.9",
    }  # fmt: skip
    assert all(gpu.cudnn for gpu in backend.gpus)
    # NCCL's own idea of a node serves as long as no two workers share a GPU.
    assert environments(backend) == [{"CUDA_VISIBLE_DEVICES": f"GPU-{cuda.dashed(one)}"} for one in (GPU_A, GPU_B)]
    assert len(open_backend(config(tmp_path, device="cuda", gpus=1)).gpus) == 1


def test_without_nvrtc_nothing_is_refused(tmp_path: Path, answer: Answer, capsys: pytest.CaptureFixture[str]) -> None:
    answer()["libraries"]["nvrtc"] = {"path": "", "version": 0, "error": "libnvrtc.so.13 cannot be opened"}
    backend = open_backend(config(tmp_path, device="cuda", gpus=0))
    assert "no nvrtc library, hashed by the host, slower: device memory" in capsys.readouterr().err
    assert "nvrtc" not in backend.assignment(0).libraries


def test_without_cudnn_its_calls_are_refused(
    tmp_path: Path, answer: Answer, capsys: pytest.CaptureFixture[str]
) -> None:
    answer()["libraries"]["cudnn"] = {"path": "", "version": 0, "error": "libcudnn.so.9 cannot be opened"}
    backend = open_backend(config(tmp_path, device="cuda", gpus=0))
    said = capsys.readouterr().err
    assert "no cudnn library, refused: cuDNN calls" in said and "nvidia-cudnn-cu13" in said
    assert "cudnn" not in backend.assignment(0).libraries and not backend.gpus[0].cudnn
    with pytest.raises(NoDevice, match="--cudnn: libcudnn"):
        open_backend(config(tmp_path, device="cuda", gpus=0, libraries={"cudnn": __file__}))


def test_several_workers_on_a_gpu(tmp_path: Path, answer: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    answer()
    monkeypatch.setenv("NCCL_HOSTID", "here")
    backend = open_backend(config(tmp_path, device="cuda", gpus=0, workers_per_gpu=2))
    assert [gpu.physical for gpu in backend.gpus] == [0, 1, 0, 1]
    assert len({gpu.uuid for gpu in backend.gpus}) == 4
    assert {gpu.memory_total for gpu in backend.gpus} == {(40 << 30) - (1 << 30) - (512 << 20)}
    assert backend.worker_overhead == 1 << 30
    known = open_backend(config(tmp_path, device="cuda", gpus=0, workers_per_gpu=2, worker_overhead=3 << 30))
    assert {gpu.memory_total for gpu in known.gpus} == {(40 << 30) - (3 << 30) - (512 << 20)}
    told = environments(backend)
    assert [one["NCCL_HOSTID"] for one in told] == ["here-0", "here-0", "here-1", "here-1"]
    assert told[0]["CUDA_VISIBLE_DEVICES"] == told[2]["CUDA_VISIBLE_DEVICES"] != told[1]["CUDA_VISIBLE_DEVICES"]
    limited = open_backend(config(tmp_path, device="cuda", workers_per_gpu=2, memory_limit=1 << 30))
    assert limited.assignment(0).memory_limit == limited.gpus[0].memory_total == 1 << 30


def test_a_part_of_a_gpu(tmp_path: Path, answer: Answer) -> None:
    answer(uuids=("1" * 32,))
    backend = open_backend(config(tmp_path, device="cuda", gpus=0))
    assert environments(backend) == [{"CUDA_VISIBLE_DEVICES": f"MIG-{cuda.dashed('1' * 32)}"}]


@pytest.mark.parametrize(
    ("changes", "options", "words"),
    [
        ({"uuids": ()}, {}, "shows none"),
        (
            {"error": "cuInit of the CUDA driver failed with error 100 (CUDA_ERROR_NO_DEVICE)"},
            {},
            "CUDA_ERROR_NO_DEVICE",
        ),
        ({}, {"gpus": 3}, "--gpus 3, but the CUDA driver shows 2"),
    ],
)
def test_no_such_gpus(tmp_path: Path, answer: Answer, changes: Any, options: Any, words: str) -> None:
    answer(**changes)
    with pytest.raises(NoDevice, match=words.replace("(", r"\(").replace(")", r"\)")):
        open_backend(config(tmp_path, device="cuda", **{"gpus": 0} | options))


@pytest.mark.skipif(real_cudnn() is None, reason="libcudnn is not installed (pip install nvidia-cudnn-cu13)")
def test_the_real_cudnn_is_asked_without_a_gpu() -> None:
    """Which CUDA it is for shows nowhere but in what it says."""
    where: dict[str, list[str]] = {name: [] for name in libraries.NAMES}
    where |= {"driver": [str(fake_library("cuda"))], "cudnn": [str(real_cudnn())]}
    request = {"libraries": where, "own_lt": False, "address_bases": [], "address_bytes": 0}
    found = probe.ask(request, fake_environment(DRIVER_VERSION="99000"))["libraries"]["cudnn"]
    assert (found["path"], found["version"] // 10000) == (str(real_cudnn()), 9)
    refused = probe.ask(request, fake_environment(DRIVER_VERSION="11080"))["libraries"]["cudnn"]
    assert refused["path"] == "" and "is newer than the driver (CUDA 11)" in refused["error"]


@pytest.mark.parametrize(
    ("hints", "base", "size"),
    [
        ("1-800000000000", ADDRESS_BASES[0], LARGE_BYTES),
        ("100000000000-100000200000", ADDRESS_BASES[1], LARGE_BYTES),
        ("1-2", 0, 0),
    ],
)
def test_addresses_are_those_that_the_driver_gives(hints: str, base: int, size: int) -> None:
    where: dict[str, list[str]] = {name: [] for name in libraries.NAMES} | {"driver": [str(fake_library("cuda"))]}
    request = {"libraries": where, "own_lt": False, "address_bases": ADDRESS_BASES, "address_bytes": LARGE_BYTES}
    found = probe.ask(request, fake_environment(HINTS=hints))["addresses"]
    assert (found["base"], found["bytes"]) == (base, size)
    assert len(found["refused"]) == (2 * len(ADDRESS_BASES) if not base else ADDRESS_BASES.index(base))


def test_less_addresses_are_better_than_none() -> None:
    where: dict[str, list[str]] = {name: [] for name in libraries.NAMES} | {"driver": [str(fake_library("cuda"))]}
    request = {"libraries": where, "own_lt": False, "address_bases": ADDRESS_BASES, "address_bytes": LARGE_BYTES}
    refused = ",".join(f"cuMemAddressReserve:{call}=2" for call in range(1, len(ADDRESS_BASES) + 1))
    found = probe.ask(request, fake_environment(FAIL=refused, MEMORY=str(3 << 30)))["addresses"]
    assert (found["base"], found["bytes"]) == (ADDRESS_BASES[0], 6 << 30)


def test_where_sessions_addresses_begin(tmp_path: Path, answer: Answer, capsys: pytest.CaptureFixture[str]) -> None:
    said = answer()
    assert open_backend(config(tmp_path, device="cuda")).address_base == ADDRESS_BASES[0]
    assert "addresses" not in capsys.readouterr().err
    said["addresses"] = {"base": ADDRESS_BASES[1], "bytes": 2 << 40, "refused": ["2048 GiB: the driver gave 0x7"]}
    assert open_backend(config(tmp_path, device="cuda")).address_base == ADDRESS_BASES[1]
    assert "begin at 0x100000000000 (2048 GiB each): 2048 GiB: the driver gave 0x7" in capsys.readouterr().err
    said["addresses"] = {"base": 0, "bytes": 0, "refused": ["nowhere"]}
    assert open_backend(config(tmp_path, device="cuda")).address_base == ADDRESS_BASES[0]
    assert "sessions' addresses will be refused: nowhere" in capsys.readouterr().err


def test_a_probe_that_fails_is_told() -> None:
    assert "cannot be opened" in probe.ask({"libraries": {"driver": ["/nowhere/libcuda.so.1"]}})["error"]
    with pytest.raises(NoDevice, match="KeyError"):
        probe.ask({})
