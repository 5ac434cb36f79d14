"""Results lie as those of PyTorch's CUDA kernels where its CPU kernels lay them out otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest
from toolkit.stand_in import with_stand_in

PROGRAM = Path(__file__).with_name("result_forms.py")


LINEAR_ALGEBRA = (
    "cholesky", "geqrf", "linalg.cholesky", "linalg.eig", "linalg.inv", "linalg.ldl", "linalg.lstsq", "linalg.lu",
    "linalg.qr", "linalg.solve", "linalg.svd", "ormqr", "pinverse", "svd",
)  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("names", "least"),
    [(LINEAR_ALGEBRA, 50), (("fft.",), 5), (("nn.functional.max_unpool", "nn.functional.embedding_bag"), 5)],
    ids=["linear algebra", "Fourier transforms", "pools and bags"],
)
def test_results_have_the_predicted_strides(names: tuple[str, ...], least: int) -> None:
    done = with_stand_in(str(PROGRAM), *names)
    assert done.returncode == 0, done.stderr[-3000:]
    *differ, compared = done.stdout.splitlines()
    assert differ == []
    assert int(compared) >= least
