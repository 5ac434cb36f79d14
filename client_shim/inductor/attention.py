"""flex_attention in compiled code on the software device: the products and sums of its uncompiled form.

Called by: kernel_compilers.py. PyTorch keeps flex_attention in one piece for its template of a Triton kernel. Here it
is decomposed when it is traced, so that Inductor makes kernels of its parts like of any others. Promises: tensors of
other devices are traced as usual; the gradient too is that of PyTorch's own uncompiled form.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

MODULE = "torch._higher_order_ops.flex_attention"  # where its operators are


def change(module: Any) -> None:
    _take_apart(module.flex_attention, module.sdpa_dense)
    _take_apart(module.flex_attention_backward, module.sdpa_dense_backward)


def _take_apart(operator: Any, dense: Callable[..., Any]) -> None:
    from torch._subclasses.functional_tensor import FunctionalTensorMode

    known = operator.python_key_table
    plain = known[FunctionalTensorMode]

    def traced(mode: Any, query: torch.Tensor, *arguments: Any, **keywords: Any) -> Any:
        if query.device.type != "cuda":
            return plain(mode, query, *arguments, **keywords)
        with mode:
            return dense(query, *arguments, **keywords)

    known[FunctionalTensorMode] = traced
