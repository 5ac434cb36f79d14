// Values of options as the service writes them for its workers: numbers in digits, "1" or "0" for a flag.
//
// Called by: generated_options.h. Promise: a text that is no value, or has anything behind it, is refused.
#pragma once
#include <charconv>
#include <string_view>
#include <system_error>

namespace jitc {

template <class Value>
bool read_option(std::string_view text, Value* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

inline bool read_option(std::string_view text, bool* value) {
  *value = text == "1";
  return text == "1" || text == "0";
}

}  // namespace jitc
