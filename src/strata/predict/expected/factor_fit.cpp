// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/expected/factor_fit.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <set>

namespace strata {
namespace {

constexpr double prior_sigma = 0.5;  // of the logarithm of a factor
constexpr double scatter = 0.08;     // of an iteration about a sum that is right
constexpr double smooth = 0.05;      // |x| as √(x² + smooth²)
constexpr double longest_move = 0.3;
constexpr int moves = 60;
constexpr std::size_t fewest_networks = 5;
constexpr double share_inside = 0.9;

using Runs = std::vector<const NetworkRun*>;

double expected_s(const NetworkRun& run, std::span<const double> logarithms) {
  double sum = run.rest_s;
  for (std::size_t g = 0; g < logarithms.size(); ++g)
    sum += run.busy_s[g] * std::exp(logarithms[g]);
  return sum;
}

/// Solves A x = b of a positive definite A, row by row, by Cholesky's decomposition in place.
std::vector<double> solved(std::vector<double> a, std::vector<double> b) {
  const std::size_t n = b.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k <= i; ++k) {
      double sum = a[i * n + k];
      for (std::size_t j = 0; j < k; ++j) sum -= a[i * n + j] * a[k * n + j];
      a[i * n + k] = i == k ? std::sqrt(sum) : sum / a[k * n + k];
    }
    for (std::size_t j = 0; j < i; ++j) b[i] -= a[i * n + j] * b[j];
    b[i] /= a[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t j = i + 1; j < n; ++j) b[i] -= a[j * n + i] * b[j];
    b[i] /= a[i * n + i];
  }
  return b;
}

/// One step of Gauss and Newton with the weights that make squares of absolute values.
std::vector<double> move_of(const Runs& runs, std::span<const double> at) {
  const std::size_t n = at.size();
  std::vector<double> a(n * n, 0), b(n);
  for (std::size_t g = 0; g < n; ++g) {
    a[g * n + g] = 1 / (prior_sigma * prior_sigma);
    b[g] = -at[g] / (prior_sigma * prior_sigma);
  }
  std::vector<double> slope(n);
  for (const NetworkRun* run : runs) {
    const double time_s = expected_s(*run, at);
    const double off = std::log(run->measured_s / time_s);
    const double weight = 1 / (std::hypot(off, smooth) * scatter);
    for (std::size_t g = 0; g < n; ++g) slope[g] = run->busy_s[g] * std::exp(at[g]) / time_s;
    for (std::size_t g = 0; g < n; ++g) {
      b[g] += weight * slope[g] * off;
      for (std::size_t k = 0; k < n; ++k) a[g * n + k] += weight * slope[g] * slope[k];
    }
  }
  return solved(std::move(a), std::move(b));
}

std::vector<double> logarithms_for(const Runs& runs, std::size_t groups) {
  std::vector<double> at(groups, 0);
  for (int i = 0; i < moves; ++i) {
    const std::vector<double> move = move_of(runs, at);
    for (std::size_t g = 0; g < groups; ++g)
      at[g] += std::clamp(move[g], -longest_move, longest_move);
  }
  return at;
}

std::vector<double> logarithms_without(const Runs& all, const std::string& network) {
  Runs others;
  std::copy_if(all.begin(), all.end(), std::back_inserter(others),
               [&](const NetworkRun* run) { return run->network != network; });
  return logarithms_for(others, all.front()->busy_s.size());
}

Runs pointers_to(std::span<const NetworkRun> runs) {
  Runs all;
  for (const NetworkRun& run : runs) all.push_back(&run);
  return all;
}

struct LeftOut {
  double ratio = 1;   ///< expected over measured
  double needed = 0;  ///< widening that takes the measured iteration in
};

LeftOut left_out(const NetworkRun& run, std::span<const double> logarithms) {
  LeftOut one;
  one.ratio = expected_s(run, logarithms) / run.measured_s;
  const double off = -std::log(one.ratio), end = off > 0 ? run.to_high : run.to_low;
  one.needed = std::sqrt(std::max(0.0, off * off - end * end));
  return one;
}

}  // namespace

FactorFit fit_factors(std::span<const NetworkRun> runs) {
  FactorFit fit;
  std::set<std::string> networks;
  for (const NetworkRun& run : runs) networks.insert(run.network);
  fit.networks = networks.size();
  if (networks.size() < fewest_networks) return fit;
  const std::size_t groups = runs.front().busy_s.size();
  const Runs all = pointers_to(runs);
  for (const double logarithm : logarithms_for(all, groups))
    fit.factors.push_back(std::exp(logarithm));
  std::vector<double> errors, needed;
  for (const std::string& network : networks) {
    const std::vector<double> at = logarithms_without(all, network);
    for (const NetworkRun* run : all) {
      if (run->network != network) continue;
      const LeftOut one = left_out(*run, at);
      errors.push_back(std::fabs(one.ratio - 1));
      needed.push_back(one.needed);
      fit.bias += (one.ratio - 1) / static_cast<double>(all.size());
    }
  }
  fit.error =
      std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(errors.size());
  std::sort(errors.begin(), errors.end());
  fit.median = errors[errors.size() / 2];
  std::sort(needed.begin(), needed.end());
  const auto inside = static_cast<std::size_t>(
      std::ceil(share_inside * static_cast<double>(needed.size() + 1)));  // split conformal
  fit.widening = needed[std::min(inside, needed.size()) - 1];
  return fit;
}

std::vector<double> factors_without(std::span<const NetworkRun> runs, const std::string& network) {
  std::vector<double> factors;
  if (runs.empty()) return factors;
  for (const double logarithm : logarithms_without(pointers_to(runs), network))
    factors.push_back(std::exp(logarithm));
  return factors;
}

}  // namespace strata
