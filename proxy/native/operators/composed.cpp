#include "operators/operator.h"

namespace jitc::operators {

Composed find_composed(std::string_view) { return nullptr; }

}  // namespace jitc::operators
