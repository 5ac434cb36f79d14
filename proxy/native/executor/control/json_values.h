// Values of a control request, read from its JSON document.
//
// Promises: a value of another type is an Error that names the member; nothing else is thrown.
// Called by: json_codec.cpp, device_options.cpp.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <vector>

#include "base/checksum.h"
#include "base/error.h"
#include "base/hash.h"

namespace jitc {
using Json = nlohmann::json;

/// Returns the member of that name, or `absent` if there is none.
template <class T>
T get(const Json& json, const char* key, T absent = T{}) {
  const auto found = json.find(key);
  if (found == json.end()) return absent;
  bool fits;
  if constexpr (std::is_same_v<T, bool>)
    fits = found->is_boolean();
  else if constexpr (std::is_floating_point_v<T>)
    fits = found->is_number();
  else if constexpr (std::is_integral_v<T>)
    fits = found->is_number_unsigned() || (std::is_signed_v<T> && found->is_number_integer());
  else
    fits = found->is_string();
  if (!fits) throw Error(std::string("the request's \"") + key + "\" has a wrong type");
  return found->template get<T>();
}

/// Returns all entries of the list of that name, each read by item().
template <class Item>
auto get_all(const Json& json, const char* key, Item item) {
  std::vector<decltype(item(json))> list;
  const auto found = json.find(key);
  if (found == json.end()) return list;
  if (!found->is_array()) throw Error(std::string("the request's \"") + key + "\" is no list");
  for (const Json& one : *found) list.push_back(item(one));
  return list;
}

inline uint64_t number(const Json& json) {
  if (!json.is_number_unsigned()) throw Error("a list of the request holds something that is no number");
  return json.get<uint64_t>();
}

/// Reads 32 hexadecimal digits; no hash if the member is missing or empty.
inline Hash hash_of(const Json& json, const char* key) {
  Hash hash{};
  const auto text = get<std::string>(json, key);
  if (!text.empty() && !from_hex(text, hash)) throw Error(std::string("\"") + key + "\" is no hash in hex");
  return hash;
}

/// Parses a whole document. Throws Error if it is no object.
inline Json parse_object(const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) throw Error("the request is no JSON object");
  return json;
}

}  // namespace jitc
