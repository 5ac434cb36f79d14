// Protobuf's wire format as far as jitc's messages need it, so that the training process loads no
// libprotobuf.
//
// Called by: service_rpc.cpp, worker_connection.cpp. Promise: reading never runs over the end, skips unknown
// fields, and reports whether the message was well formed.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace jitc::session::wire {

/// Builder of a message, field by field; default values are left out, as protobuf does.
class Writer {
 public:
  void number(uint32_t field, uint64_t value);
  void signed_number(uint32_t field, int64_t value) { number(field, static_cast<uint64_t>(value)); }
  void text(uint32_t field, std::string_view value);
  /// Writes an entry of a map of texts.
  void entry(uint32_t field, std::string_view key, std::string_view value);
  const std::string& bytes() const { return out_; }

 private:
  void varint(uint64_t value);
  std::string out_;
};

/// Writes a varint; returns its size (at most 10).
size_t put_varint(uint8_t* out, uint64_t value);

/// Iterator over the fields of a message.
class Reader {
 public:
  explicit Reader(std::string_view message) : rest_(message) {}
  /// Moves to the next field; false at the end or when the message is damaged.
  bool next();
  bool good() const { return good_; }
  uint32_t field() const { return field_; }
  uint64_t number() const { return number_; }        // varint and fixed fields
  std::string_view bytes() const { return bytes_; }  // length-delimited fields

 private:
  bool varint(uint64_t* value);
  bool fixed(size_t size);
  bool delimited();

  std::string_view rest_, bytes_;
  uint32_t field_ = 0;
  uint64_t number_ = 0;
  bool good_ = true;
};

}  // namespace jitc::session::wire
