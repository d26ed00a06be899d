// SPDX-License-Identifier: Apache-2.0
#include "strata/api/leave_one_out.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace strata {
namespace {

constexpr std::size_t fewest_networks = 3;
constexpr double share_inside = 0.9;

/// Half to twice as long, in steps of 4 %.
constexpr int host_steps = 16;
std::array<double, 2 * host_steps + 1> make_hosts() {
  std::array<double, 2 * host_steps + 1> hosts{1};
  for (int step = 1; step <= host_steps; ++step) {
    const double factor = std::exp2(static_cast<double>(step) / host_steps);
    hosts[static_cast<std::size_t>(2 * step - 1)] = factor;
    hosts[static_cast<std::size_t>(2 * step)] = 1 / factor;
  }
  return hosts;
}

/// How far the measured iteration is from the expected one, where 1 is the end of the interval.
double distance(const ValidatedRun& run, std::size_t host) {
  const ExpectedTotals& expected = run.by_host[host];
  const double off = std::log(run.measured.iteration_s / expected.time_s);
  const double end = std::log((off > 0 ? expected.high_s : expected.low_s) / expected.time_s);
  return end == 0 ? (off == 0 ? 0 : INFINITY) : off / end;
}

using RunsOf = std::vector<const ValidatedRun*>;

std::size_t best_host(const RunsOf& runs) {
  std::size_t best = 0;
  double least = INFINITY;
  for (std::size_t host = 0; host < tried_hosts().size(); ++host) {
    double sum = 0;
    for (const ValidatedRun* run : runs) {
      if (!run->is_gpu_bound())
        sum += std::fabs(std::log(run->by_host[host].time_s / run->measured.iteration_s));
    }
    if (sum >= least) continue;  // of equals, the one that is nearest to the calibration's
    least = sum;
    best = host;
  }
  return best;
}

/// The least factor of all intervals with which nine of ten iterations are inside.
double least_width(const RunsOf& runs, std::size_t host) {
  std::vector<double> distances;
  for (const ValidatedRun* run : runs) distances.push_back(distance(*run, host));
  std::sort(distances.begin(), distances.end());
  const auto needed = static_cast<std::size_t>(
      std::ceil(share_inside * static_cast<double>(distances.size()) - 1e-9));
  return distances[std::max<std::size_t>(needed, 1) - 1];
}

}  // namespace

std::span<const double> tried_hosts() {
  static const auto hosts = make_hosts();
  return hosts;
}

std::string network_of(const MeasuredRun& run) { return run.model.substr(0, run.model.find(':')); }

std::optional<LeftOutSummary> leave_one_network_out(const std::vector<ValidatedRun>& runs) {
  std::vector<std::string> networks;
  for (const ValidatedRun& run : runs) {
    const std::string network = network_of(run.measured);
    if (run.left_out.empty() &&
        std::find(networks.begin(), networks.end(), network) == networks.end())
      networks.push_back(network);
  }
  if (networks.size() < fewest_networks) return std::nullopt;
  LeftOutSummary summary;
  std::vector<double> ratios;
  for (const std::string& network : networks) {
    RunsOf own, others;
    for (const ValidatedRun& run : runs) {
      if (run.left_out.empty())
        (network_of(run.measured) == network ? own : others).push_back(&run);
    }
    const std::size_t host = best_host(others);
    const double width = least_width(others, host);
    summary.fits.push_back({network, tried_hosts()[host], width});
    for (const ValidatedRun* run : own) {
      ++summary.runs;
      summary.inside += distance(*run, host) <= width ? 1 : 0;
      if (!run->is_gpu_bound())
        ratios.push_back(run->by_host[host].time_s / run->measured.iteration_s);
    }
  }
  summary.host_bound = errors_of(ratios);
  return summary;
}

}  // namespace strata
