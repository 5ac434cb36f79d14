"""What the software device cannot run: the exception names it and says what to do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from toolkit.job import PRELOAD
from toolkit.stand_in import with_stand_in
from toolkit.workplace import Workplace

WHERE = "docs/guarantees.md"
NUMPY = "with numpy below 2.4"  # in pyproject.toml too
FOLDER = Path(__file__).parent
HALF = "q = torch.ones(1, 2, 8, 16, device='cuda', dtype=torch.float16)\n"
CASES = {
    "an operator for GPUs only": (
        HALF + "torch.ops.aten._flash_attention_forward(q, q, q, None, None, 8, 8, 0.0, False, False)",
        ["NotImplementedError: aten::_flash_attention_forward does not run on the software device", "Use a GPU", WHERE],
    ),
    "a type that the CPU's kernel does not have": (
        "torch.special.log_ndtr(torch.ones(2, device='cuda', dtype=torch.float8_e4m3fn))",
        ["NotImplementedError: ", "for 'Float8_e4m3fn' (in aten::special_log_ndtr: the software", "Use other types"],
    ),
    "a kernel of Triton": (
        "import missing_kernels\nmissing_kernels.add_one[(1,)](torch.zeros(8, device='cuda'), 8, block=8)",
        ["RuntimeError: jitc: ", "missing_kernels.add_one is one of Triton's", "TRITON_INTERPRET=1", NUMPY, WHERE],
    ),
    "a kernel of Triton that was imported first": (
        "import missing_kernels\nx = torch.zeros(8, device='cuda')\nmissing_kernels.add_one[(1,)](x, 8, block=8)",
        ["RuntimeError: jitc: ", "missing_kernels.add_one is one of Triton's", "TRITON_INTERPRET=1", NUMPY, WHERE],
    ),
    "a kernel of the jiterator": (
        "source = 'template <typename T> T plus_one(T x) { return x + 1; }'\n"
        "torch.cuda.jiterator._create_jit_fn(source)(torch.ones(3, device='cuda'))",
        ["RuntimeError: jitc: ", "plus_one is one that torch.cuda.jiterator compiles", WHERE],
    ),
}  # fmt: skip


def program(code: str) -> str:
    return f"import sys, torch\nsys.path.insert(0, {str(FOLDER)!r})\n{code}\n"


def with_matrix_products(code: str) -> str:
    """In the stand-in's process there is no cuBLAS."""
    install = "from jitc.client_shim import torch_device\ntorch_device.install(True, True)\n"
    first, rest = program(code).split("\n", 1)
    return f"{first}\n{install}{rest}"


@pytest.mark.parametrize("case", CASES)
@pytest.mark.sampled
def test_the_exception_names_it(case: str) -> None:
    code, expected = CASES[case]
    late = "imported first" in case
    done = with_stand_in("-c", program(code) if late else with_matrix_products(code))
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert [part for part in expected if part not in last] == [], done.stderr[-3000:]


def test_tritons_interpreter_runs_its_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    code = "import missing_kernels\nx = torch.zeros(8, device='cuda')\n"
    code += "missing_kernels.add_one[(1,)](x, 5, block=8)\nprint(x.tolist())"
    done = with_stand_in("-c", with_matrix_products(code))
    assert done.stdout.strip() == str([1.0] * 5 + [0.0] * 3), done.stderr[-3000:]


def test_tritons_interpreter_runs_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not with each numpy: pyproject.toml says which."""
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    code = "import missing_kernels\nx, sums = torch.arange(100.0, device='cuda'), torch.zeros(1, device='cuda')\n"
    code += "missing_kernels.total[(1,)](x, sums, 100, block=64)\nprint(sums.item())"
    done = with_stand_in("-c", with_matrix_products(code))
    assert done.stdout.strip() == "4950.0", done.stderr[-3000:]


def test_a_compiled_function_says_it_and_runs_without_triton(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITC_COMPILE_ON_HOST", "0")
    code = "import missing_kernels\ndef f(x):\n    return torch.sin(x) * 2\nx = torch.zeros(2, device='cuda')\n"
    code += "print(torch.compile(f, backend='aot_eager')(x).tolist())\ntorch.compile(f)(x)"
    done = with_stand_in("-c", with_matrix_products(code))
    assert done.stdout.strip() == "[0.0, 0.0]", done.stderr[-3000:]
    assert done.returncode == 1
    assert "RuntimeError: jitc: the software device runs no GPU kernels" in done.stderr
    assert "TORCHDYNAMO_DISABLE=1" in done.stderr


@pytest.mark.parametrize("first", ["torch.zeros(1, device='cuda')", "import cupy"])
def test_cupy_is_named_when_it_is_imported(first: str, tmp_path: Path) -> None:
    (tmp_path / "cupy.py").write_text("")
    code = f"sys.path.insert(0, {str(tmp_path)!r})\n{first}\nimport cupy\ntorch.zeros(1, device='cuda')\nimport cupy"
    done = with_stand_in("-c", program(code))
    assert done.returncode == 0, done.stderr[-3000:]
    (said,) = [line for line in done.stderr.splitlines() if "CuPy" in line]
    assert said.startswith("jitc: the software device runs no GPU kernels") and "jitc-proxyd --device cuda" in said


def test_a_kernel_of_another_package(workplace: Workplace) -> None:
    """An operator outside of aten, which launches its kernel by itself."""
    code = "torch.ops.quantization._FloatToBfloat16Quantized(torch.ones(4, 4, device='cuda'))"
    env = {**workplace.service(1).env, "LD_PRELOAD": str(PRELOAD)}
    done = subprocess.run(
        [sys.executable, "-c", program(code)], env={**os.environ, **env}, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    assert done.returncode == 1
    said = [line for line in done.stderr.splitlines() if "_float_to_bfloat16_cuda_kernel" in line]
    ours, raised = said
    assert ours.startswith("jitc: the software device runs no GPU kernels")
    assert "CUDA error: operation not supported: the software device runs no GPU kernels" in raised
    assert all("jitc-proxyd --device cuda" in line and WHERE in line for line in said)
