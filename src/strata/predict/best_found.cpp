// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/best_found.hpp"

namespace strata {
namespace {

constexpr std::size_t most_chains = 1 << 16;  // some kilobytes each

}  // namespace

std::shared_ptr<BestFound::Chain> BestFound::at(const RateKey& rates) {
  const std::lock_guard lock(mutex_);
  if (chains_.size() >= most_chains && !chains_.contains(rates)) chains_.clear();
  std::shared_ptr<Chain>& chain = chains_[rates];
  if (chain == nullptr) chain = std::make_shared<Chain>();
  return chain;
}

}  // namespace strata
