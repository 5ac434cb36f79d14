"""The layouts of ``cudaDeviceProp``: CUDA 13, and CUDA 12 (``cudaGetDeviceProperties_v2``).

Called by: ``generator/device_visitor.py``. Promise: offsets follow from the members alone (C alignment); they are
proved against the real headers where these are installed.
"""

from __future__ import annotations

from dataclasses import dataclass

_BYTES = {"char": 1, "int": 4, "size": 8}

#: Member, type[count], attributes that fill it (one per element); "12:" and "13:" mark members of that version alone.
_MEMBERS = """
name char[256]
uuid char[16]
luid char[8]
luidDeviceNodeMask int
totalGlobalMem size
sharedMemPerBlock size 8
regsPerBlock int 12
warpSize int 10
memPitch size 11
maxThreadsPerBlock int 1
maxThreadsDim int[3] 2 3 4
maxGridSize int[3] 5 6 7
12:clockRate int 13
totalConstMem size 9
major int 75
minor int 76
textureAlignment size 14
texturePitchAlignment size 51
12:deviceOverlap int 15
multiProcessorCount int 16
12:kernelExecTimeoutEnabled int 17
integrated int 18
canMapHostMemory int 19
12:computeMode int 20
maxTexture1D int 21
maxTexture1DMipmap int 77
12:maxTexture1DLinear int 69
maxTexture2D int[2] 22 23
maxTexture2DMipmap int[2] 73 74
maxTexture2DLinear int[3] 70 71 72
maxTexture2DGather int[2] 45 46
maxTexture3D int[3] 24 25 26
maxTexture3DAlt int[3] 47 48 49
maxTextureCubemap int 52
maxTexture1DLayered int[2] 42 43
maxTexture2DLayered int[3] 27 28 29
maxTextureCubemapLayered int[2] 53 54
maxSurface1D int 55
maxSurface2D int[2] 56 57
maxSurface3D int[3] 58 59 60
maxSurface1DLayered int[2] 61 62
maxSurface2DLayered int[3] 63 64 65
maxSurfaceCubemap int 66
maxSurfaceCubemapLayered int[2] 67 68
surfaceAlignment size 30
concurrentKernels int 31
ECCEnabled int 32
pciBusID int 33
pciDeviceID int 34
pciDomainID int 50
tccDriver int 35
asyncEngineCount int 40
unifiedAddressing int 41
12:memoryClockRate int 36
memoryBusWidth int 37
l2CacheSize int 38
persistingL2CacheMaxSize int 108
maxThreadsPerMultiProcessor int 39
streamPrioritiesSupported int 78
globalL1CacheSupported int 79
localL1CacheSupported int 80
sharedMemPerMultiprocessor size 81
regsPerMultiprocessor int 82
managedMemory int 83
isMultiGpuBoard int 84
multiGpuBoardGroupID int 85
hostNativeAtomicSupported int 86
12:singleToDoublePrecisionPerfRatio int 87
pageableMemoryAccess int 88
concurrentManagedAccess int 89
computePreemptionSupported int 90
canUseHostPointerForRegisteredMem int 91
cooperativeLaunch int 95
12:cooperativeMultiDeviceLaunch int 96
sharedMemPerBlockOptin size 97
pageableMemoryAccessUsesHostPageTables int 100
directManagedMemAccessFromHost int 101
maxBlocksPerMultiProcessor int 106
accessPolicyMaxWindowSize int 109
reservedSharedMemPerBlock size 111
hostRegisterSupported int 99
sparseCudaArraySupported int 112
hostRegisterReadOnlySupported int 113
timelineSemaphoreInteropSupported int 114
memoryPoolsSupported int 115
gpuDirectRDMASupported int 116
gpuDirectRDMAFlushWritesOptions int 117
gpuDirectRDMAWritesOrdering int 118
memoryPoolSupportedHandleTypes int 119
deferredMappingCudaArraySupported int 121
ipcEventSupported int 125
clusterLaunch int 120
unifiedFunctionPointers int 129
12:reserved int[63]
13:deviceNumaConfig int 130
13:deviceNumaId int 131
13:mpsEnabled int 133
13:hostNumaId int 134
13:gpuPciDeviceID int 139
13:gpuPciSubsystemID int 140
13:hostNumaMultinodeIpcSupported int 143
13:reserved int[56]
"""

#: Members written by hand, not from an attribute.
BY_HAND = ("name", "uuid", "totalGlobalMem")


@dataclass(frozen=True)
class Member:
    name: str
    offset: int
    bytes: int  # bytes of one element
    attributes: tuple[int, ...]


@dataclass(frozen=True)
class Layout:
    bytes: int
    members: tuple[Member, ...]

    def offset(self, name: str) -> int:
        return next(member.offset for member in self.members if member.name == name)


def layout(version: int) -> Layout:
    """Returns the structure as the headers of this CUDA version have it."""
    members, end = [], 0
    for line in _MEMBERS.split("\n"):
        only, _, text = line.rpartition(":")
        if not text or (only and int(only) != version):
            continue
        name, kind, *attributes = text.split()
        base, _, count = kind.rstrip("]").partition("[")
        size = _BYTES[base]
        offset = (end + size - 1) // size * size
        members.append(Member(name, offset, size, tuple(map(int, attributes))))
        end = offset + size * int(count or 1)
    return Layout((end + 7) // 8 * 8, tuple(members))
