// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/shared_search.hpp"

namespace strata {
namespace {

constexpr std::size_t most_states = 1 << 16;  // some kilobytes each

}  // namespace

std::shared_ptr<SharedSearch::SearchState> SharedSearch::at(const RateKey& rates) {
  const std::lock_guard lock(mutex_);
  if (states_.size() >= most_states && !states_.contains(rates)) states_.clear();
  std::shared_ptr<SearchState>& state = states_[rates];
  if (state == nullptr) state = std::make_shared<SearchState>();
  return state;
}

}  // namespace strata
