"""cuDNN's handles and descriptors: kept in the process, and what is wrong with them told in cuDNN's statuses."""

from __future__ import annotations

import ctypes
import os
from ctypes import byref, c_char_p, c_float, c_int32, c_int64, c_size_t, c_uint64
from typing import Any

import pytest
from api_rig import Cuda
from interpose_dnn import (
    ATTRIBUTE_TYPE,
    BAD_PARAM,
    COMPLEX_DOUBLE,
    DOUBLE,
    HALF,
    INTERNAL_ERROR,
    NOT_FINALIZED,
    NOT_INITIALIZED,
    NOT_SUPPORTED,
    NULL_POINTER,
    OPERATION,
    PACK,
    STREAM_MISMATCH,
    SUCCESS,
    TENSOR,
    VERSION,
    Dnn,
    Value,
    enum,
    integers,
    list_of,
    nodes,
    unique,
)  # fmt: skip

from jitc.interpose.spec.cudnn.functions import CUDNN
from jitc.interpose.spec.cudnn.shapes import ADVICE, KINDS
from jitc.ops import generated_names as generated_ops

INVENTED = [0, 3, 0x1234567, 0xFFFFFFFFFFFFFFFF]
POINTER, HANDLE, CHILD = 6, 0, 15


def own_version() -> int:
    """Of the libcudnn that this process has loaded."""
    try:
        library = ctypes.CDLL("libcudnn.so.9", mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:
        return 0
    library.cudnnGetVersion.restype = c_size_t
    return int(library.cudnnGetVersion())


def version(library: Cuda) -> int:
    library.cudnnGetVersion.restype = c_size_t
    return int(library.cudnnGetVersion())


@pytest.mark.parametrize("kind", KINDS)
def test_a_descriptor_is_created_and_destroyed_in_the_process(dnn: Dnn, kind: str) -> None:
    destroy = f"cudnnDestroy{KINDS[kind]}Descriptor"
    one, other = dnn.old(kind), dnn.old("filter" if kind == "tensor" else "tensor")
    assert one.value != other.value
    assert dnn.call(f"cudnnCreate{KINDS[kind]}Descriptor", None) == NULL_POINTER
    assert [dnn.call(destroy, wrong) for wrong in (other, dnn.handle)] == [BAD_PARAM] * 2
    assert [dnn.call(destroy, c_uint64(wrong)) for wrong in INVENTED] == [SUCCESS, *[BAD_PARAM] * 3]
    assert [dnn.call(destroy, one), dnn.call(destroy, one)] == [SUCCESS, BAD_PARAM]
    assert dnn.names() == []


def test_a_descriptor_of_the_graph_api_likewise(dnn: Dnn) -> None:
    one = dnn.make("cudnnBackendCreateDescriptor", TENSOR)
    assert dnn.call("cudnnBackendCreateDescriptor", TENSOR, None) == NULL_POINTER
    assert dnn.call("cudnnBackendDestroyDescriptor", dnn.old("tensor")) == BAD_PARAM
    assert dnn.call("cudnnDestroyTensorDescriptor", one) == BAD_PARAM
    dnn.ok("cudnnBackendDestroyDescriptor", one)
    assert dnn.call("cudnnBackendDestroyDescriptor", one) == BAD_PARAM
    assert dnn.call("cudnnBackendFinalize", one) == BAD_PARAM
    assert dnn.set(one, 901, enum(0)) == BAD_PARAM
    assert dnn.get(one, 901, 1, 1, byref(c_int32()))[0] == BAD_PARAM
    assert dnn.names() == []


def test_a_stream_of_another_gpu(dnn: Dnn) -> None:
    dnn.ok("cudaSetDevice", 1)
    elsewhere = c_uint64(dnn.gpu.make("cudaStreamCreateWithFlags", 1))
    assert dnn.call("cudnnSetStream", dnn.handle, elsewhere) == STREAM_MISMATCH
    dnn.ok("cudaStreamDestroy", elsewhere)
    dnn.ok("cudaSetDevice", 0)
    dnn.gpu.take()


def test_handles_and_their_streams(dnn: Dnn) -> None:
    assert dnn.call("cudnnCreate", None) == NULL_POINTER
    other, stream = dnn.make("cudnnCreate"), c_uint64(dnn.gpu.make("cudaStreamCreateWithFlags", 1))
    found = c_uint64(7)
    for wanted in (0, 2, stream.value):
        dnn.ok("cudnnSetStream", dnn.handle, c_uint64(wanted))
        dnn.ok("cudnnGetStream", dnn.handle, byref(found))
        assert found.value == wanted
    dnn.ok("cudnnGetStream", other, byref(found))
    assert found.value == 0
    assert dnn.call("cudnnSetStream", dnn.handle, c_uint64(0x1234567)) == BAD_PARAM
    assert dnn.call("cudnnGetStream", dnn.handle, None) == BAD_PARAM
    dnn.ok("cudnnDestroy", other)
    for wrong in (other, dnn.old("tensor"), c_uint64(0)):
        assert dnn.call("cudnnDestroy", wrong) == BAD_PARAM
        assert dnn.call("cudnnSetStream", wrong, stream) == BAD_PARAM
        assert dnn.call("cudnnGetStream", wrong, byref(found)) == BAD_PARAM
    dnn.ok("cudaStreamDestroy", stream)
    dnn.gpu.take()
    assert dnn.call("cudnnDropoutGetStatesSize", dnn.handle, byref(c_size_t())) == BAD_PARAM  # its stream is gone
    assert dnn.names() == []


def test_a_handle_needs_the_library(fresh: Cuda) -> None:
    handle, dnn_ask = c_uint64(7), generated_ops.IDS["dnn_ask"]
    fresh.jitc_fake_next_status(dnn_ask, 801)
    assert (fresh.cudnnCreate(byref(handle)), handle.value) == (NOT_INITIALIZED, 7)
    assert fresh.cudnnCreate(byref(handle)) == SUCCESS  # that was no answer of cuDNN's: it is asked again
    assert fresh.cudnnCreate(byref(handle)) == SUCCESS
    assert [op.name for op in fresh.take()] == ["dnn_ask"] * 2


def test_versions(fresh: Cuda) -> None:
    part = c_int32(-1)
    assert version(fresh) == own_version() and fresh.take() == []  # asking opens no session
    fresh.cudaFree(c_uint64(fresh.malloc(1)))
    fresh.take()
    assert version(fresh) == VERSION == version(fresh)
    assert [op.name for op in fresh.take()] == ["dnn_ask"]
    for which, expected in enumerate((9, 19, 0)):
        assert (fresh.cudnnGetProperty(which, byref(part)), part.value) == (SUCCESS, expected)
    assert [fresh.cudnnGetProperty(which, byref(part)) for which in (-1, 3)] == [BAD_PARAM] * 2
    assert fresh.cudnnGetProperty(0, None) == BAD_PARAM


def test_statuses_have_names(dnn: Dnn) -> None:
    name_of = dnn.gpu.cudnnGetErrorString
    name_of.restype = c_char_p
    assert name_of(SUCCESS) == b"CUDNN_STATUS_SUCCESS"
    assert name_of(NOT_FINALIZED) == b"CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED"
    assert name_of(-5) == b"CUDNN_UNKNOWN_STATUS"


def test_the_words_of_a_failure_are_kept_and_cut_to_fit(dnn: Dnn) -> None:
    dnn.tell(b"no engine for that", NOT_SUPPORTED)
    one = dnn.node(TENSOR, {902: integers(unique())}, finalized=False)
    assert dnn.call("cudnnBackendFinalize", one) == NOT_SUPPORTED
    assert [dnn.last_words(size) for size in (200, 19, 18, 1)] == ["no engine for that"] * 2 + ["no engine for tha", ""]
    dnn.gpu.cudnnGetLastErrorString(None, c_size_t(9))


def test_what_a_tensor_and_a_filter_were_set_to_is_given_back(dnn: Dnn) -> None:
    tensor, filters = dnn.old("tensor"), dnn.old("filter")
    data_type, layout, count, sizes, strides = c_int32(), c_int32(), c_int32(), list_of([9] * 5), list_of([9] * 5)
    head = byref(data_type), byref(count)
    get_tensor = ("cudnnGetTensorNdDescriptor", tensor)
    get_filter = ("cudnnGetFilterNdDescriptor", filters)
    assert dnn.call(*get_tensor, 5, *head, sizes, strides) == BAD_PARAM  # not set yet
    dnn.ok("cudnnSetTensorNdDescriptor", tensor, HALF, 4, list_of([2, 3, 5, 7]), list_of([105, 1, 21, 3]))
    dnn.ok("cudnnSetFilterNdDescriptor", filters, DOUBLE, 1, 3, list_of([4, 6, 8]))
    dnn.ok(*get_tensor, 5, *head, sizes, strides)
    assert (data_type.value, count.value) == (HALF, 4)
    assert (list(sizes), list(strides)) == ([2, 3, 5, 7, 9], [105, 1, 21, 3, 9])
    dnn.ok(*get_filter, 2, byref(data_type), byref(layout), byref(count), strides)
    assert (data_type.value, layout.value, count.value, list(strides)) == (DOUBLE, 1, 3, [4, 6, 21, 3, 9])
    dnn.ok(*get_tensor, 0, *head, None, None)
    assert count.value == 4
    assert dnn.call(*get_tensor, -1, *head, sizes, strides) == BAD_PARAM
    assert dnn.call(*get_tensor, 5, None, byref(count), sizes, strides) == BAD_PARAM
    assert dnn.call("cudnnGetTensorNdDescriptor", filters, 5, *head, sizes, strides) == BAD_PARAM
    assert dnn.call("cudnnGetFilterNdDescriptor", tensor, 5, *head, byref(layout), sizes) == BAD_PARAM


def test_setters_refuse_wrong_kinds_nulls_and_counts(dnn: Dnn) -> None:
    tensor, filters, sizes = dnn.old("tensor"), dnn.old("filter"), list_of([1, 2])
    dropout, data = dnn.old("dropout"), dnn.old("rnn_data")
    assert [dnn.set_tensor(c_uint64(wrong), [1]) for wrong in (*INVENTED, filters.value)] == [BAD_PARAM] * 5
    assert dnn.call("cudnnSetTensorNdDescriptor", tensor, 0, 2, sizes, None) == NULL_POINTER
    for count in (-1, (1 << 18) + 1):
        assert dnn.call("cudnnSetTensorNdDescriptor", tensor, 0, count, sizes, sizes) == BAD_PARAM
    restore = (c_float(0.5), c_uint64(0x1000), c_size_t(64), c_uint64(7))
    assert dnn.call("cudnnRestoreDropoutDescriptor", dropout, tensor, *restore) == BAD_PARAM
    assert dnn.call("cudnnSetDropoutDescriptor", tensor, dnn.handle, *restore) == BAD_PARAM
    padding = ctypes.create_string_buffer(16)
    for type_ in (COMPLEX_DOUBLE, 5, -1):  # no single number of at most 8 bytes
        assert dnn.call("cudnnSetRNNDataDescriptor", data, type_, 0, 2, 2, 3, sizes, padding) == BAD_PARAM
    rnn = dnn.old("rnn")
    assert dnn.call("cudnnSetRNNDescriptor_v8", rnn, *[0] * 12, tensor, 0) == BAD_PARAM
    assert dnn.names() == []


def test_calls_refuse_wrong_handles_descriptors_and_results(dnn: Dnn) -> None:
    tensor, size = dnn.tensor(1, 2), c_size_t(7)
    pooling, one = dnn.old("pooling"), byref(c_float(1))
    addresses = c_uint64(0x1000), c_uint64(0x2000)
    dnn.gpu.take()

    def pool(handle: Any, how: Any, x: Any) -> int:
        return dnn.call("cudnnPoolingForward", handle, how, one, x, addresses[0], one, tensor, addresses[1])

    assert [pool(wrong, pooling, tensor) for wrong in (tensor, c_uint64(0))] == [BAD_PARAM] * 2
    assert [pool(dnn.handle, wrong, tensor) for wrong in (tensor, c_uint64(3))] == [BAD_PARAM] * 2
    assert pool(dnn.handle, pooling, pooling) == BAD_PARAM
    asked = "cudnnDropoutGetStatesSize"
    assert (dnn.call(asked, tensor, byref(size)), dnn.call(asked, dnn.handle, None)) == (BAD_PARAM, NULL_POINTER)
    assert size.value == 7 and dnn.names() == []


@pytest.mark.parametrize("requested", [-1, 21846, 89478486])
def test_more_answers_than_anyone_wants_are_refused(dnn: Dnn, requested: int) -> None:
    """The last of them times 48 is 32 in 32 bits."""
    x, w, y = dnn.tensor(1, 2), dnn.old("filter"), dnn.tensor(1, 2)
    descriptors = x, w, dnn.old("convolution"), y
    wanted = byref(c_int32()), ctypes.create_string_buffer(64)
    name = "cudnnGetConvolutionForwardAlgorithm_v7"
    assert dnn.call(name, dnn.handle, *descriptors, requested, *wanted) == BAD_PARAM
    assert dnn.names() == []


def test_attributes_before_and_after_finalizing(dnn: Dnn) -> None:
    one, child = (dnn.node(TENSOR, {902: integers(unique())}, finalized=False) for _ in range(2))
    number = byref(c_int64())
    assert dnn.get(one, 902, 3, 1, number) == (NOT_INITIALIZED, -1)
    assert dnn.set(one, 902, Value(3, -1, b"")) == BAD_PARAM
    assert dnn.set(one, 902, Value(3, (1 << 20) + 1, b"")) == BAD_PARAM
    assert dnn.set(one, 902, Value(3, 1, None)) == NULL_POINTER
    assert [dnn.set(one, 902, Value(wrong, 1, bytes(16))) for wrong in (-1, 31, 99)] == [ATTRIBUTE_TYPE] * 3
    assert dnn.set(one, 801, nodes(child)) == NOT_FINALIZED
    assert [dnn.set(one, 801, integers(wrong, type_=CHILD)) for wrong in INVENTED] == [BAD_PARAM] * 4
    assert dnn.set(one, 801, nodes(dnn.old("tensor"))) == BAD_PARAM
    assert dnn.set(one, 800, nodes(child)) == NOT_FINALIZED
    assert dnn.set(one, 800, integers(child.value, type_=HANDLE)) == BAD_PARAM
    assert dnn.set(one, 800, integers(dnn.handle.value, dnn.handle.value, type_=HANDLE)) == BAD_PARAM
    assert dnn.set(one, 1001, integers(0x1000, type_=POINTER)) == NOT_SUPPORTED
    assert dnn.names() == []
    dnn.ok("cudnnBackendFinalize", one)
    assert dnn.set(one, 902, integers(1)) == BAD_PARAM == dnn.call("cudnnBackendFinalize", one)
    for type_, status in ((31, ATTRIBUTE_TYPE), (HANDLE, NOT_SUPPORTED), (POINTER, NOT_SUPPORTED)):
        assert dnn.get(one, 902, type_, 1, number) == (status, -1)
    assert [dnn.get(one, 902, 3, wrong, number)[0] for wrong in (-1, (1 << 20) + 1)] == [BAD_PARAM] * 2


def test_a_variant_pack_stays_in_the_process(dnn: Dnn, capfd: pytest.CaptureFixture[str]) -> None:
    pack = dnn.pack({1: 0x1000}, 0x9000)
    assert dnn.get(pack, 1000, 3, 1, byref(c_int64())) == (NOT_SUPPORTED, -1)
    other = dnn.node(PACK, {}, finalized=False)
    assert dnn.set(other, 1002, integers(1)) == NOT_SUPPORTED  # an execution carries the other three
    assert "attribute 1002 of a variant pack" in capfd.readouterr().err
    assert dnn.names() == []


def test_execution_wants_a_plan_and_a_pack(dnn: Dnn) -> None:
    plan, pack = dnn.plan(dnn.graph_tensor(1, 4)), dnn.pack({1: 0x1000})
    raw = dnn.node(PACK, {}, finalized=False)
    dnn.gpu.take()
    assert [dnn.execute(pack, pack), dnn.execute(plan, plan), dnn.execute(plan, c_uint64(0))] == [BAD_PARAM] * 3
    assert dnn.execute(plan, raw) == NOT_FINALIZED
    assert dnn.call("cudnnBackendExecute", plan, plan, pack) == BAD_PARAM
    uneven = dnn.node(PACK, {1000: integers(1, 2), 1001: integers(0x1000, type_=POINTER)})
    assert dnn.execute(plan, uneven) == BAD_PARAM
    assert dnn.names() == []


def test_a_forked_child_is_told_so(dnn: Dnn) -> None:
    plan, other = dnn.plan(dnn.graph_tensor(1, 4)), dnn.node(OPERATION, {753: integers(unique())}, finalized=False)
    pack, size = dnn.pack({1: 0x1000}), c_size_t()
    dnn.gpu.take()
    dnn.gpu.jitc_fake_forked(1)
    assert dnn.call("cudnnCreate", byref(c_uint64())) == NOT_INITIALIZED
    assert dnn.execute(plan, pack) == NOT_INITIALIZED == dnn.call("cudnnBackendFinalize", other)
    assert dnn.call("cudnnDropoutGetStatesSize", dnn.handle, byref(size)) == NOT_INITIALIZED
    assert dnn.names() == []


def test_an_answer_that_is_too_short_is_an_error(dnn: Dnn) -> None:
    size, x = c_size_t(7), dnn.tensor(unique())
    dnn.tell(bytes(4))
    name = "cudnnGetBatchNormalizationTrainingExReserveSpaceSize"
    assert dnn.call(name, dnn.handle, 0, 0, c_uint64(0), x, byref(size)) == INTERNAL_ERROR
    assert size.value == 7


def test_the_software_device_refuses_all_of_it(cuda: Cuda, capfd: pytest.CaptureFixture[str]) -> None:
    served = [f.name for f in CUDNN.functions if f.returns == "status" and f.kernels]
    refused = [f.name for f in CUDNN.functions if f.returns == "status" and f.policy == "Unsupported"]
    assert len(served) > 70 and len(refused) > 100
    nothing = [c_uint64(0)] * 32
    for name in (*served, *refused):
        assert cuda.library[name](*nothing) == NOT_SUPPORTED, name
    said = capfd.readouterr().err.splitlines()
    assert len(said) == len(served) + len(refused)
    assert all(name in line and ADVICE in line for name, line in zip(served, said, strict=False))
    assert cuda.take() == []
