// See tally_document.h.
#include "tally_document.h"

namespace jitc {
using Json = nlohmann::json;

Json document(const Tally& tally) {
  Json memberships = Json::array(), exchanges = Json::array();
  for (const Membership& one : tally.memberships)
    memberships.push_back({{"communicator", one.communicator},
                           {"rank", one.rank},
                           {"left", one.left != 0},
                           {"collectives", one.collectives}});
  for (const Exchange& one : tally.exchanges)
    exchanges.push_back({{"communicator", one.communicator},
                         {"peer", one.peer},
                         {"received", one.received != 0},
                         {"count", one.count}});
  return {{"memberships", memberships}, {"exchanges", exchanges}};
}

Json document(const RankHistory& history) {
  Json kept = Json::array();
  for (const KeptTally& one : history.kept)
    kept.push_back({{"number", one.number}, {"tally", document(one.tally)}});
  return {{"kept", kept}, {"now", document(history.now)}, {"uneven", history.uneven}};
}

}  // namespace jitc
