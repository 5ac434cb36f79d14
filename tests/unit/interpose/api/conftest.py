"""Fixtures ``cuda`` and ``gpu``: the API layer over a recording session layer, of kind software and of kind cuda.

Each is one process-wide library, so every test starts by dropping what was recorded before. The second is a
copy of the file: the loader takes it for another library, with tables of its own. ``fresh`` is another copy, of one
test alone.
"""

from __future__ import annotations

import ctypes
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from api_rig import Cuda, fake_library, pinned_file
from host_rig import RING, copy


@pytest.fixture(scope="session", autouse=True)
def pinned_memory() -> Iterator[int]:
    """What the workers of GPU 1, of either kind, share; its descriptor."""
    fd = pinned_file()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JITC_FAKE_PINNED", f"/proc/self/fd/{fd}")
        yield fd
    os.close(fd)


@pytest.fixture(scope="session")
def _cuda(pinned_memory: int) -> Cuda:
    os.environ.pop("CUDA_VISIBLE_DEVICES", None)
    library = Cuda(fake_library())
    library.open_sessions()
    return library


@pytest.fixture
def cuda(_cuda: Cuda) -> Iterator[Cuda]:
    _cuda.reset()
    yield _cuda
    _cuda.reset()


@pytest.fixture(scope="session")
def _gpu(pinned_memory: int, tmp_path_factory: pytest.TempPathFactory) -> Cuda:
    os.environ.pop("CUDA_VISIBLE_DEVICES", None)
    copy = tmp_path_factory.mktemp("gpu") / "libjitc_interpose_fake_cuda.so"
    shutil.copy(fake_library(), copy)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JITC_FAKE_KIND", "cuda")
        library = Cuda(copy)
        library.open_sessions()  # the session layer looks at its environment now
    return library


@pytest.fixture
def gpu(_gpu: Cuda) -> Iterator[Cuda]:
    _gpu.reset()
    yield _gpu
    _gpu.reset()


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cuda:
    """A process's library before its first call, which has no answers from other tests: a copy, of kind cuda."""
    monkeypatch.setenv("JITC_FAKE_KIND", "cuda")
    copy = tmp_path / "libjitc_interpose_fake_fresh.so"
    shutil.copy(fake_library(), copy)
    return Cuda(copy)


@pytest.fixture(params=["cuda", "gpu"])
def sharing(request: pytest.FixtureRequest) -> Cuda:
    """The thread's GPU is one whose worker shares memory, of which the ring for pageable memory has its part."""
    library: Cuda = request.getfixturevalue(request.param)
    library.cudaSetDevice(1)
    source = ctypes.create_string_buffer(RING)
    copy(library, library.malloc(RING), ctypes.addressof(source), RING)
    library.take()
    return library
