"""torch.compile on the software device: Inductor's C++ kernels, which the worker runs.

PyTorch's Inductor writes kernels for "cuda" devices in Triton. Here it writes them in C++, as for a CPU, compiles them
with the compiler of the machine, and calls them as operators of the device. See README.md of client_shim.
"""
