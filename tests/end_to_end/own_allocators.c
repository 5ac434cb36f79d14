// Allocators for memory_steps.py, as torch.cuda.memory.CUDAPluggableAllocator takes them: one that asks CUDA
// for each piece, one that asks NCCL, one that hands out parts of a piece that it asked for once and keeps
// books in the rest of it.
#include <stddef.h>

int cudaMalloc(void** address, size_t bytes);
int cudaFree(void* address);
int cudaGetDevice(int* device);
int cudaSetDevice(int device);
int ncclMemAlloc(void** address, size_t bytes);
int ncclMemFree(void* address);

enum { kDevices = 8, kPool = 64 << 20, kAlignment = 512 };

static void* taken_by(int (*allocate)(void**, size_t), size_t bytes, int device) {
  int before = 0;
  void* address = NULL;
  cudaGetDevice(&before);
  cudaSetDevice(device);
  allocate(&address, bytes);
  cudaSetDevice(before);
  return address;
}

void* plain_take(ptrdiff_t bytes, int device, void* stream) {
  (void)stream;
  return taken_by(cudaMalloc, (size_t)bytes, device);
}
void plain_give(void* address, ptrdiff_t bytes, int device, void* stream) {
  (void)bytes, (void)device, (void)stream;
  cudaFree(address);
}

void* nccl_take(ptrdiff_t bytes, int device, void* stream) {
  (void)stream;
  return taken_by(ncclMemAlloc, (size_t)bytes, device);
}
void nccl_give(void* address, ptrdiff_t bytes, int device, void* stream) {
  (void)bytes, (void)device, (void)stream;
  ncclMemFree(address);
}

static char* pools[kDevices];
static size_t used[kDevices];

// Where the piece is: what is not handed out is the program's own.
void* pool_of(int device) {
  if (!pools[device]) pools[device] = taken_by(cudaMalloc, kPool, device);
  return pools[device];
}
size_t pool_bytes(void) { return kPool; }
void* parts_take(ptrdiff_t bytes, int device, void* stream) {
  (void)stream;
  char* const pool = pool_of(device);
  char* const part = pool + used[device];
  used[device] += ((size_t)bytes + kAlignment - 1) / kAlignment * kAlignment;
  return used[device] <= kPool / 2 ? part : NULL;
}
void parts_give(void* address, ptrdiff_t bytes, int device, void* stream) {
  (void)address, (void)bytes, (void)device, (void)stream;
}
