"""Physical memory, addresses and mappings of the driver API. Part of ``functions.py``.

Addresses are the program's own and cost nothing. The worker holds physical memory until it is mapped; from then on the
memory is an allocation like any other (docs/decisions.md, 23).
"""

from __future__ import annotations

from jitc.interpose.spec.api import Custom, Function, Local, Op, Sync, unsupported

MAPPING: tuple[Function, ...] = (
    Local(
        "cuMemAddressReserve",
        "out address: address",
        "bytes: size",
        "alignment: size",
        "wanted: address",
        "flags: u64",
        note="of the current device; the wanted address is not looked at",
    ),
    Local("cuMemAddressFree", "address: address", "bytes: size"),
    Sync(
        "cuMemCreate",
        "out handle: handle",
        "bytes: size",
        "in properties: allocation_prop",
        "flags: u64",
        ops="memory_hold",
        note="on devices; types of shareable handles are accepted, but exporting is refused",
    ),
    Custom("cuMemRelease", "handle: handle", ops="memory_drop"),
    Op(
        "cuMemMap",
        "address: address",
        "bytes: size",
        "offset: size",
        "handle: handle",
        "flags: u64",
        ops="memory_map",
        note="a handle as a whole, once, where its device was current when the addresses were reserved",
    ),
    Op("cuMemUnmap", "address: address", "bytes: size", ops="free", note="the memory goes with its last address"),
    Local(
        "cuMemSetAccess",
        "address: address",
        "bytes: size",
        "in access: memory_access",
        "count: size",
        note="to read and write; accepted, no effect, for other devices",
    ),
    Local("cuMemGetAccess", "out flags: u64", "in location: memory_location", "address: address"),
    Local(
        "cuMemGetAllocationGranularity",
        "out granularity: size",
        "in properties: allocation_prop",
        "option: enum",
        note="2 MiB",
    ),
    Local("cuMemGetAllocationPropertiesFromHandle", "out properties: allocation_prop", "handle: handle"),
    *unsupported(
        "memory cannot be mapped twice or shared between processes or devices: do without symmetric memory",
        """
    cuMemExportToShareableHandle cuMemGetHandleForAddressRange cuMemImportFromShareableHandle
    cuMemRetainAllocationHandle cuMulticastAddDevice cuMulticastBindAddr cuMulticastBindMem cuMulticastCreate
    cuMulticastGetGranularity cuMulticastUnbind""",
    ),
)
