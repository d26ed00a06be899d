// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/profile_of.hpp"

#include "strata/base/error.hpp"
#include "strata/predict/footprint.hpp"
#include "strata/predict/simulate.hpp"
#include "strata/training/step_names.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace strata {
namespace {

/// Adds the steps up to rows, in one pass over them.
class RowMaker {
 public:
  RowMaker(const Program& program, const Prediction& prediction, const Hardware& hardware)
      : program_(program), prediction_(prediction), hardware_(hardware) {
    STRATA_CHECK(prediction.steps.size() == program.steps.size(),
                 "a profile needs the result of every step");
  }

  PredictedProfile made() && {
    double previous_end_s = 0;
    for (StepId id = 0; id < program_.steps.size(); ++id) {
      const StepResult& result = prediction_.steps[id];
      ProfileRow& row = row_of(id);
      const Totals totals = totals_of_step(id, result.end_s - previous_end_s);
      row.totals += totals;
      add(row.arithmetic, arithmetic_of(program_.steps[id]));
      row.moved->in_bytes += result.moved_in_bytes;
      row.moved->out_bytes += result.moved_out_bytes;
      row.peak_on_chip_bytes =
          std::max(row.peak_on_chip_bytes.value_or(0), result.peak_occupied_bytes);
      class_of(id).totals += totals;
      if (result.cause != no_value && result.wait_s > row.cause_s) {
        row.cause = value_name(program_, result.cause);
        row.cause_s = result.wait_s;
      }
      previous_end_s = result.end_s;
    }
    return std::move(made_);
  }

 private:
  // Layer, pass, what kind of step: what makes a row.
  using Key = std::tuple<NodeId, StepId, Pass, bool, bool>;

  Totals totals_of_step(StepId id, double time_s) const {
    const StepResult& result = prediction_.steps[id];
    Totals totals;
    totals.steps = 1;
    totals.time_s = time_s;
    totals.compute_s = result.compute_s;
    totals.stall_s = std::max(0.0, time_s - result.compute_s);
    totals.flop = operations_of(program_.steps[id], hardware_);
    totals.in_bytes = result.in_bytes;
    totals.out_bytes = result.out_bytes;
    totals.refetch_bytes = result.refetch_bytes;
    totals.launches = program_.uses_of(id).empty() ? 0 : 1;  // a new name needs no kernel
    if (totals.flop == 0) {
      totals.zero_flop_launches = totals.launches;
      totals.zero_flop_s = time_s;
    }
    return totals;
  }

  ProfileRow& row_of(StepId id) {
    const Step& step = program_.steps[id];
    const StepId own = step.node == no_node ? id : 0;  // a step of no layer is a row of its own
    const Key key{step.node, own, step.pass, step.is_gradient_sum, step.is_recomputed};
    const auto [place, is_new] = index_.try_emplace(key, made_.profile.rows.size());
    if (is_new) {
      ProfileRow& row = made_.profile.rows.emplace_back();
      row.layer = layer_of(program_, id);
      row.pass = pass_of(program_, id);
      row.op = operator_of(program_, id);
      row.block = block_of(program_, id);
      row.layer_class = name_of(step.layer_class);
      row.moved.emplace();
      most_flop_.push_back(step.flop);
    }
    ProfileRow& row = made_.profile.rows[place->second];
    if (step.flop > most_flop_[place->second]) {  // a row of several classes has the heaviest one's
      most_flop_[place->second] = step.flop;
      row.layer_class = name_of(step.layer_class);
    }
    return row;
  }

  std::vector<TypedFlop> arithmetic_of(const Step& step) const {
    const std::optional<RateOf>& rate =
        step.layer_class == LayerClass::dense ? hardware_.dense_of : hardware_.other_of;
    const std::int64_t operations = operations_of(step, hardware_);
    if (!rate || operations == 0) return {};
    return {{rate->dtype, rate->is_matrix, operations}};
  }

  ProfileGroup& class_of(StepId id) {
    const std::string_view name = name_of(program_.steps[id].layer_class);
    std::vector<ProfileGroup>& classes = made_.by_class;
    const auto place = std::find_if(classes.begin(), classes.end(),
                                    [&](const ProfileGroup& group) { return group.name == name; });
    if (place != classes.end()) return *place;
    return classes.emplace_back(ProfileGroup{std::string(name), {}});
  }

  const Program& program_;
  const Prediction& prediction_;
  const Hardware& hardware_;
  PredictedProfile made_;
  std::map<Key, std::size_t> index_;
  std::vector<std::int64_t> most_flop_;  // by row: of one step
};

}  // namespace

PredictedProfile profile_of(const Program& program, const Prediction& prediction,
                            const Hardware& hardware) {
  PredictedProfile made = RowMaker(program, prediction, hardware).made();
  made.profile.evidence = Evidence::predicted;
  made.profile.iteration_s = prediction.time_s;
  made.profile.iteration_from = TimeFrom::simulation;
  made.profile.drain_s = prediction.drain_s;
  made.profile.mac_is_one = hardware.mac_is_one;
  made.profile.peak_memory_bytes = footprint_of(program).peak_bytes;
  return made;
}

}  // namespace strata
