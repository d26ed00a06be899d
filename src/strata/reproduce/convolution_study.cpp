// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/convolution_study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace strata {
namespace {

/// cuDNN calls its matrix products for the gradients algo_0, algo_1 and algo_3.
bool is_vendor_product(const ConvStrategyName& strategy) {
  const std::size_t colon = strategy.name.find(':');
  if (!strategy.is_vendor || colon == std::string::npos) return false;
  const std::string_view algorithm = std::string_view(strategy.name).substr(colon + 1);
  return algorithm.find("gemm") != algorithm.npos || algorithm.starts_with("algo_");
}

std::vector<ConvContender> contenders_of(const ConvResults& results) {
  std::vector<ConvContender> contenders;
  std::optional<std::size_t> products;
  for (const ConvStrategyName& strategy : results.strategies) {
    if (is_any_engine(strategy)) continue;
    if (!is_vendor_product(strategy)) {
      contenders.push_back({.name = strategy.name,
                            .strategies = {strategy.name},
                            .is_vendor = strategy.is_vendor,
                            .is_default = is_vendor_default(strategy)});
      continue;
    }
    if (!products) {
      products = contenders.size();
      const std::string library = strategy.name.substr(0, strategy.name.find(':'));
      contenders.push_back({.name = library + " GEMM", .strategies = {}, .is_vendor = true});
    }
    contenders[*products].strategies.push_back(strategy.name);
  }
  return contenders;
}

}  // namespace

bool is_any_engine(const ConvStrategyName& strategy) {
  return strategy.name.find(":graph") != std::string::npos;
}

bool ConvContender::is_fft() const { return name.find("fft") != std::string::npos; }

double ConvTrained::time_s() const {
  double sum = 0;
  for (const ConvCell* cell : cells) sum += cell->time_s();
  return sum;
}

std::int64_t ConvTrained::peak_bytes() const {
  std::int64_t most = 0;
  for (const ConvCell* cell : cells) most = std::max(most, cell->peak_bytes());
  return most;
}

std::int64_t ConvTrained::tensor_bytes() const { return cells.front()->tensor_bytes; }

double ConvTrained::role_s(std::optional<KernelRole> role) const {
  double sum = 0;
  for (const ConvCell* cell : cells) {
    for (const RoleTime& each : cell->roles) {
      if (!role || each.role == *role) sum += each.seconds;
    }
  }
  return sum;
}

ConvStudy::ConvStudy(const ConvResults& results)
    : results_(results), index_(results), contenders_(contenders_of(results)) {
  choose_fft();
}

void ConvStudy::choose_fft() {
  std::size_t most_points = 0;
  double least_s = 0;
  for (std::size_t i = 0; i < contenders_.size(); ++i) {
    if (!contenders_[i].is_fft()) continue;
    std::size_t count = 0;
    double sum_s = 0;
    for (const ConvPoint* point : points({"b", "i", "f", "k"})) {
      const auto trained_here = trained(*point, contenders_[i]);
      if (!trained_here) continue;
      ++count;
      sum_s += trained_here->time_s();
    }
    if (count == 0 || count < most_points || (count == most_points && sum_s >= least_s)) continue;
    most_points = count;
    least_s = sum_s;
    fft_ = i;
  }
}

std::vector<const ConvPoint*> ConvStudy::points(
    std::initializer_list<std::string_view> series) const {
  std::vector<const ConvPoint*> list;
  for (const std::string_view name : series) {
    for (const ConvSeries& each : results_.series) {
      if (each.name != name) continue;
      for (const ConvPoint& point : each.points)
        if (!refusal_of(point.shape)) list.push_back(&point);
    }
  }
  return list;
}

const ConvCell* ConvStudy::measured(const ConvPoint& point, ConvPass pass,
                                    std::string_view strategy) const {
  const ConvCell* cell = index_.find(point.shape, pass, strategy);
  return cell != nullptr && cell->is_measured() && cell->time_s() > 0 ? cell : nullptr;
}

std::optional<ConvTrained> ConvStudy::trained(const ConvPoint& point,
                                              const ConvContender& who) const {
  ConvTrained found;
  for (const ConvPass pass : results_.passes) {
    const ConvCell* fastest = nullptr;
    for (const std::string& strategy : who.strategies) {
      const ConvCell* cell = measured(point, pass, strategy);
      if (cell != nullptr && (fastest == nullptr || cell->time_s() < fastest->time_s()))
        fastest = cell;
    }
    if (fastest == nullptr) return std::nullopt;
    found.cells.push_back(fastest);
  }
  return found.cells.empty() ? std::nullopt : std::optional(std::move(found));
}

const ConvContender* ConvStudy::named(std::string_view name) const {
  const auto found =
      std::find_if(contenders_.begin(), contenders_.end(),
                   [&](const ConvContender& contender) { return contender.name == name; });
  return found == contenders_.end() ? nullptr : &*found;
}

const ConvContender* ConvStudy::vendor_fft() const {
  const auto found = std::find_if(
      contenders_.begin(), contenders_.end(),
      [](const ConvContender& contender) { return contender.is_vendor && contender.is_fft(); });
  return found == contenders_.end() ? nullptr : &*found;
}

const ConvContender* ConvStudy::vendor_gemm() const {
  const auto found = std::find_if(contenders_.begin(), contenders_.end(),
                                  [](const ConvContender& each) { return each.is_gemm(); });
  return found == contenders_.end() ? nullptr : &*found;
}

const ConvContender* ConvStudy::vendor_default() const {
  const auto found = std::find_if(contenders_.begin(), contenders_.end(),
                                  [](const ConvContender& each) { return each.is_default; });
  return found == contenders_.end() ? nullptr : &*found;
}

std::string ConvStudy::picked(const ConvPoint& point, ConvPass pass) const {
  constexpr double same_time = 0.1;
  const ConvContender* chosen = vendor_default();
  const ConvCell* pick =
      chosen == nullptr ? nullptr : measured(point, pass, chosen->strategies.front());
  if (pick == nullptr) return "";
  std::string name;
  double nearest = same_time;
  for (const ConvStrategyName& strategy : results_.strategies) {
    if (!strategy.is_vendor || is_vendor_default(strategy) || is_any_engine(strategy)) continue;
    const ConvCell* cell = measured(point, pass, strategy.name);
    if (cell == nullptr || cell->scratch_bytes != pick->scratch_bytes) continue;
    const double apart = std::abs(cell->time_s() / pick->time_s() - 1);
    if (apart > nearest) continue;
    nearest = apart;
    name = strategy.name;
  }
  return name;
}

}  // namespace strata
