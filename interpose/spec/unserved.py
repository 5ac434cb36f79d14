"""NVIDIA's libraries that are not served, and the functions that a program first calls in each of them.

Called by: the generator (``unserved_visitor``, ``wrappers_visitor.exports``) and the tests. Promise: plain data.

These libraries reach the GPU through a CUDA runtime of their own, which needs undocumented tables of the driver. Their
own errors name neither the library nor the function, and some are silent or crash. So their entry functions are refused
here; all their other functions need what an entry function returns. Functions that work without a GPU (versions,
cuRAND's generators on the host) are left alone.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Unserved:
    """A library that is not served. ``status``: its own value for "not supported"; ``met``: how programs come to use
    it; ``instead``: what they can do."""

    title: str
    library: str
    status: int
    met: str
    instead: str
    entries: tuple[str, ...]


@dataclass(frozen=True)
class StaticRuntime:
    """A package whose libraries have a CUDA runtime linked in; ``part``: part of their files' paths."""

    part: str
    instead: str


STATIC_RUNTIMES = (
    StaticRuntime("/cupy", "CuPy's wheels up to 12.3 load the runtime as a library"),
    StaticRuntime("/bitsandbytes", "use PyTorch's own optimizers and types"),
)


UNSERVED: tuple[Unserved, ...] = (
    Unserved(
        "cuFFT",
        "libcufft",
        16,
        "torch.fft, torch.stft",
        "transform on the CPU",
        ("cufftCreate", "cufftPlan1d", "cufftPlan2d", "cufftPlan3d", "cufftPlanMany"),
    ),
    Unserved(
        "cuSOLVER",
        "libcusolver",
        9,
        "torch.linalg (solve, inv, svd, eigh, qr, cholesky)",
        "solve on the CPU",
        ("cusolverDnCreate", "cusolverMgCreate", "cusolverRfCreate", "cusolverSpCreate"),
    ),
    Unserved(
        "cuSPARSE",
        "libcusparse",
        10,
        "products with sparse tensors",
        "multiply dense tensors, or on the CPU",
        ("cusparseCreate",),
    ),
    Unserved(
        "cuSPARSELt",
        "libcusparseLt",
        10,
        "semi-structured sparse products",
        "multiply dense tensors",
        ("cusparseLtInit",),
    ),
    Unserved(
        "cuRAND",
        "libcurand",
        203,
        "generators of CuPy and C++ programs",
        "use PyTorch's generators, or cuRAND's on the host",
        ("curandCreateGenerator",),
    ),
    Unserved(
        "NVSHMEM",
        "libnvshmem_host",
        3,
        "torch.distributed's symmetric memory over NVSHMEM",
        "use NCCL's collectives",
        ("nvshmemid_hostlib_init_attr", "nvshmemx_hostlib_init_attr"),
    ),
    Unserved(
        "cuFile",
        "libcufile",
        5007,
        "torch.cuda.gds",
        "read and write files by way of the host",
        ("cuFileBufRegister", "cuFileDriverOpen", "cuFileHandleRegister"),
    ),
    Unserved(
        "CUPTI",
        "libcupti",
        27,
        "torch.profiler with CUDA activities: what runs on the GPU is not in the profile",
        "profile without ProfilerActivity.CUDA",
        ("cuptiActivityEnable", "cuptiActivityRegisterCallbacks", "cuptiSubscribe", "cuptiSubscribe_v2"),
    ),
)
