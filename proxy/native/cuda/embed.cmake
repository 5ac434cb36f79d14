# The texts of the kernel that the GPU hashes with, as a C++ source: JITC_HASH_TEXT. They are compiled at run time.
set(kernel ${CMAKE_CURRENT_LIST_DIR}/hash_kernel.cu)
set(arithmetic ${CMAKE_CURRENT_LIST_DIR}/../core/content_arithmetic.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${kernel} ${arithmetic})
file(READ ${kernel} JITC_KERNEL)
file(READ ${arithmetic} JITC_ARITHMETIC)
set(JITC_HASH_TEXT ${CMAKE_BINARY_DIR}/generated_hash_text.cpp)
configure_file(${CMAKE_CURRENT_LIST_DIR}/hash_text.cpp.in ${JITC_HASH_TEXT} @ONLY)
