// Kernels that do harm, for injected faults; fault_kernels.cpp has the same as PTX. Compiled by NVRTC where it is there.

/// Stores to an address where nothing is.
extern "C" __global__ void jitc_illegal_access() { *reinterpret_cast<volatile unsigned*>(16ull) = 1; }

/// Ends only with its process. The clock is read so that no compiler can tell, or leave the loop out.
extern "C" __global__ void jitc_endless_kernel() {
  while (clock64() != 0) {
  }
}
