// The driver's symbols by name; the table is in generated_symbols.cpp. Used by entry_points.cpp.
#pragma once

namespace jitc::api {
struct Symbol {
  const char* name;
  void* address;
};
extern const Symbol kDriverSymbols[];
extern const unsigned kDriverSymbolCount;
}  // namespace jitc::api
