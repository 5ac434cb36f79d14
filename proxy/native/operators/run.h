// Runs operator calls and queries.
//
// Called by: library.cpp.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "jitc/operators_api.h"

namespace jitc::operators {

void set_threads(int threads);
/// Applies set_threads() to the calling thread: intra-operator threads are a property of it.
void use_threads();

void run_call(const jitc_operator_host& host, std::span<const uint8_t> bytes);
/// Runs a query and writes the reply (jitc/operator_call.h).
void run_query(const jitc_operator_host& host, std::span<const uint8_t> bytes, std::vector<uint8_t>& reply);

/// Runs a matmul op (struct ops::Matmul).
void run_matmul(const jitc_operator_host& host, std::span<const uint8_t> bytes);

}  // namespace jitc::operators
