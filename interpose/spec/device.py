"""What the software device says of itself: device attributes and the layout of ``cudaDeviceProp``.

Numbers are those of a small GPU of today; name, memory, compute capability and multiprocessors come
from the service. Called by: ``generator/device_visitor.py``; the layout is proved against the real
header where there is one.
"""

from __future__ import annotations

#: Attribute number (CU_DEVICE_ATTRIBUTE_*, cudaDevAttr*) -> (what it is, value or where it comes from).
ATTRIBUTES: dict[int, tuple[str, int | str]] = {
    1: ("threads per block", 1024),
    2: ("block x", 1024),
    3: ("block y", 1024),
    4: ("block z", 64),
    5: ("grid x", 2147483647),
    6: ("grid y", 65535),
    7: ("grid z", 65535),
    8: ("shared memory per block", 49152),
    9: ("constant memory", 65536),
    10: ("warp", 32),
    11: ("pitch", 2147483647),
    12: ("registers per block", 65536),
    13: ("clock in kHz", 1000000),
    14: ("texture alignment", 512),
    15: ("copies overlap", 1),
    16: ("multiprocessors", "multiprocessors"),
    19: ("maps host memory", 1),
    30: ("surface alignment", 512),
    31: ("concurrent kernels", 1),
    33: ("PCI bus", "pci_bus"),
    36: ("memory clock in kHz", 1000000),
    37: ("memory bus in bits", 64),
    38: ("L2 cache", 4194304),
    39: ("threads per multiprocessor", 1024),
    40: ("copy engines", 2),
    41: ("unified addresses", 1),
    51: ("texture pitch alignment", 32),
    75: ("capability, major", "capability_major"),
    76: ("capability, minor", "capability_minor"),
    78: ("stream priorities", 1),
    79: ("L1 caches global memory", 1),
    80: ("L1 caches local memory", 1),
    81: ("shared memory per multiprocessor", 102400),
    82: ("registers per multiprocessor", 65536),
    87: ("single to double rate", 2),
    90: ("preemption", 1),
    95: ("cooperative launch", 1),
    97: ("shared memory per block, opt-in", 101376),
    99: ("registers host memory", 1),
    106: ("blocks per multiprocessor", 16),
    111: ("reserved shared memory per block", 1024),
}

#: Size of ``cudaDeviceProp`` in CUDA 13 and its fields that are not zero: name, offset, bytes, attribute.
#: ``name``, ``uuid`` and ``totalGlobalMem`` are written by hand.
DEVICE_PROP_BYTES = 1008
DEVICE_PROP: tuple[tuple[str, int, int, int], ...] = (
    ("sharedMemPerBlock", 296, 8, 8),
    ("regsPerBlock", 304, 4, 12),
    ("warpSize", 308, 4, 10),
    ("memPitch", 312, 8, 11),
    ("maxThreadsPerBlock", 320, 4, 1),
    ("maxThreadsDim[0]", 324, 4, 2),
    ("maxThreadsDim[1]", 328, 4, 3),
    ("maxThreadsDim[2]", 332, 4, 4),
    ("maxGridSize[0]", 336, 4, 5),
    ("maxGridSize[1]", 340, 4, 6),
    ("maxGridSize[2]", 344, 4, 7),
    ("totalConstMem", 352, 8, 9),
    ("major", 360, 4, 75),
    ("minor", 364, 4, 76),
    ("textureAlignment", 368, 8, 14),
    ("texturePitchAlignment", 376, 8, 51),
    ("multiProcessorCount", 384, 4, 16),
    ("canMapHostMemory", 392, 4, 19),
    ("surfaceAlignment", 552, 8, 30),
    ("concurrentKernels", 560, 4, 31),
    ("pciBusID", 568, 4, 33),
    ("asyncEngineCount", 584, 4, 40),
    ("unifiedAddressing", 588, 4, 41),
    ("memoryBusWidth", 592, 4, 37),
    ("l2CacheSize", 596, 4, 38),
    ("maxThreadsPerMultiProcessor", 604, 4, 39),
    ("streamPrioritiesSupported", 608, 4, 78),
    ("globalL1CacheSupported", 612, 4, 79),
    ("localL1CacheSupported", 616, 4, 80),
    ("sharedMemPerMultiprocessor", 624, 8, 81),
    ("regsPerMultiprocessor", 632, 4, 82),
    ("computePreemptionSupported", 660, 4, 90),
    ("cooperativeLaunch", 668, 4, 95),
    ("sharedMemPerBlockOptin", 672, 8, 97),
    ("maxBlocksPerMultiProcessor", 688, 4, 106),
    ("reservedSharedMemPerBlock", 696, 8, 111),
    ("hostRegisterSupported", 704, 4, 99),
)
#: Of the fields written by hand: name, offset.
DEVICE_PROP_BY_HAND: tuple[tuple[str, int], ...] = (("name", 0), ("uuid", 256), ("totalGlobalMem", 288))
