// SPDX-License-Identifier: Apache-2.0
#include "strata/report/prediction_summary.hpp"

#include "strata/base/error.hpp"
#include "strata/graph/operator_names.hpp"
#include "strata/predict/capacity.hpp"
#include "strata/predict/footprint.hpp"
#include "strata/report/prediction_reuse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

namespace strata {
namespace {

std::string_view kind_name(ValueKind kind) {
  switch (kind) {
    case ValueKind::input: return "input";
    case ValueKind::feature: return "feature";
    case ValueKind::saved: return "saved";
    case ValueKind::weight: return "weight";
    case ValueKind::constant: return "constant";
    case ValueKind::gradient: return "gradient";
    case ValueKind::weight_gradient: return "weight_gradient";
    case ValueKind::state: return "state";
  }
  return "";
}

// A step of no layer, the loss, is called after what it does: "loss forward" is the layer "loss".
std::string name_without_pass(const Program& program, StepId id) {
  std::string name = name_of(program, id);
  const std::string ending = fmt::format(" {}", name_of(program.steps[id].pass));
  if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  return name;
}

std::string op_of(const Program& program, StepId id) {
  const Step& step = program.steps[id];
  if (step.is_gradient_sum) return "gradient_sum";
  if (step.pass == Pass::update) return "update";
  if (step.node == no_node) return name_without_pass(program, id);
  return std::string(name_of(program.bound->graph->nodes[step.node].op));
}

/// Adds the steps up to rows, in one pass over them.
class RowMaker {
 public:
  RowMaker(const Program& program, const Prediction& prediction, const Hardware& hardware)
      : program_(program), prediction_(prediction), hardware_(hardware) {
    STRATA_CHECK(prediction.steps.size() == program.steps.size(),
                 "a summary needs the result of every step");
  }

  Profile rows() {
    double previous_end_s = 0;
    for (StepId id = 0; id < program_.steps.size(); ++id) {
      const StepResult& result = prediction_.steps[id];
      ProfileRow& row = row_of(id);
      Spent spent;
      spent.steps = 1;
      spent.time_s = result.end_s - previous_end_s;
      spent.compute_s = result.compute_s;
      spent.stall_s = std::max(0.0, spent.time_s - result.compute_s);
      spent.flop = program_.steps[id].flop;
      spent.in_bytes = result.in_bytes;
      spent.out_bytes = result.out_bytes;
      spent.refetch_bytes = result.refetch_bytes;
      spent.launches = program_.uses_of(id).empty() ? 0 : 1;  // a new name needs no kernel
      if (spent.flop == 0) {
        spent.zero_flop_launches = spent.launches;
        spent.zero_flop_s = spent.time_s;
      }
      row.spent += spent;
      add(row.arithmetic, arithmetic_of(program_.steps[id]));
      class_of(id).spent += spent;
      if (result.cause != no_value && result.wait_s > row.cause_s) {
        row.cause = value_name(program_, result.cause);
        row.cause_s = result.wait_s;
      }
      previous_end_s = result.end_s;
    }
    return std::move(profile_);
  }

  /// By layer class, step by step: a recurrent layer's products and gates are one row.
  std::vector<ProfileGroup> by_class() && { return std::move(classes_); }

 private:
  // Layer, pass, what kind of step: what makes a row.
  using Key = std::tuple<NodeId, StepId, Pass, bool, bool>;

  ProfileRow& row_of(StepId id) {
    const Step& step = program_.steps[id];
    const StepId own = step.node == no_node ? id : 0;  // a step of no layer is a row of its own
    const Key key{step.node, own, step.pass, step.is_gradient_sum, step.is_recomputed};
    const auto [place, is_new] = index_.try_emplace(key, profile_.rows.size());
    if (is_new) {
      profile_.rows.push_back(described(id));
      most_flop_.push_back(step.flop);
    }
    ProfileRow& row = profile_.rows[place->second];
    if (step.flop > most_flop_[place->second]) {  // a row of several classes has the heaviest one's
      most_flop_[place->second] = step.flop;
      row.layer_class = name_of(step.layer_class);
    }
    return row;
  }

  std::vector<TypedFlop> arithmetic_of(const Step& step) const {
    const std::optional<RateOf>& rate =
        step.layer_class == LayerClass::type_1 ? hardware_.type_1_of : hardware_.other_of;
    if (!rate || step.flop == 0) return {};
    return {{rate->dtype, rate->is_matrix, step.flop}};
  }

  ProfileGroup& class_of(StepId id) {
    const std::string_view name = name_of(program_.steps[id].layer_class);
    const auto place = std::find_if(classes_.begin(), classes_.end(),
                                    [&](const ProfileGroup& group) { return group.name == name; });
    if (place != classes_.end()) return *place;
    return classes_.emplace_back(ProfileGroup{std::string(name), {}});
  }

  ProfileRow described(StepId id) const {
    const Step& step = program_.steps[id];
    ProfileRow row;
    row.pass = step.is_recomputed ? "recompute" : std::string(name_of(step.pass));
    row.op = op_of(program_, id);
    row.layer_class = name_of(step.layer_class);
    if (step.node == no_node) {
      row.layer = name_without_pass(program_, id);
      row.block = row.layer;
    } else {
      const Node& node = program_.bound->graph->nodes[step.node];
      row.layer = node.name;
      row.block = node.block.empty() ? node.name : node.block;
    }
    return row;
  }

