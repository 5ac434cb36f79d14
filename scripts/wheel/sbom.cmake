# jitc.cdx.json: the list of what is linked into the libraries, as CycloneDX has it, for the wheel's metadata (PEP 770).
# Included by the top CMakeLists.txt; the licences themselves are named in pyproject.toml.

# jitc_header_version(RESULT FILE PREFIX): 1.2.3 from the macros PREFIX_MAJOR, PREFIX_MINOR and a third.
function(jitc_header_version result file prefix)
  file(STRINGS ${file} lines REGEX "define ${prefix}_(MAJOR|MINOR|PATCH|RELEASE) +[0-9]+")
  string(REGEX MATCHALL "(MAJOR|MINOR|PATCH|RELEASE) +[0-9]+" numbers "${lines}")
  list(TRANSFORM numbers REPLACE "[A-Z]+ +" "")
  list(JOIN numbers "." version)
  set(${result} ${version} PARENT_SCOPE)
endfunction()

file(STRINGS ${CMAKE_SOURCE_DIR}/pyproject.toml line REGEX "^version = ")
string(REGEX MATCH "[0-9.]+" JITC_VERSION "${line}")
jitc_header_version(JITC_XXHASH_VERSION ${JITC_XXHASH}/xxhash.h XXH_VERSION)
file(GLOB_RECURSE headers ${JITC_JSON}/nlohmann/detail/abi_macros.hpp)
if(NOT headers)
  set(headers ${JITC_JSON}/nlohmann/json.hpp)
endif()
jitc_header_version(JITC_JSON_VERSION ${headers} NLOHMANN_JSON_VERSION)
get_directory_property(NGHTTP2_VERSION DIRECTORY ${CMAKE_SOURCE_DIR}/protos/transport DEFINITION NGHTTP2_VERSION)
set(AT "@")  # which the template cannot have beside a variable
configure_file(${CMAKE_CURRENT_LIST_DIR}/sbom.cdx.json.in ${CMAKE_BINARY_DIR}/jitc.cdx.json @ONLY)
