"""What a log of calls of the fake NVIDIA libraries says was made and not given back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from toolkit.fakes import FakeCall

#: What makes something -> what gives it back, and the argument that names it there.
PAIRS = {
    "cuStreamCreateWithPriority": ("cuStreamDestroy_v2", "stream"),
    "cuEventCreate": ("cuEventDestroy_v2", "event"),
    "cuMemCreate": ("cuMemRelease", "handle"),
    "cuMemHostAlloc": ("cuMemFreeHost", "address"),
    "cuMemAlloc_v2": ("cuMemFree_v2", "address"),
    "nvrtcCreateProgram": ("nvrtcDestroyProgram", "program"),
    "cuMemAddressReserve": ("cuMemAddressFree", "address"),
    "cublasCreate_v2": ("cublasDestroy_v2", "handle"),
    "cublasLtMatmulDescCreate": ("cublasLtMatmulDescDestroy", "object"),
    "cublasLtMatrixLayoutCreate": ("cublasLtMatrixLayoutDestroy", "object"),
    "cublasLtMatmulPreferenceCreate": ("cublasLtMatmulPreferenceDestroy", "object"),
    "cudnnCreate": ("cudnnDestroy", "handle"),
    "cudnnBackendCreateDescriptor": ("cudnnBackendDestroyDescriptor", "descriptor"),
    "cudnnCreateTensorDescriptor": ("cudnnDestroyTensorDescriptor", "descriptor"),
    "cudnnCreateCTCLossDescriptor": ("cudnnDestroyCTCLossDescriptor", "descriptor"),
    "cuModuleLoadData": ("cuModuleUnload", "module"),
    "cuStreamEndCapture": ("cuGraphDestroy", "graph"),
    "cuGraphInstantiateWithFlags": ("cuGraphExecDestroy", "graph"),
}
IN_PROGRESS = 7  # ncclInProgress: what a communicator that must not block answers


def leaks(calls: Iterable[FakeCall]) -> Counter[tuple[str, object]]:
    """What was made and not given back, and what was given back and not made."""
    balance: Counter[tuple[str, object]] = Counter()
    for call in calls:
        if call.result not in {0, IN_PROGRESS}:
            continue
        if call.name in PAIRS:
            balance[call.name, call.args["out"]] += 1
        for made, (given_back, argument) in PAIRS.items():
            if call.name == given_back:
                balance[made, call.args[argument]] -= 1
        if call.name in {"cuMemHostRegister_v2", "cuMemHostUnregister"}:
            balance["cuMemHostRegister", call.args["address"]] += 1 if call.name == "cuMemHostRegister_v2" else -1
        if call.name == "cuMemRetainAllocationHandle":
            balance["cuMemCreate", call.args["out"]] += 1
        if call.name in {"cuMemMap", "cuMemUnmap"}:
            balance["cuMemMap", call.args["address"]] += 1 if call.name == "cuMemMap" else -1
        if call.name == "ncclCommInitRankConfig":
            balance["communicator", call.args["out"]] += 1
        if call.name in {"ncclCommAbort", "ncclCommDestroy"}:
            balance["communicator", call.args["comm"]] -= 1
        if call.name.startswith("cuDevicePrimaryCtxRe"):
            balance["context", ""] += 1 if call.name == "cuDevicePrimaryCtxRetain" else -1
    return +balance + Counter({key: 1 for key, count in balance.items() if count < 0})
