// See race_document.h.
#include "race_document.h"

#include <nlohmann/json.hpp>

namespace jitc {
namespace {
using Json = nlohmann::json;

Json document(const Race::Side& side) {
  return {{"op", side.name},       {"operator", side.operator_name}, {"place", side.place},
          {"stream", side.stream}, {"sequence", side.sequence},      {"writes", side.writes}};
}
}  // namespace

std::string race_document(uint64_t session, const Race& race) {
  return Json{{"session", session},
              {"first", document(race.first)},
              {"second", document(race.second)},
              {"address", race.address},
              {"bytes", race.bytes}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace jitc
