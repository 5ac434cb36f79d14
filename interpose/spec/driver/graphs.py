"""Stream capture and graphs of the CUDA driver API. Part of ``functions.py``."""

from __future__ import annotations

from jitc.interpose.spec.api import Custom, Function, Local, Op, Sync, unsupported
from jitc.interpose.spec.cudart.graphs import UPDATE

GRAPHS: tuple[Function, ...] = (
    Local("cuThreadExchangeStreamCaptureMode", "inout mode: enum", like="cudaThreadExchangeStreamCaptureMode"),
    Local("cuStreamIsCapturing", "stream: stream", "out status: enum", like="cudaStreamIsCapturing"),
    Local(
        "cuStreamGetCaptureInfo_v2",
        "stream: stream",
        "out status: enum",
        "out id: u64",
        "out graph: graph",
        "out dependencies: handle",
        "out count: size",
        like="cudaStreamGetCaptureInfo_v2",
    ),
    Local(
        "cuStreamGetCaptureInfo_v3",
        "stream: stream",
        "out status: enum",
        "out id: u64",
        "out graph: graph",
        "out dependencies: handle",
        "out edges: handle",
        "out count: size",
        like="cudaStreamGetCaptureInfo",
    ),
    Op(
        "cuStreamBeginCapture_v2",
        "stream: stream",
        "mode: enum",
        ops="capture_begin",
        like="cudaStreamBeginCapture",
    ),
    Sync(
        "cuStreamEndCapture",
        "stream: stream",
        "out graph: graph",
        ops="capture_end",
        like="cudaStreamEndCapture",
    ),
    Sync(
        "cuGraphInstantiateWithFlags",
        "out executable: executable",
        "graph: graph",
        "flags: u64",
        ops="graph_instantiate",
        like="cudaGraphInstantiate",
    ),
    Op(
        "cuGraphLaunch",
        "executable: executable",
        "stream: stream",
        ops="graph_launch",
        like="cudaGraphLaunch",
    ),
    Local(
        "cuGraphUpload",
        "executable: executable",
        "stream: stream",
        like="cudaGraphUpload",
        note="accepted, no effect",
    ),
    Op("cuGraphDestroy", "graph: graph", ops="graph_destroy", like="cudaGraphDestroy"),
    Op(
        "cuGraphExecDestroy",
        "executable: executable",
        ops="executable_destroy",
        like="cudaGraphExecDestroy",
    ),
    Sync(
        "cuGraphExecUpdate_v2",
        "executable: executable",
        "graph: graph",
        "out result: opaque",
        ops="executable_destroy graph_instantiate",
        like="cudaGraphExecUpdate",
        note=UPDATE,
    ),
    Custom(
        "cuGraphGetNodes",
        "graph: graph",
        "out nodes: handle",
        "inout count: size",
        like="cudaGraphGetNodes",
        note="their number; handles of nodes are not given out",
    ),
    *unsupported(
        "a CUDA graph can only be made by capturing a stream",
        """
    cuGraphCreate cuGraphDebugDotPrint cuStreamBeginCaptureToGraph
    cuStreamUpdateCaptureDependencies cuStreamUpdateCaptureDependencies_v2""",
    ),
)
