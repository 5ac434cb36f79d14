"""Stream capture and graphs of the CUDA runtime API. Part of ``functions.py``."""

from __future__ import annotations

from jitc.interpose.spec.api import Custom, Function, Local, Op, Sync

UPDATE = "the graph takes the place of the old one; of their nodes only the number is compared"

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
    Op("cudaStreamBeginCapture", "stream: stream", "mode: enum", ops="capture_begin"),
    Sync("cudaStreamEndCapture", "stream: stream", "out graph: graph", ops="capture_end"),
)

_GRAPH: tuple[Function, ...] = (
    Sync(
        "cudaGraphInstantiate",
        "out executable: executable",
        "graph: graph",
        "flags: u64",
        ops="graph_instantiate",
        note="CUDA 11's error node and log are ignored",
    ),
    Sync(
        "cudaGraphInstantiateWithFlags",
        "out executable: executable",
        "graph: graph",
        "flags: u64",
        ops="graph_instantiate",
        like="cudaGraphInstantiate",
    ),
    Op("cudaGraphLaunch", "executable: executable", "stream: stream", ops="graph_launch"),
    Local("cudaGraphUpload", "executable: executable", "stream: stream", note="accepted, no effect"),
    Op("cudaGraphDestroy", "graph: graph", ops="graph_destroy"),
    Op("cudaGraphExecDestroy", "executable: executable", ops="executable_destroy"),
    Sync(
        "cudaGraphExecUpdate",
        "executable: executable",
        "graph: graph",
        "out result: opaque",
        ops="executable_destroy graph_instantiate",
        note=UPDATE,
    ),
    Custom(
        "cudaGraphGetNodes",
        "graph: graph",
        "out nodes: handle",
        "inout count: size",
        note="their number; handles of nodes are not given out",
    ),
)

GRAPHS: tuple[Function, ...] = (*_CAPTURE, *_GRAPH)
