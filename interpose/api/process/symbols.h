// Symbols of the driver by name, and the libraries that we replace; the tables are in generated_symbols.cpp.
// Used by entry_points.cpp and c_library.cpp.
#pragma once

namespace jitc::api {
struct Symbol {
  const char* name;
  void* address;
};
extern const Symbol kDriverSymbols[];
extern const unsigned kDriverSymbolCount;
/// Starts of their file names: "libnccl".
extern const char* const kServedLibraries[];
extern const unsigned kServedLibraryCount;
}  // namespace jitc::api
