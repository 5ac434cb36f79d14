// JSON of what a rank's communicators have done (worker.proto, Tally and History).
//
// Called by: json_codec.cpp.
#pragma once
#include <nlohmann/json.hpp>

#include "base/tally.h"

namespace jitc {

nlohmann::json document(const Tally& tally);
nlohmann::json document(const RankHistory& history);

}  // namespace jitc
