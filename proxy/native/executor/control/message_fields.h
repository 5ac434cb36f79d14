// Fields of the service's messages in JSON: what generated_messages.cpp makes its documents with.
//
// Promises: keys that a document lacks leave the field as it is; a value of another type is an Error that
// names its key. Numbers are plain, hashes are in hex, "" stands for no hash. Called by:
// generated_messages.cpp.
#pragma once
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/checksum.h"
#include "json_values.h"

namespace jitc::messages {

template <class T>
void read(const Json& json, const char* key, T& field) {
  field = get<T>(json, key, std::move(field));
}

inline void read(const Json& json, const char* key, Hash& field) {
  const auto text = get<std::string>(json, key);
  if (!text.empty() && !from_hex(text, field)) throw Error(std::string("\"") + key + "\" is no hash in hex");
}

template <class Message>
void read(const Json& json, const char* key, std::optional<Message>& field) {
  const auto found = json.find(key);
  if (found == json.end()) return;
  if (!found->is_object()) throw Error(std::string("the request's \"") + key + "\" is no message");
  fill(*found, field.emplace());
}

/// T: a number or a message.
template <class T>
void read(const Json& json, const char* key, std::vector<T>& field) {
  for (const Json& one : list_of(json, key)) {
    if constexpr (std::is_arithmetic_v<T>) {
      field.push_back(value<T>(one, key));
    } else {
      if (!one.is_object())
        throw Error(std::string("the request's \"") + key + "\" holds what is no message");
      fill(one, field.emplace_back());
    }
  }
}

template <class T>
void write(Json& json, const char* key, const T& field) {
  json[key] = field;
}

inline void write(Json& json, const char* key, const Hash& field) {
  json[key] = field == kNoHash ? std::string() : to_hex(field);
}

template <class Message>
void write(Json& json, const char* key, const std::optional<Message>& field) {
  if (field) json[key] = document(*field);
}

template <class Message>
void write(Json& json, const char* key, const std::vector<Message>& field) {
  Json& list = json[key] = Json::array();
  for (const Message& one : field) list.push_back(document(one));
}

inline void write(Json& json, const char* key, const std::vector<uint64_t>& field) { json[key] = field; }

}  // namespace jitc::messages
