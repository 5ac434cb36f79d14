# jitc_nghttp2: libnghttp2, linked in where the system has it as an archive (Debian, Ubuntu): a system that has only
# Python has no shared one. Included by this folder's CMakeLists.txt.
find_package(PkgConfig REQUIRED)
pkg_check_modules(NGHTTP2 REQUIRED IMPORTED_TARGET libnghttp2>=1.40)
add_library(jitc_nghttp2 INTERFACE)
target_include_directories(jitc_nghttp2 SYSTEM INTERFACE ${NGHTTP2_INCLUDE_DIRS})
find_library(JITC_NGHTTP2_ARCHIVE libnghttp2.a HINTS ${NGHTTP2_LIBRARY_DIRS})
if(NOT JITC_NGHTTP2_ARCHIVE)
  message(STATUS "No archive of libnghttp2: the shared library is used, and must be where jitc runs")
  target_link_libraries(jitc_nghttp2 INTERFACE PkgConfig::NGHTTP2)
  return()
endif()

# The archive is compiled for programs, not for libraries, and refers directly to one variable of the C library: stderr,
# in a function for nghttp2's own tests. The copy that is linked refers to a variable of ours, which is null.
set(archive ${CMAKE_CURRENT_BINARY_DIR}/libnghttp2.a)
add_custom_command(OUTPUT ${archive}
  COMMAND ${CMAKE_OBJCOPY} --redefine-sym stderr=jitc_no_stream ${JITC_NGHTTP2_ARCHIVE} ${archive}
  DEPENDS ${JITC_NGHTTP2_ARCHIVE})
add_custom_target(jitc_nghttp2_archive DEPENDS ${archive})
add_dependencies(jitc_nghttp2 jitc_nghttp2_archive)
target_link_libraries(jitc_nghttp2 INTERFACE ${archive})
