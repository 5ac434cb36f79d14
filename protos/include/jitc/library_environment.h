// A program's environment variables for NVIDIA's libraries, which its worker opens: these, and nothing else
// of its environment, go to the service when a session begins.
//
// Used by: the client, which sends them. In Python, where the service checks what came:
// jitc.proxy.node.library_environment. Promise: none of them names a file, or a library to be opened: a
// program decides how the libraries work, not what code a worker runs, nor where it writes.
#pragma once
#include <cstddef>
#include <string_view>
#include <utility>

namespace jitc::library_environment {

inline constexpr std::string_view kPrefixes[] = {"NCCL_"};
inline constexpr std::string_view kNames[] = {
    "CUBLASLT_WORKSPACE_SIZE",  "CUBLAS_WORKSPACE_CONFIG",     "CUDA_CACHE_DISABLE",
    "CUDA_CACHE_MAXSIZE",       "CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_DEVICE_MAX_COPY_CONNECTIONS",
    "CUDA_DISABLE_PTX_JIT",     "CUDA_FORCE_PTX_JIT",          "CUDA_GRAPHS_USE_NODE_PRIORITY",
    "CUDA_MODULE_DATA_LOADING", "CUDA_MODULE_LOADING",         "CUDA_SCALE_LAUNCH_QUEUES",
    "NVIDIA_TF32_OVERRIDE",
};
/// Variables that jitc sets itself: where ranks meet, and which of them are neighbours.
inline constexpr std::string_view kNever[] = {"NCCL_COMM_ID", "NCCL_HOSTID"};
/// Names of files, and of libraries to be opened.
inline constexpr std::string_view kNeverEndings[] = {"_DIR", "_FILE", "_LIB", "_PATH", "_PLUGIN"};
/// Values that mean the variable's absence: older releases of PyTorch set it in every program.
inline constexpr std::pair<std::string_view, std::string_view> kDefaults[] = {
    {"CUDA_MODULE_LOADING", "LAZY"}};

inline constexpr size_t kMostVariables = 64;
inline constexpr size_t kMostName = 64, kMostValue = 512;  // bytes
inline constexpr size_t kMostBytes = 4096;                 // of all names and values
}  // namespace jitc::library_environment
