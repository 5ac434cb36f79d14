# What of the native build pip puts into a wheel that it builds from sources, and where. Native parts are not among it:
# each is built at its first use. make.py makes the wheel that is published.
install(TARGETS jitc_interpose jitc_nvml jitc_transport LIBRARY DESTINATION jitc/interpose/lib)
install(TARGETS jitc_executor jitc_boundaries LIBRARY DESTINATION jitc/proxy/lib)
install(FILES ${CMAKE_BINARY_DIR}/jitc.cdx.json DESTINATION ${SKBUILD_METADATA_DIR}/sboms)

# gRPC's stubs: a source distribution has them among the sources, else the protoc of this build makes them.
if(NOT EXISTS ${CMAKE_SOURCE_DIR}/PKG-INFO)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  file(GLOB protos CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/protos/jitc/*/*.proto)
  set(stubs ${CMAKE_BINARY_DIR}/stubs)
  add_custom_command(OUTPUT ${stubs}/made
    COMMAND ${CMAKE_COMMAND} -E make_directory ${stubs}
    COMMAND ${Python3_EXECUTABLE} -m grpc_tools.protoc -I${CMAKE_SOURCE_DIR}/protos --python_out=${stubs}
      --pyi_out=${stubs} --grpc_python_out=${stubs} ${protos}
    COMMAND ${CMAKE_COMMAND} -E touch ${stubs}/made
    DEPENDS ${protos})
  add_custom_target(jitc_stubs DEPENDS ${stubs}/made)
  add_dependencies(shipped jitc_stubs)
  install(DIRECTORY ${stubs}/jitc/ DESTINATION jitc)
endif()
