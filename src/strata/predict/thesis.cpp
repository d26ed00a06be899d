// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/thesis.hpp"

namespace strata {

TrainingOptions thesis_training() {
  TrainingOptions options;
  options.optimizer = Optimizer::none;
  options.loss = Loss::none;
  return options;
}

PredictOptions thesis_prediction() {
  PredictOptions options;
  options.policy = Policy::thesis;
  options.strict_minimum = true;
  options.minimum_slack = 0.01;
  options.prefetch = Prefetch::listing_printed;
  options.channel = ChannelOrder::loads_first;
  return options;
}

}  // namespace strata
