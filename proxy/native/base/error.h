// The exception of the executor: a text for the user.
//
// Promise: it never leaves the library (api.cpp catches it).
#pragma once
#include <stdexcept>
#include <string>

namespace jitc {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace jitc
