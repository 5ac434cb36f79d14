"""The functions of cuBLAS and cuBLASLt."""
