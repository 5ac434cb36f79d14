# jitc_with_torch(TARGET): compiles a library against the PyTorch in JITC_TORCH. jitc_cuda_headers(RESULT): the include
# folders of its CUDA. Used by client_shim/native and proxy/native/operators. What differs between the supported wheels in how they were built is here and nowhere else;
# what differs in their C++ functions is in client_shim/native/torch_versions.h.

# Wheels before 2.7 were built with the C++ library's old strings, and say so in their own CMake files.
function(jitc_torch_abi result)
  set(abi 1)
  set(config ${JITC_TORCH}/share/cmake/Torch/TorchConfig.cmake)
  if(EXISTS ${config})
    file(STRINGS ${config} old_strings REGEX "_GLIBCXX_USE_CXX11_ABI=0")
    if(old_strings)
      set(abi 0)
    endif()
  endif()
  set(${result} ${abi} PARENT_SCOPE)
endfunction()

function(jitc_with_torch target)
  jitc_torch_abi(abi)
  target_include_directories(${target} SYSTEM PRIVATE ${JITC_TORCH}/include ${JITC_TORCH}/include/torch/csrc/api/include)
  target_compile_definitions(${target} PRIVATE AT_PER_OPERATOR_HEADERS _GLIBCXX_USE_CXX11_ABI=${abi})
  cmake_path(GET JITC_TORCH PARENT_PATH packages)
  target_compile_options(${target} PRIVATE "-ffile-prefix-map=${packages}/=")
  set_target_properties(${target} PROPERTIES BUILD_RPATH ${JITC_TORCH}/lib)
endfunction()

# Those of the wheels, which are the ones that PyTorch was built with, before an installed toolkit's. Wheels of CUDA 12
# have the folder crt in another package than the rest: any version of it serves.
function(jitc_cuda_headers result)
  file(GLOB found ${JITC_TORCH}/../nvidia/*/include/cuda_runtime_api.h)
  file(GLOB crt ${JITC_TORCH}/../nvidia/*/include/crt/host_defines.h)
  file(GLOB toolkit /usr/local/cuda/include/cuda_runtime_api.h)
  list(APPEND found ${toolkit})
  set(folders)
  if(found)
    list(GET found 0 header)
    cmake_path(GET header PARENT_PATH folders)
    if(crt)
      list(GET crt 0 header)
      cmake_path(GET header PARENT_PATH folder)
      cmake_path(GET folder PARENT_PATH folder)
      list(APPEND folders ${folder})
      list(REMOVE_DUPLICATES folders)
    endif()
  endif()
  set(${result} ${folders} PARENT_SCOPE)
endfunction()
