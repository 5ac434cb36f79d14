# What of the native build goes into the wheel, and where; included where scikit-build-core asks for it.
install(TARGETS jitc_interpose jitc_nvml jitc_transport LIBRARY DESTINATION jitc/interpose/lib)
install(TARGETS jitc_executor jitc_boundaries LIBRARY DESTINATION jitc/proxy/lib)

# Native parts for releases of PyTorch, which have been built before (releases.py); without them each is built at its
# first use.
set(JITC_TORCH_PARTS "" CACHE PATH "Folder of native parts for releases of PyTorch")
if(JITC_TORCH_PARTS)
  install(DIRECTORY ${JITC_TORCH_PARTS}/ DESTINATION jitc/client_shim/lib/parts)
endif()

# gRPC's stubs: those that are given (make.py), those of a source distribution, which lie among the sources, or else
# what the protoc of this build makes.
set(JITC_STUBS "" CACHE PATH "Folder of gRPC's stubs")
if(JITC_STUBS)
  install(DIRECTORY ${JITC_STUBS}/jitc/v1/ DESTINATION jitc/v1)
elseif(NOT EXISTS ${CMAKE_SOURCE_DIR}/PKG-INFO)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  file(GLOB protos CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/protos/jitc/v1/*.proto)
  set(stubs ${CMAKE_BINARY_DIR}/stubs)
  add_custom_command(OUTPUT ${stubs}/made
    COMMAND ${CMAKE_COMMAND} -E make_directory ${stubs}
    COMMAND ${Python3_EXECUTABLE} -m grpc_tools.protoc -I${CMAKE_SOURCE_DIR}/protos --python_out=${stubs}
      --pyi_out=${stubs} --grpc_python_out=${stubs} ${protos}
    COMMAND ${CMAKE_COMMAND} -E touch ${stubs}/made
    DEPENDS ${protos})
  add_custom_target(jitc_stubs DEPENDS ${stubs}/made)
  add_dependencies(shipped jitc_stubs)
  install(DIRECTORY ${stubs}/jitc/v1/ DESTINATION jitc/v1)
endif()