  const Program& program_;
  const Prediction& prediction_;
  const Hardware& hardware_;
  Profile profile_;
  std::map<Key, std::size_t> index_;
  std::vector<std::int64_t> most_flop_;  // by row: of one step
  std::vector<ProfileGroup> classes_;
};

std::vector<Stall> stalls_of(const Program& program, const Prediction& prediction) {
  std::unordered_map<ValueId, std::size_t> index;
  std::vector<std::pair<ValueId, Stall>> found;
  for (const StepResult& result : prediction.steps) {
    if (result.cause == no_value || result.wait_s <= 0) continue;
    const auto [place, is_new] = index.try_emplace(result.cause, found.size());
    if (is_new) found.push_back({result.cause, {}});
    found[place->second].second.wait_s += result.wait_s;
    ++found[place->second].second.steps;
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.second.wait_s > b.second.wait_s; });
  constexpr std::size_t most = 50;  // the tail explains nothing
  found.resize(std::min(found.size(), most));
  std::vector<Stall> stalls;
  for (auto& [value, stall] : found) {
    stall.value = value_name(program, value);
    stall.kind = kind_name(program.values[value].kind);
    stalls.push_back(std::move(stall));
  }
  return stalls;
}

PredictionTotals totals_of(const Program& program, const Prediction& prediction) {
  PredictionTotals totals;
  totals.time_s = prediction.time_s;
  totals.compute_time_s = prediction.compute_s;
  totals.stall_time_s = prediction.stall_s;
  totals.drain_time_s = prediction.drain_s;
  totals.traffic_in_bytes = prediction.in_bytes;
  totals.traffic_out_bytes = prediction.out_bytes;
  totals.refetch_bytes = prediction.refetch_bytes;
  totals.peak_on_chip_bytes = prediction.peak_occupied_bytes;
  totals.steps = static_cast<std::int64_t>(program.steps.size());
  totals.samples = program.samples;
  for (const Step& step : program.steps) totals.flop = checked_add(totals.flop, step.flop);
  totals.footprint_bytes = footprint_of(program).peak_bytes;
  if (prediction.time_s > 0) {
    const double bytes = static_cast<double>(totals.traffic_bytes());
    totals.average_bandwidth_bytes_per_s = bytes / prediction.time_s;
    totals.utilisation = prediction.compute_s / prediction.time_s;
    totals.samples_per_s = static_cast<double>(program.samples) / prediction.time_s;
  }
  return totals;
}

void describe_network(PredictionSummary& summary, const BoundGraph& bound) {
  const Graph& graph = *bound.graph;
  summary.network = graph.name;
  summary.title = graph.title.empty() ? graph.name : graph.title;
  summary.warnings = graph.warnings;
  for (const Parameter& parameter : graph.symbols.parameters()) {
    const auto value = bound.binding.find(parameter.name);
    if (value != bound.binding.end()) summary.dims.push_back({parameter.name, value->second});
  }
}

void find_needs(PredictionSummary& summary, const Program& program, std::int64_t capacity_bytes) {
  StepId least_step = 0;
  StepId whole_step = 0;
  for (StepId step = 0; step < program.steps.size(); ++step) {
    const StepNeed need = need_of(program, step);
    if (need.least_bytes > summary.minimum.bytes) {
      summary.minimum.bytes = need.least_bytes;
      least_step = step;
    }
    if (need.all_bytes > summary.whole.bytes) {
      summary.whole.bytes = need.all_bytes;
      whole_step = step;
    }
    if (fit_of(need, capacity_bytes) == Fit::slices)
      summary.sliced_steps.push_back(name_of(program, step));
  }
  if (program.steps.empty()) return;
  summary.minimum.step = name_of(program, least_step);
  summary.whole.step = name_of(program, whole_step);
}

}  // namespace

PredictionSummary summarize(const Program& program, const Plan& plan, const Prediction& prediction,
                            const Hardware& hardware) {
  PredictionSummary summary;
  if (program.bound != nullptr) describe_network(summary, *program.bound);
  summary.hardware = hardware;
  summary.totals = totals_of(program, prediction);
  RowMaker rows(program, prediction, hardware);
  summary.profile = rows.rows();
  summary.by_class = std::move(rows).by_class();
  summary.by_type = grouped(summary.profile, &ProfileRow::op);
  std::stable_sort(
      summary.by_type.begin(), summary.by_type.end(),
      [](const ProfileGroup& a, const ProfileGroup& b) { return a.spent.time_s > b.spent.time_s; });
  summary.by_pass = grouped(summary.profile, &ProfileRow::pass);
  summary.by_block = grouped(summary.profile, &ProfileRow::block);
  summary.reuse = reuse_by_scope(program, plan);
  summary.stalls = stalls_of(program, prediction);
  find_needs(summary, program, plan.capacity_bytes);
  return summary;
}

}  // namespace strata
