# jitc_common_headers(TARGET [HEADER...]): what most files of the target include is read once for all of them, and not for
# each: that is half of the time of a build. Used by every part.
#
# Files include what they use all the same: builds with sanitizers read it one by one, and so do those with a compiler
# cache, which could not keep the results.
function(jitc_common_headers target)
  if(JITC_SANITIZE OR CMAKE_CXX_COMPILER_LAUNCHER)
    return()
  endif()
  target_precompile_headers(${target} PRIVATE <algorithm> <array> <atomic> <chrono> <cstdint> <cstring> <functional> <map>
    <memory> <mutex> <optional> <span> <string> <string_view> <thread> <unordered_map> <utility> <vector> ${ARGN})
  # GCC 12 takes its own std::string for a fault where it stands in such a file; the other builds keep these warnings.
  target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread)
endfunction()
