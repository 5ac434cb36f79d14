// Values of a control request, read from its JSON document.
//
// Promises: a value of another type, or a number that its type cannot hold, is an Error that names the
// member; nothing else is thrown. Called by: message_fields.h, device_options.cpp, Executor.
#pragma once
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>

#include "base/error.h"

namespace jitc {
using Json = nlohmann::json;

template <class T>
bool fits(const Json& json) {
  if constexpr (std::is_same_v<T, bool>)
    return json.is_boolean();
  else if constexpr (std::is_floating_point_v<T>)
    return json.is_number();
  else if constexpr (std::is_unsigned_v<T>)
    return json.is_number_unsigned() && json.get<uint64_t>() <= std::numeric_limits<T>::max();
  else if constexpr (std::is_integral_v<T>)
    return json.is_number_integer() && json.get<int64_t>() >= std::numeric_limits<T>::min() &&
           json.get<int64_t>() <= std::numeric_limits<T>::max();
  else
    return json.is_string();
}

/// Returns a value. key: that it is found by.
template <class T>
T value(const Json& json, const char* key) {
  if (!fits<T>(json)) throw Error(std::string("the request's \"") + key + "\" has a wrong type");
  return json.get<T>();
}

/// Returns the member of that name, or `absent` if there is none.
template <class T>
T get(const Json& json, const char* key, T absent = T{}) {
  const auto found = json.find(key);
  return found == json.end() ? std::move(absent) : value<T>(*found, key);
}

/// Returns the list of that name, an empty one if there is none.
inline const Json& list_of(const Json& json, const char* key) {
  static const Json kNone = Json::array();
  const auto found = json.find(key);
  if (found == json.end()) return kNone;
  if (!found->is_array()) throw Error(std::string("the request's \"") + key + "\" is no list");
  return *found;
}

/// Parses a whole document. Throws Error if it is no object.
inline Json parse_object(const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) throw Error("the request is no JSON object");
  return json;
}

/// Returns a document as text; bytes that are no UTF-8 are replaced.
inline std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace jitc
