# Test programs of the devices and the bridge, built when a test asks for one (toolkit/native_program.py); included by the top
# CMakeLists.txt where the parts are there that they need.
#
# All of them are made of the executor's own objects, so that no device is compiled twice.
if(NOT (TARGET jitc_executor AND TARGET fake_cuda))
  return()
endif()
find_path(JITC_XXHASH xxhash.h REQUIRED)
set(toolkit ${CMAKE_CURRENT_LIST_DIR})
set(jitc_test_folders
  ${toolkit} ${CMAKE_SOURCE_DIR}/protos/include ${CMAKE_SOURCE_DIR}/proxy/native ${CMAKE_SOURCE_DIR}/proxy/native/include
  ${JITC_XXHASH})

# Archives, so that a program takes what it uses (as jitc_executor_archive).
file(GLOB toolkit_sources CONFIGURE_DEPENDS ${toolkit}/*.cpp)
add_library(jitc_test_toolkit STATIC EXCLUDE_FROM_ALL ${toolkit_sources})
target_include_directories(jitc_test_toolkit PRIVATE ${jitc_test_folders})
target_link_libraries(jitc_test_toolkit PUBLIC jitc_options jitc_executor_archive Threads::Threads ${CMAKE_DL_LIBS})

# What is tested is optimized; tests themselves run once, so that optimizing them much takes longer than it saves.
target_compile_options(jitc_test_toolkit PRIVATE -O1)
jitc_common_headers(jitc_test_toolkit)

# jitc_test_program(NAME SOURCE...): all sources of the folder and the folders in it, and these. A folder library/ has
# what becomes a library of its own.
function(jitc_test_program name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/library/")
  add_executable(${name} ${sources} ${ARGN})
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${jitc_test_folders})
  target_link_libraries(${name} PRIVATE jitc_test_toolkit)
  target_compile_options(${name} PRIVATE -O1 -fPIC)  # as the toolkit, whose headers it takes
  jitc_common_headers(${name} FROM jitc_test_toolkit)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endfunction()

foreach(part device/conformance device/registry device/cuda/native device/cuda/nccl device/software/native bridge/native)
  add_subdirectory(${CMAKE_SOURCE_DIR}/tests/unit/${part} EXCLUDE_FROM_ALL)
endforeach()
