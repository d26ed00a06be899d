// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/thesis_network.hpp"

#include "strata/graph/bind.hpp"
#include "strata/zoo/zoo.hpp"

namespace strata {

ThesisNetwork::ThesisNetwork(std::string_view name, std::int64_t batch)
    : graph_(std::make_unique<Graph>(build_network(name))) {
  Binding binding;
  if (batch > 0) binding["batch"] = batch;
  bound_ = std::make_unique<BoundGraph>(bind_graph(*graph_, binding));
  program_ = std::make_unique<Program>(make_program(*bound_, thesis_training()));
  list_ = std::make_unique<AccessList>(*program_);
}

Hardware ThesisPoint::hardware() const {
  return {.capacity_bytes = capacity_mib << 20,
          .bytes_per_s = bytes_per_s,
          .dense_flop_per_s = flop_per_s,
          .other_flop_per_s = flop_per_s,
          .mac_is_one = true};
}

PredictOptions ThesisPoint::options() const {
  PredictOptions options = thesis_prediction();
  if (prefetch) options.prefetch = prefetch;
  if (channel) options.channel = *channel;
  options.offload = offload;
  if (may_slice) options.strict_minimum = false;
  return options;
}

Prediction ThesisNetwork::at(const ThesisPoint& point, Record record) const {
  return predict(*list_, point.hardware(), point.options(), record);
}

}  // namespace strata
