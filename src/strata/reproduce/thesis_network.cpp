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

Prediction ThesisNetwork::at(const ThesisPoint& point, Record record) const {
  PredictOptions options = thesis_prediction();
  options.prefetch = point.prefetch;
  options.offload = point.offload;
  if (point.may_slice) options.strict_minimum = false;
  return predict(*list_,
                 {.capacity_bytes = point.capacity_mb << 20,
                  .bytes_per_s = point.bytes_per_s,
                  .type_1_flop_per_s = point.flop_per_s,
                  .other_flop_per_s = point.flop_per_s,
                  .mac_is_one = true},
                 options, record);
}

}  // namespace strata
