# jitc_with_torch(TARGET): compiles a library against the PyTorch in JITC_TORCH. Used by client_shim/native and
# proxy/native/operators. What differs between the supported wheels in how they were built is here and nowhere else;
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
  set_target_properties(${target} PROPERTIES BUILD_RPATH ${JITC_TORCH}/lib)
endfunction()
