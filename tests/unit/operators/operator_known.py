"""PyTorch's own CPU kernels of which arguments are known that end the process or keep it busy for very long.

By the operator's name without its overload: what happens, where no check stands in front of it (checks/ beside the
operators). Used by test_operator_fuzz.py. A program that finds one of them loses its worker and gets the error in the
end; nobody else notices (tests/end_to_end/test_guilty_operator.py).
"""

from __future__ import annotations

KNOWN = {
    "adaptive_max_pool2d": "goes through an output without elements as long as its sizes say",
    "binomial": "draws as often as the largest count says; infinities never end",
    "linalg_eigvals": "PyTorch asks for finite numbers in linalg_eig only; MKL ends the process where they are not",
    "_linalg_eigvals": "as linalg_eigvals",
    "median": "reads behind memory that repeats (strides of 0)",
    "nanmedian": "as median",
    "random_": "never finds the end of a range that begins at the largest integer",
    "special_laguerre_polynomial_l": "works for as long as the degree says",
    "special_legendre_polynomial_p": "works for as long as the degree says",
}

#: Put together by jitc (proxy/native/operators/composed/).
COMPOSED = (
    "_thnn_fused_lstm_cell", "_thnn_fused_lstm_cell_backward_impl", "_thnn_fused_gru_cell",
    "_thnn_fused_gru_cell_backward", "_fused_rms_norm", "_fused_rms_norm_backward", "batch_norm_stats",
    "batch_norm_elemt", "batch_norm_gather_stats", "batch_norm_gather_stats_with_counts", "batch_norm_backward_reduce",
    "batch_norm_backward_elemt", "_masked_scale", "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_flash_attention_backward", "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_efficient_attention_backward", "_scaled_dot_product_cudnn_attention",
    "_scaled_dot_product_cudnn_attention_backward",
)  # fmt: skip
