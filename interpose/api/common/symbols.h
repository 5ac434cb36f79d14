// The driver's symbols by name; the table is generated_symbols.cpp.
#pragma once

namespace jitc::api {
struct Symbol {
  const char* name;
  void* address;
};
extern const Symbol kDriverSymbols[];
extern const unsigned kDriverSymbolCount;
}  // namespace jitc::api
