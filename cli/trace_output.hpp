// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/report/provenance.hpp"
#include "strata/report/trace_report.hpp"

#include <span>
#include <string>

/// What `strata trace` and `strata capture` write of recordings, beside tables.
namespace strata {

/// A timeline may be larger than memory: it is written as it is made. - is standard output.
void write_trace_timeline(const std::string& path, std::span<const Recording> recordings);

/// A page with a part for every process that launched kernels. Errors (input): none did.
std::string trace_page(std::span<const TraceReport> reports, const Provenance& provenance);

}  // namespace strata
