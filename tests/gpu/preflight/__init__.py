"""What the machine is below jitc: raw driver calls through ctypes, each probe in a process of its own (__main__.py).

A probe is a function that takes the request ({"driver": path, "nccl": path, ...}) and gives what it found;
whatever it raises is what it says instead. None needs jitc or PyTorch.
"""
