"""Results that the caller gives, lying anyhow: what the device leaves there is what the operator returns without them.

Some of PyTorch's CPU kernels do otherwise, and write outside of the result (proxy/native/operators/placement.h).
"""

from __future__ import annotations

from pathlib import Path

import pytest
from toolkit.stand_in import with_stand_in

PROGRAM = """
import sys
import torch
import torch.nn.functional as F
from coverage_forms import spread
from jitc.client_shim import torch_device

torch_device.install(redirect=True, matrix_products=True)
torch.manual_seed(3)
square, volume = torch.randn(3, 3, 5, 5), torch.randn(2, 3, 4, 4, 4)
factors = torch.linalg.lu_factor(square)
calls = {
    "triu": lambda place, **out: torch.triu(square.to(place), **out),
    "tril": lambda place, **out: torch.tril(square.to(place), 1, **out),
    "lu_unpack": lambda place, **out: torch.lu_unpack(*(one.to(place) for one in factors), **out),
    "linalg_lu": lambda place, **out: torch.linalg.lu(square.to(place), **out),
    "gelu": lambda place, **out: torch._C._nn.gelu(square[0, 0].to(place), **out),
    "avg_pool3d": lambda place, **out: torch._C._nn.avg_pool3d(volume.to(place), [2, 2, 2], **out),
}
call = calls[sys.argv[1]]
expected = call("cpu")
several = isinstance(expected, tuple)
expected = tuple(expected) if several else (expected,)
for made in (spread, lambda like, device: torch.full((*like.shape, 2), 7.0, device=device)[..., 0]):
    out = tuple(made(one, "cuda") for one in expected)
    returned = call("cuda", out=out if several else out[0])
    for one, mine, other in zip(expected, out, returned if several else (returned,), strict=True):
        assert other is mine or several, "another tensor is returned"
        torch.testing.assert_close(mine.cpu(), one, check_stride=False)
        torch.testing.assert_close(other.cpu(), one, check_stride=False)
    assert all(one.untyped_storage().nbytes() > one.nbytes for one in out), "the result has no gaps"
    around = [torch.full((one.untyped_storage().nbytes() // 4,), 7.0) for one in out]
    for one, mine, before in zip(expected, out, around, strict=True):
        before.as_strided(mine.shape, mine.stride(), mine.storage_offset()).copy_(one)
        whole = torch.empty(0, device="cuda").set_(mine.untyped_storage())
        torch.testing.assert_close(whole.cpu(), before, msg="something between the elements was written")
"""


@pytest.mark.parametrize("name", ["avg_pool3d", "gelu", "linalg_lu", "lu_unpack", "tril", "triu"])
@pytest.mark.sampled
def test_a_given_result_with_gaps(name: str) -> None:
    here = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
    done = with_stand_in("-c", here + PROGRAM, name)
    assert done.returncode == 0, done.stderr[-3000:]
