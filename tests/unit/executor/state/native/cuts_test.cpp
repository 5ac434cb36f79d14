// Finds the newest cut of ranks by the rule of the workers, for tests/unit/executor/state/test_cuts.py.
//
// Reads jobs as numbers: how many ranks; for each how many words, and the words (RankHistory::pack). Writes a
// line for each job: the number of each rank's boundary, or "none".
#include <iostream>

#include "base/tally.h"

int main() {
  size_t ranks = 0;
  while (std::cin >> ranks) {
    std::vector<jitc::RankHistory> histories;
    for (size_t i = 0; i < ranks; ++i) {
      size_t count = 0;
      std::cin >> count;
      std::vector<uint64_t> words(count);
      for (uint64_t& word : words) std::cin >> word;
      const auto history = jitc::RankHistory::unpack(words);
      if (!history || history->pack() != words) return 1;
      for (size_t less = 0; less < count; ++less)  // what is cut short is none
        if (jitc::RankHistory::unpack(std::span(words).first(less))) return 2;
      histories.push_back(*history);
    }
    const auto cut = jitc::newest_cut(histories);
    if (!cut) std::cout << "none";
    for (size_t i = 0; cut && i < ranks; ++i)
      std::cout << (i ? " " : "") << histories[i].kept[(*cut)[i]].number;
    std::cout << "\n";
  }
  return 0;
}
