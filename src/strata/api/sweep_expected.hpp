// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/api/predict.hpp"
#include "strata/sweep/point_result.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace strata {

/// Expected times of the points of a sweep, on one thread. What is made for a machine serves all
/// points with the same framework and options.
class SweepExpected {
 public:
  /// The machines of the sweep; they must outlive this.
  explicit SweepExpected(const std::vector<Machine>& machines) : machines_(machines) {}

  /// Points from now on ask for this.
  void set_request(const PredictRequest& request);

  /// Of a program of the request on the machine of that index; `machine` is the same with what axes
  /// change. Not there: the machine allows none. Errors (unsupported) say why when the request
  /// names a framework.
  PointExpected at(std::size_t index, const Machine& machine, const PredictRequest& request,
                   const ExpectedProgram& program);

  /// Why there is none on the machine of that index; empty: there is.
  std::string reason(std::size_t index, const PredictRequest& request) {
    return on_machine(index, request).reason;
  }

 private:
  struct OnMachine {
    bool is_known = false;
    std::string reason;  // why there is none
    std::optional<ExpectedTimes> times;
  };
  const OnMachine& on_machine(std::size_t index, const PredictRequest& request);

  const std::vector<Machine>& machines_;
  std::string framework_;
  HostChoice host_;
  bool is_inference_ = false;
  std::vector<OnMachine> known_;  // of each machine
};

}  // namespace strata
