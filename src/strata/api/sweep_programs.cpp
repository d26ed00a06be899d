// SPDX-License-Identifier: Apache-2.0
// The programs of a sweep: made once for all points that share them.
#include "strata/api/predict.hpp"
#include "strata/api/request_as_recorded.hpp"
#include "strata/api/sweep_state.hpp"
#include "strata/base/error.hpp"
#include "strata/predict/footprint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace strata {
namespace {

TrainingOptions whole_training(const PredictRequest& request) {
  TrainingOptions whole = request.training;
  whole.unroll_recurrent = false;
  return whole;
}

/// What programs at all micro-batches are made from; nothing: they cannot be.
std::optional<BatchPrograms> batch_programs_of(const Graph& graph, PredictRequest request) {
  constexpr std::array<std::int64_t, 3> batches = {3, 2, 7};  // odd and even: nothing is rounded
  std::array<BoundGraph, 3> bound;
  std::array<BatchPrograms::AtBatch, 3> made;
  try {
    for (std::size_t i = 0; i < batches.size(); ++i) {
      request.sizes.batch = batches[i];
      bound[i] = bind_model(graph, request.sizes);
      made[i] = {batches[i], make_program(bound[i], whole_training(request))};
    }
  } catch (const Error&) {  // a network that does not take one of these batches
    return std::nullopt;
  }
  return BatchPrograms::from(std::move(made));
}

}  // namespace

bool Sweep::State::wants_expected(const PredictRequest& request) const {
  if (!expected_request(machines.front(), request) ||
      (changes_on_chip && !request.names_expected()))
    return false;
  return std::any_of(machines.begin(), machines.end(), [&](const Machine& machine) {
    return request.names_expected() ||
           !ExpectedTimes::reason_against(machine, *expected_request(machines.front(), request));
  });
}

std::shared_ptr<const BuiltProgram> Sweep::State::program_at(std::int64_t point,
                                                             const PredictRequest& request) {
  const std::int64_t number = point / in_program;
  std::shared_ptr<Shared> shared;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(programs_, [&](const auto& entry) {  // nobody has it, nobody waits for it
      return entry.second.use_count() == 1 && entry.second->program.expired();
    });
    std::shared_ptr<Shared>& place = programs_[number];
    if (place == nullptr) place = std::make_shared<Shared>();
    shared = place;
  }
  const std::lock_guard lock(shared->mutex);
  if (auto made = shared->program.lock()) return made;
  const auto index = static_cast<std::size_t>(grid.index_of(point, axis_named("model")));
  auto made = std::make_shared<BuiltProgram>();
  const bool has_expected = wants_expected(request);
  request_as_recorded(graphs[index], request);          // refuses what was not recorded
  const PredictRequest limit = limit_request(request);  // refuses what does not go together
  if (wants_limit || !has_expected) {
    made->bound = bind_request(graphs[index], limit);
    made->program = make_program(made->bound, limit.training);
    made->dtype = main_dtype(made->bound);
    made->footprint_bytes = footprint_of(made->program).peak_bytes;
  }
  if (has_expected) add_expected_program(point, request, *made);
  shared->program = made;
  return made;
}

/// What the framework runs is not unrolled, and under autocast its tensors are in fp32.
void Sweep::State::add_expected_program(std::int64_t point, const PredictRequest& request,
                                        BuiltProgram& built) {
  const ExpectedRequest wanted = *expected_request(machines.front(), request);
  const Optimizer optimizer = request.training.optimizer;
  const auto is_unrolled = [](const Step& step) { return step.time > 0; };
  const Program& limit = built.program;
  if (wants_limit && !request.framework_options.autocast &&
      std::none_of(limit.steps.begin(), limit.steps.end(), is_unrolled)) {
    built.expected = std::make_unique<ExpectedProgram>(limit, wanted, optimizer);
    return;
  }
  const Graph& graph = graphs[static_cast<std::size_t>(grid.index_of(point, axis_named("model")))];
  BoundGraph bound = bind_request(graph, request);
  Program program = wants_limit ? make_program(bound, whole_training(request))
                                : expected_program_at(point, request, bound);
  built.expected = std::make_unique<ExpectedProgram>(program, wanted, optimizer);
  if (wants_limit) return;
  built.dtype = request.framework_options.autocast.value_or(main_dtype(bound));
  built.bound = std::move(bound);
  built.program = std::move(program);
  built.program.bound = &built.bound;
}

Program Sweep::State::expected_program_at(std::int64_t point, const PredictRequest& request,
                                          const BoundGraph& bound) {
  constexpr std::int64_t worth_it = 8;  // values of the axis: three programs are made for them
  const std::size_t batches = axis_named("batch");
  const auto batch = bound.binding.find("batch");
  if (batches == parameters.size() || grid.axes()[batches].size() < worth_it ||
      batch == bound.binding.end())
    return make_program(bound, whole_training(request));
  std::string key;
  for (std::size_t axis = 0; axis < parameters.size(); ++axis) {
    if (axis != batches && parameters[axis].depends <= Depends::program)
      key += fmt::format("{} ", grid.index_of(point, axis));
  }
  const BatchPrograms* known = nullptr;
  {
    const std::lock_guard lock(batch_mutex_);
    auto found = batch_programs_.find(key);
    if (found == batch_programs_.end())
      found = batch_programs_.emplace(key, batch_programs_of(*bound.graph, request)).first;
    if (found->second) known = &*found->second;
  }
  return known != nullptr ? known->at(bound, batch->second)
                          : make_program(bound, whole_training(request));
}

}  // namespace strata
