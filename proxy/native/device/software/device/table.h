// How each op is placed: the only list of ops in this back end. Called by: Device::enqueue.
#pragma once
#include "device.h"

namespace jitc::software {

struct Table {
  ops::OpId id;
  void (Device::*place)(const ops::OpHeader&);
  /// nullptr: this device does not execute the op.
  static const Table* find(ops::OpId id);
};

}  // namespace jitc::software
