// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/point_result.hpp"

#include "strata/base/error.hpp"

#include <cstring>
#include <optional>
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
  std::uint8_t is_left_out;  // no bool: a file may hold any byte
  PointExpected expected;
  std::uint8_t has_limit;
  PointParallel parallel;
  std::uint64_t strategy_bytes;
};
static_assert(std::is_trivially_copyable_v<PlainResult>);

/// Takes the first result off the front; nothing when it is cut off.
std::optional<PointResult> take_unpacked(std::string_view& bytes) {
  PlainResult plain;
  if (bytes.size() < sizeof plain) return std::nullopt;
  std::memcpy(&plain, bytes.data(), sizeof plain);
  bytes.remove_prefix(sizeof plain);
  if (bytes.size() < plain.error_bytes || bytes.size() - plain.error_bytes < plain.strategy_bytes)
    return std::nullopt;
  PointResult result{plain.totals,
                     plain.hardware,
                     plain.samples,
                     plain.footprint_bytes,
                     std::string(bytes.substr(0, plain.error_bytes)),
                     plain.is_left_out != 0,
                     plain.expected,
                     plain.has_limit != 0,
                     plain.parallel,
                     std::string(bytes.substr(plain.error_bytes, plain.strategy_bytes))};
  bytes.remove_prefix(plain.error_bytes + plain.strategy_bytes);
  return result;
}

}  // namespace

std::size_t packed_bytes() { return sizeof(PlainResult); }

std::string packed(std::span<const PointResult> results) {
  std::string bytes;
  for (const PointResult& result : results) {
    const PlainResult plain{result.totals,          result.hardware,     result.samples,
                            result.footprint_bytes, result.error.size(), result.is_left_out,
                            result.expected,        result.has_limit,    result.parallel,
                            result.strategy.size()};
    bytes.append(reinterpret_cast<const char*>(&plain), sizeof plain);
    bytes += result.error;
    bytes += result.strategy;
  }
  return bytes;
}

std::vector<PointResult> unpacked(std::string_view bytes) {
  std::vector<PointResult> results;
  while (!bytes.empty()) {
    std::optional<PointResult> result = take_unpacked(bytes);
    STRATA_CHECK(result.has_value(), "a message between ranks is cut off");
    results.push_back(*std::move(result));
  }
  return results;
}

std::optional<PointResult> unpacked_one(std::string_view bytes) {
  std::optional<PointResult> result = take_unpacked(bytes);
  return bytes.empty() ? std::move(result) : std::nullopt;
}

}  // namespace strata
