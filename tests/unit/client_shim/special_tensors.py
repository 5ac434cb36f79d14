"""Matrix products, compressed and nested tensors on the device and on the CPU: prints what differs.

Started by test_special_tensors.py. Each case is a function of the device's name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Case = Callable[[str], torch.Tensor]


def numbers(*shape: int) -> torch.Tensor:
    count = torch.Size(shape).numel()
    return torch.complex(torch.linspace(-1, 2, count), torch.linspace(3, -2, count)).reshape(shape)


def products() -> dict[str, Case]:
    a, b, c, d, e, f = (numbers(*one) for one in ((3, 4), (4, 5), (3, 5), (2, 3, 4), (2, 4, 5), (2, 3, 5)))
    return {
        "mm": lambda device: a.to(device) @ b.to(device),
        "mm into a result": lambda device: torch.mm(a.to(device), b.to(device), out=c.clone().to(device)),
        "addmm": lambda device: torch.addmm(c.to(device), a.to(device), b.to(device), beta=2, alpha=1j),
        "addmm in place": lambda device: c.clone().to(device).addmm_(a.to(device), b.to(device)),
        "addmm into a result": lambda device: torch.addmm(
            c.to(device), a.to(device), b.to(device), out=c.clone().to(device)
        ),
        "bmm": lambda device: torch.bmm(d.to(device), e.to(device)),
        "bmm of a conjugate": lambda device: d.to(device).mH @ f.to(device),
        "bmm into a result": lambda device: torch.bmm(d.to(device), e.to(device), out=f.clone().to(device)),
        "baddbmm": lambda device: torch.baddbmm(f.to(device), d.to(device), e.to(device), beta=0.5),
        "baddbmm in place": lambda device: f.clone().to(device).baddbmm_(d.to(device), e.to(device)),
        "baddbmm into a result": lambda device: torch.baddbmm(
            f.to(device), d.to(device), e.to(device), out=f.clone().to(device)
        ),
        "real numbers": lambda device: a.real.to(device) @ b.real.to(device),
    }


def sums() -> dict[str, Case]:
    """Sums with a product whose first operand is spread; PyTorch's CUDA code copies it by a kernel of its own.
    Small whole numbers: their sums are the same in every order."""
    a, b = torch.arange(-12.0, 12).reshape(3, 8), torch.arange(-16.0, 16).reshape(8, 4)
    row, column = torch.arange(4.0), torch.arange(3.0)
    narrow = torch.nn.Linear(8, 1)
    torch.nn.init.constant_(narrow.weight, 2)
    torch.nn.init.constant_(narrow.bias, 3)
    return {
        "a layer with one output": lambda device: narrow.to(device)(a.to(device)).detach(),
        "twice a bias": lambda device: torch.addmm(row.to(device), a.to(device), b.to(device), beta=2),
        "one row": lambda device: torch.addmm(row[None].to(device), a.to(device), b.to(device)),
        "one column": lambda device: torch.addmm(column[:, None].to(device), a.to(device), b.to(device)),
        "one number": lambda device: torch.addmm(row[:1].to(device), a.to(device), b.to(device)),
        "a turned matrix": lambda device: torch.addmm(
            a[:, :4].to(device).t(), b[:4].to(device), a[:, :4].to(device).t()
        ),
        "into a turned matrix": lambda device: torch.addmm(
            row.to(device), a.to(device), b.to(device), out=torch.empty(4, 3).to(device).t()
        ),
        "nothing to multiply": lambda device: torch.addmm(row.to(device), a[:, :0].to(device), b[:0].to(device)),
        "a bias": lambda device: torch.addmm(row.to(device), a.to(device), b.to(device)),
    }


def compressed() -> dict[str, Case]:
    """From rows to columns and back, in batches and blocks, and a product that needs it; small whole numbers."""
    dense = torch.arange(1.0, 33).reshape(2, 4, 4) * (torch.arange(16) % 3 > 0).reshape(4, 4)
    cases: dict[str, Case] = {}
    for kind, other in (("csr", "csc"), ("csc", "csr"), ("bsr", "bsc"), ("bsc", "bsr")):
        words = {"blocksize": (2, 2)} if kind.startswith("b") else {}

        def turned(device: str, kind: str = kind, other: str = other, words: dict[str, Any] = words) -> torch.Tensor:
            of = getattr(dense, f"to_sparse_{kind}")(**words).to(device)
            return getattr(of, f"to_sparse_{other}")(**words)  # type: ignore[no-any-return]

        cases[f"values of {kind} as {other}"] = lambda device, turned=turned: turned(device).values()  # type: ignore[misc]
        cases[f"{kind} as {other}"] = lambda device, turned=turned: turned(device).to_dense()  # type: ignore[misc]
    columns = dense[1].to_sparse_csc()
    cases["columns by a matrix"] = lambda device: columns.to(device) @ dense[0].to(device)
    return cases


def nested() -> dict[str, Case]:
    parts = [torch.arange(1.0, 7).reshape(2, 3), torch.arange(10.0, 22).reshape(4, 3)]
    mask = torch.tensor([[True, True, False], [True, True, True]])
    layer = torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval()
    tokens = torch.linspace(-1, 1, 24).reshape(2, 3, 4)

    def made(device: str) -> torch.Tensor:
        return torch.nested.nested_tensor(parts, device=device)

    def turned(device: str) -> torch.Tensor:
        return torch.nested.nested_tensor([one.t().contiguous() for one in parts], device=device)

    def padded(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.to_padded_tensor(-1.0)

    def heads(device: str) -> torch.Tensor:
        return torch.nested.nested_tensor([one.reshape(1, -1, 3) for one in parts], device=device)

    def attention(device: str) -> torch.Tensor:
        of = heads(device)
        return torch.nn.functional.scaled_dot_product_attention(of, of, of)

    def encode(device: str) -> torch.Tensor:
        with torch.no_grad():
            out: torch.Tensor = layer.to(device)(tokens.to(device), src_key_padding_mask=~mask.to(device))
        return out.masked_fill(~mask.to(device).unsqueeze(-1), 0)

    return {
        "padded": lambda device: padded(made(device)),
        "sum of two": lambda device: padded(made(device) + made(device)),
        "twice": lambda device: padded(made(device) * 2),
        "bmm": lambda device: padded(torch.bmm(made(device), turned(device))),
        "attention": lambda device: padded(attention(device)),
        "from a mask": lambda device: padded(torch._nested_tensor_from_mask(tokens.to(device), mask.to(device))),
        "an encoder's fast path": encode,
    }


def main() -> None:
    for name, case in {**products(), **sums(), **compressed(), **nested()}.items():
        try:
            right, mine = case("cpu"), case("cuda").cpu()
            if not torch.equal(mine, right):
                print(f"{name}: {mine} instead of {right}")
        except RuntimeError as error:
            print(f"{name}: {str(error).splitlines()[0]}")
    print("compared")


if __name__ == "__main__":
    main()
