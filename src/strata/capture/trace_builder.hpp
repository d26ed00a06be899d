// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/kernel_origins.hpp"
#include "strata/capture/steps.hpp"
#include "strata/capture/trace_tables.hpp"

#include <vector>

/// The functions of make_trace_tables, one per table, and their common input.
namespace strata {

struct TraceInput {
  const Recording& recording;
  const LaunchCalls& calls;
  const KernelOrigins& origins;
  std::vector<KernelClass> class_of_name;  ///< by NameId; only those of kernels are filled
};

void add_kernel_rows(const TraceInput& input, TraceTables& tables);
void add_kernel_counters(const TraceInput& input, TraceTables& tables);
void add_layer_rows(const TraceInput& input, TraceTables& tables);
void add_api_rows(const TraceInput& input, TraceTables& tables);
void add_copy_rows(const TraceInput& input, TraceTables& tables);
void add_memory_rows(const TraceInput& input, TraceTables& tables);
void add_collective_rows(const TraceInput& input, TraceTables& tables);
void add_device_rows(const TraceInput& input, TraceTables& tables);

/// forward, backward, backward_input, backward_weight or update: what the ranges say, else what
/// the kernel's name says, else forward.
std::string pass_of(const KernelOrigin& origin, const KernelClass& kernel_class);

std::vector<KernelClass> classes_of_names(const Recording& recording);

}  // namespace strata
