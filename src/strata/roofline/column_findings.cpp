// SPDX-License-Identifier: Apache-2.0
#include "strata/roofline/column_findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace strata {
namespace {

constexpr double noticeable = 0.01;    // share of the products below which nothing is said
constexpr double hardly_grows = 1.25;  // fp32 has twice the bytes; a little may be something else
constexpr double large_share = 0.05;   // of a profile's bytes: layers that matter
constexpr std::size_t most_named = 3;  // layers in one sentence

bool is_short(DType dtype) { return is_floating(dtype) && bytes_per_element(dtype) < 4; }

std::string percent_text(double part, double whole) {
  return fmt::format("{:.0f} %", 100 * part / whole);
}

void find_idle_units(const NamedProfile& named, const Machine& machine,
                     std::vector<std::string>& found) {
  double all = 0;
  std::map<DType, double> on_lanes;
  std::map<DType, double> wider;
  const auto own = dtype_named(named.profile->subject.dtype);
  for (const ProfileRow& row : named.profile->rows) {
    if (!is_dense(row)) continue;
    for (const TypedFlop& part : row.arithmetic) {
      const auto flop = static_cast<double>(part.flop);
      all += flop;
      const bool has_units = find_peak(machine, part.dtype, ComputeUnit::matrix) != nullptr;
      if (!part.is_matrix && has_units) on_lanes[part.dtype] += flop;
      if (own && is_short(*own) && part.dtype == DType::fp32) wider[part.dtype] += flop;
    }
  }
  for (const auto& [dtype, flop] : on_lanes) {
    if (flop < noticeable * all) continue;
    found.push_back(fmt::format(
        "{}: {} of the FLOP of convolutions and products ran on vector units in {}, for which "
        "{} has matrix units",
        named.name, percent_text(flop, all), name_of(dtype), machine.name));
  }
  for (const auto& [dtype, flop] : wider) {
    if (flop < noticeable * all) continue;
    found.push_back(fmt::format(
        "{}: {} of the FLOP of convolutions and products ran in {} although the profile is {}: "
        "another algorithm, or a conversion",
        named.name, percent_text(flop, all), name_of(dtype), named.profile->subject.dtype));
  }
}

using BytesOf = std::map<std::pair<std::string, std::string>, double>;  // by layer and pass

BytesOf bytes_of(const Profile& profile) {
  BytesOf bytes;
  for (const ProfileRow& row : profile.rows)
    bytes[{row.layer, row.pass}] += static_cast<double>(row.totals.traffic_bytes());
  return bytes;
}

void find_conversions(const NamedProfile& shorter, const NamedProfile& longer,
                      std::vector<std::string>& found) {
  const BytesOf before = bytes_of(*shorter.profile);
  const BytesOf after = bytes_of(*longer.profile);
  double all = 0;
  for (const auto& [key, bytes] : before) all += bytes;
  std::vector<std::string> names;
  for (const auto& [key, bytes] : before) {
    const auto same = after.find(key);
    if (same == after.end() || bytes < large_share * all || bytes == 0) continue;
    const double growth = same->second / bytes;
    if (growth < hardly_grows)
      names.push_back(fmt::format("{} {} {:.2f}×", key.first, key.second, growth));
  }
  if (names.empty()) return;
  const std::size_t more = names.size() - std::min(names.size(), most_named);
  names.resize(std::min(names.size(), most_named));
  found.push_back(
      fmt::format("bytes hardly grow from {} to {}: {}{}; {} converts what it reads or writes",
                  shorter.name, longer.name, fmt::join(names, ", "),
                  more > 0 ? fmt::format(" and {} more", more) : "", shorter.name));
}

}  // namespace

std::vector<std::string> column_findings(std::span<const NamedProfile> profiles,
                                         const Machine& machine) {
  std::vector<std::string> found;
  for (const NamedProfile& named : profiles) find_idle_units(named, machine, found);
  for (const NamedProfile& shorter : profiles) {
    const auto dtype = dtype_named(shorter.profile->subject.dtype);
    if (!dtype || !is_short(*dtype) || !shorter.profile->columns.has_bytes) continue;
    for (const NamedProfile& longer : profiles) {
      const ProfileSubject& other = longer.profile->subject;
      const bool is_pair = other.dtype == "fp32" && longer.profile->columns.has_bytes &&
                           !other.network.empty() &&
                           other.network == shorter.profile->subject.network;
      if (is_pair) find_conversions(shorter, longer, found);
    }
  }
  return found;
}

}  // namespace strata
