// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>

namespace strata {

/// Who was far behind in everything of a kind so far need not be tried for the next of it: slow
/// ways take most of the time that choosing the fastest takes.
class WayExperience {
 public:
  /// For each way that was tried, how many times as long as the best it took. Who could not compute
  /// this one is left out, and may compute the next.
  using Ratios = std::map<std::string, double>;
  void learn(const std::string& kind, const Ratios& ratios);
  bool is_hopeless(const std::string& kind, std::string_view way) const;

 private:
  struct Record {
    int trials = 0;
    double least_ratio = std::numeric_limits<double>::infinity();
  };
  std::map<std::string, std::map<std::string, Record, std::less<>>> kinds_;
};

}  // namespace strata
