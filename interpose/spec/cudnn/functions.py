"""cuDNN (libcudnn.so.9): see ``api.py`` for how to read it.

Only a device with kernels serves it, and each call reaches the library unchanged. Descriptors are kept in the program
and sent with the calls that need them (``docs/protocol.md``), so creating and setting them is ``Local``. Functions that
are not ``Custom`` here are marshalled by generated code on both sides (``dnn_visitor.py``).

Beyond ``api.py``: ``descriptor[kind]`` is a descriptor of that kind, ``scalar[x]`` a host scalar of the type that goes
with the descriptor x (double if its data is double, else float), a type with a size a host array of so many elements;
the sizes are C++ expressions over arguments and over what ``interpose/api/cudnn/dnn_call.h`` offers.
"""

from __future__ import annotations

from jitc.interpose.spec.api import Api, Custom, Function, Local, unsupported
from jitc.interpose.spec.cudnn.convolutions import CONVOLUTIONS
from jitc.interpose.spec.cudnn.descriptors import DESCRIPTORS
from jitc.interpose.spec.cudnn.graph import GRAPH
from jitc.interpose.spec.cudnn.layers import LAYERS
from jitc.interpose.spec.cudnn.refused import REFUSED
from jitc.interpose.spec.cudnn.shapes import ADVICE, local

_HANDLES: tuple[Function, ...] = (
    Custom("cudnnCreate", "out handle: dnn", ops="dnn_ask", kernels=ADVICE),
    local("cudnnDestroy", "handle: dnn"),
    local("cudnnSetStream", "handle: dnn", "stream: stream"),
    local("cudnnGetStream", "handle: dnn", "out stream: stream"),
    local("cudnnGetVersion", returns="size", note="the service's; the program's own without one"),
    Local("cudnnGetProperty", "property: enum", "out value: int", note="of that version"),
    local("cudnnGetCudartVersion", returns="size", note="the program's own"),
    local("cudnnGetErrorString", "status: enum", returns="text"),
    local("cudnnGetLastErrorString", "message: text", "size: size", returns="none"),
)

_SERVED = (*_HANDLES, *GRAPH, *DESCRIPTORS, *LAYERS, *CONVOLUTIONS)
_REFUSED = tuple(function for advice, names in REFUSED.items() for function in unsupported(advice, names))

CUDNN = Api("cuDNN", "cudnn", "libcudnn.so.9", "cudnn.h", 3000, (*_SERVED, *_REFUSED))
