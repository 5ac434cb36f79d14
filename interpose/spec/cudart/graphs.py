"""Stream capture and graphs of the CUDA runtime API. Part of ``functions.py``."""

from __future__ import annotations

from jitc.interpose.spec.api import Custom, Function, Local, Op, Sync

NO_GRAPHS = "CUDA graphs are not recorded yet: run without them (torch.compile: mode without cudagraphs)"

_CAPTURE: tuple[Function, ...] = (
    Local("cudaThreadExchangeStreamCaptureMode", "inout mode: enum"),
    Local("cudaStreamIsCapturing", "stream: stream", "out status: enum"),
    Local(
        "cudaStreamGetCaptureInfo",
        "stream: stream",
        "out status: enum",
        "out id: u64",
        "out graph: graph",
        "out dependencies: handle",
        "out edges: handle",
        "out count: size",
        note="the graph and its dependencies cannot be asked for while a capture is under way",
    ),
    Op("cudaStreamBeginCapture", "stream: stream", "mode: enum", ops="capture_begin", kernels=NO_GRAPHS),
    Sync("cudaStreamEndCapture", "stream: stream", "out graph: graph", ops="capture_end", kernels=NO_GRAPHS),
)

_GRAPH: tuple[Function, ...] = (
    Sync(
        "cudaGraphInstantiate",
        "out executable: executable",
        "graph: graph",
        "flags: u64",
        ops="graph_instantiate",
        note="CUDA 11's error node and log are ignored",
        kernels=NO_GRAPHS,
    ),
    Sync(
        "cudaGraphInstantiateWithFlags",
        "out executable: executable",
        "graph: graph",
        "flags: u64",
        ops="graph_instantiate",
        like="cudaGraphInstantiate",
        kernels=NO_GRAPHS,
    ),
    Op("cudaGraphLaunch", "executable: executable", "stream: stream", ops="graph_launch", kernels=NO_GRAPHS),
    Local("cudaGraphUpload", "executable: executable", "stream: stream", note="accepted, no effect", kernels=NO_GRAPHS),
    Op("cudaGraphDestroy", "graph: graph", ops="graph_destroy", kernels=NO_GRAPHS),
    Op("cudaGraphExecDestroy", "executable: executable", ops="executable_destroy", kernels=NO_GRAPHS),
    Custom(
        "cudaGraphGetNodes",
        "graph: graph",
        "out nodes: handle",
        "inout count: size",
        note="their number; handles of nodes are not given out",
        kernels=NO_GRAPHS,
    ),
)

GRAPHS: tuple[Function, ...] = (*_CAPTURE, *_GRAPH)
