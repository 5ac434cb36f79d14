// Generated from protos/ops/options/table.py by `python -m jitc.interpose.generator`; do not edit.
#pragma once
#include <cstdint>
#include <string_view>

#include "jitc/option_text.h"

namespace jitc {

/// What the service's options say to its workers (worker.proto, AssignRequest.options).
struct WorkerOptions {
  uint64_t images_limit{};  // --images-limit
  double hang_seconds{};  // --hang-seconds
  uint64_t noise{};  // --noise
  bool check_order{};  // --check-order
  uint64_t shuffle{};  // --shuffle

  /// Takes the text of one. False: there is none of that name, or it is no value for it.
  bool set(std::string_view name, std::string_view text) {
    if (name == "images_limit") return read_option(text, &images_limit);
    if (name == "hang_seconds") return read_option(text, &hang_seconds);
    if (name == "noise") return read_option(text, &noise);
    if (name == "check_order") return read_option(text, &check_order);
    if (name == "shuffle") return read_option(text, &shuffle);
    return false;
  }
};

}  // namespace jitc
