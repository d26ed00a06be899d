// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/point_result.hpp"

#include "strata/base/error.hpp"

#include <cstring>
#include <type_traits>

namespace strata {
namespace {

/// The part of a result that is plain numbers.
struct PlainResult {
  PointTotals totals;
  Hardware hardware;
  std::int64_t samples;
  std::int64_t footprint_bytes;
  std::uint64_t error_bytes;
  bool is_left_out;
  PointExpected expected;
  bool has_limit;
};
static_assert(std::is_trivially_copyable_v<PlainResult>);

}  // namespace

std::size_t packed_bytes() { return sizeof(PlainResult); }

std::string packed(std::span<const PointResult> results) {
  std::string bytes;
  for (const PointResult& result : results) {
    const PlainResult plain{result.totals,          result.hardware,     result.samples,
                            result.footprint_bytes, result.error.size(), result.is_left_out,
                            result.expected,        result.has_limit};
    bytes.append(reinterpret_cast<const char*>(&plain), sizeof plain);
    bytes += result.error;
  }
  return bytes;
}

std::vector<PointResult> unpacked(std::string_view bytes) {
  std::vector<PointResult> results;
  while (!bytes.empty()) {
    PlainResult plain;
    STRATA_CHECK(bytes.size() >= sizeof plain, "a message between ranks is cut off");
    std::memcpy(&plain, bytes.data(), sizeof plain);
    bytes.remove_prefix(sizeof plain);
    STRATA_CHECK(bytes.size() >= plain.error_bytes, "a message between ranks is cut off");
    results.push_back({plain.totals, plain.hardware, plain.samples, plain.footprint_bytes,
                       std::string(bytes.substr(0, plain.error_bytes)), plain.is_left_out,
                       plain.expected, plain.has_limit});
    bytes.remove_prefix(plain.error_bytes);
  }
  return results;
}

}  // namespace strata
