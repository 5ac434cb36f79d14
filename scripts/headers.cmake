# jitc_common_headers(TARGET [HEADER...] [FROM OTHER]): what most files of the target include, and these headers, are
# read once for all of them; read for each, they are half of the time of a build. FROM: what another target has read is
# taken, whose options are the same. Used by every part.
#
# Files include what they use all the same: builds with sanitizers read it one by one, and so do those with a compiler
# cache, which could not keep the results.
function(jitc_common_headers target)
  if(JITC_SANITIZE OR CMAKE_CXX_COMPILER_LAUNCHER)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 common "" "FROM" "")
  if(common_FROM)
    target_precompile_headers(${target} REUSE_FROM ${common_FROM})
  else()
    target_precompile_headers(${target} PRIVATE <algorithm> <array> <atomic> <chrono> <cstdint> <cstring> <functional>
      <map> <memory> <mutex> <optional> <span> <string> <string_view> <thread> <unordered_map> <utility> <vector>
      ${common_UNPARSED_ARGUMENTS})
  endif()
  # GCC 12 warns of its own std::string where that comes from headers read before; the other builds keep the warning.
  target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overflow)
endfunction()
