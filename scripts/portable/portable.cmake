# What makes the shipped libraries work on systems older than the one that builds them, and lets them say nothing of it.
# jitc_portable(TARGET): of a library without PyTorch: the C++ library is linked in, and with it nothing that glibc has
# only had since 2.35. Used by every part; tests/unit/test_portable.py reads the result.
#
# libgcc_s stays shared: the unwinder in libgcc_eh.a calls _dl_find_object, which glibc has since 2.35 only.

# Paths in messages, assertions and debug information are relative to the sources.
add_compile_options("-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=" "-ffile-prefix-map=${CMAKE_BINARY_DIR}=build")

function(jitc_portable target)
  if(JITC_SANITIZE)
    return()
  endif()
  target_sources(${target} PRIVATE ${CMAKE_SOURCE_DIR}/scripts/portable/random.cpp)
  target_link_options(${target} PRIVATE -static-libstdc++ -Wl,--exclude-libs,ALL -Wl,--build-id)
endfunction()
