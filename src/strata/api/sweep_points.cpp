// SPDX-License-Identifier: Apache-2.0
#include "strata/api/predict.hpp"
#include "strata/api/sweep_state.hpp"
#include "strata/base/text.hpp"
#include "strata/importers/network/network.hpp"
#include "strata/predict/footprint.hpp"
#include "strata/predict/option_names.hpp"
#include "strata/sweep/formula_worker.hpp"
#include "strata/version.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace strata {
namespace {

/// FNV-1a, 64 bits: http://www.isthe.com/chongo/tech/comp/fnv. Tells sweeps apart; nobody attacks
/// it.
class Hash {
 public:
  void add(std::string_view text) {
    for (const char c : text) value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    value_ = (value_ ^ 0xff) * 0x100000001b3;  // an end, so that "ab"+"c" is not "a"+"bc"
  }
  void add(double number) { add(fmt::format("{}", number)); }
  std::string text() const { return fmt::format("{:016x}", value_); }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

void add_machine(Hash& hash, const Machine& machine) {
  hash.add(machine.name);
  for (const Peak& peak : machine.peaks) {
    hash.add(name_of(peak.dtype));
    hash.add(name_of(peak.unit));
    hash.add(peak.flop_per_s.value);
  }
  for (const MemoryLevel& level : machine.memory) {
    hash.add(level.name);
    hash.add(level.capacity_bytes.value);
    if (level.bandwidth_bytes_per_s) hash.add(level.bandwidth_bytes_per_s->value);
  }
}

// What was read counts, not only what was named: a file may have changed since.
std::string identity_of(const Sweep::State& state) {
  Hash hash;
  hash.add(state.preset);
  for (const Axis& axis : state.grid.axes()) hash.add(axis.canonical());
  for (const Graph& graph : state.graphs) hash.add(write_network(graph));
  for (const Machine& machine : state.machines) add_machine(hash, machine);
  for (const std::string& column : state.derived) hash.add("column " + column);
  for (const std::string& constraint : state.where) hash.add("where " + constraint);
  return hash.text();
}

std::vector<std::string> values_of(const Axis& axis) {
  std::vector<std::string> values;
  for (std::int64_t i = 0; i < axis.size(); ++i) values.push_back(axis.at(i).text);
  return values;
}

std::int64_t points_behind(const Grid& grid, const std::vector<SweepParameter>& parameters,
                           Depends last) {
  const auto after =
      std::find_if(parameters.begin(), parameters.end(),
                   [&](const SweepParameter& parameter) { return parameter.depends > last; });
  return grid.points_behind(static_cast<std::size_t>(after - parameters.begin()));
}

void set_value(PredictRequest& request, const Axis& axis, const AxisValue& value) {
  const std::string& name = axis.name();
  if (name == "batch") {
    request.sizes.batch = value.integer;
  } else if (name == "seq") {
    request.sizes.sequence = value.integer;
  } else if (name == "dtype") {
    request.sizes.dtype = dtype_named(value.text);
  } else if (name.starts_with("dim.")) {
    request.sizes.dims.push_back({name.substr(4), value.integer});
  } else {
    set_option(request, name, axis.setting(value));
  }
}

class SweepWorker : public PointWorker {
 public:
  explicit SweepWorker(Sweep::State& state) : state_(state) {
    for (std::size_t axis = 0; axis < state_.parameters.size(); ++axis) {
      if (state_.parameters[axis].name.starts_with("machine.")) fields_.push_back(axis);
    }
    machine_axis_ = state_.axis_named("machine");
    capacity_axis_ = state_.axis_named("capacity");
    bandwidth_axis_ = state_.axis_named("bandwidth");
    throughput_axis_ = state_.axis_named("throughput");
  }

  PointResult at(std::int64_t point) override {
    PointResult result;
    try {
      enter_group(point);
      result.hardware = hardware_at(point);
      result.samples = built_->program.samples;
      result.footprint_bytes = built_->footprint_bytes;
      result.totals = program_->at(result.hardware);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::internal) throw;
      result = {};
      result.error = error.what();
    }
    return result;
  }

 private:
  void enter_group(std::int64_t point) {
    const std::int64_t group = point / state_.in_options;
    if (group_ != group) {
      group_ = group;
      problem_.reset();
      program_.reset();  // before the program that it refers to
      built_.reset();
      try {
        request_ = state_.request_at(point);
        built_ = state_.program_at(point, request_);
        program_.emplace(built_->program, request_.options, state_.search_at(point));
      } catch (const Error& error) {
        problem_ = error;
      }
    }
    if (problem_) throw *problem_;
  }

  AxisValue value_at(std::int64_t point, std::size_t axis) const {
    return state_.grid.axes()[axis].at(state_.grid.index_of(point, axis));
  }

  Hardware hardware_at(std::int64_t point) {
    const bool has_axis[] = {capacity_axis_ < state_.parameters.size(),
                             bandwidth_axis_ < state_.parameters.size(),
                             throughput_axis_ < state_.parameters.size()};
    if (has_axis[0]) request_.hardware.capacity_bytes = value_at(point, capacity_axis_).integer;
    if (has_axis[1]) request_.hardware.bytes_per_s = value_at(point, bandwidth_axis_).number;
    if (has_axis[2]) request_.hardware.flop_per_s = value_at(point, throughput_axis_).number;
    return hardware_for(machine_at(point), built_->dtype, request_);
  }

  const Machine& machine_at(std::int64_t point) {
    const auto index = static_cast<std::size_t>(state_.grid.index_of(point, machine_axis_));
    if (fields_.empty()) return state_.machines[index];
    changed_ = state_.machines[index];
    for (const std::size_t axis : fields_) {
      const std::string value = state_.grid.axes()[axis].setting(value_at(point, axis));
      set_field(changed_, fmt::format("{}={}", state_.parameters[axis].name, value));
    }
    return changed_;
  }

  Sweep::State& state_;
  std::vector<std::size_t> fields_;  // axes that change a number of the machine
  std::size_t machine_axis_ = 0;
  std::size_t capacity_axis_ = 0;  // beyond the last: there is none
  std::size_t bandwidth_axis_ = 0;
  std::size_t throughput_axis_ = 0;
  std::int64_t group_ = -1;
  std::optional<Error> problem_;  // of every point of the group
  PredictRequest request_;
  std::shared_ptr<const BuiltProgram> built_;
  std::optional<SweepProgram> program_;
  Machine changed_;
};

}  // namespace

Sweep::State::State(const SweepRequest& request, SweepAxes found)
    : preset(request.preset),
      parameters(std::move(found.parameters)),
      grid(std::move(found.axes)),
      derived(request.columns),
      where(request.where),
      columns(grid, derived),
      in_program(points_behind(grid, parameters, Depends::program)),
      in_options(points_behind(grid, parameters, Depends::options)) {
  static_cast<void>(request_of_preset(preset));        // an unknown one is an error now
  const PointConstraints constraints(where, columns);  // and so is a wrong formula
  for (const std::string& model : values_of(grid.axes()[axis_named("model")]))
    graphs.push_back(load_model(model, request.import));
  for (const std::string& machine : values_of(grid.axes()[axis_named("machine")]))
    machines.push_back(load_machine(machine));
  identity = {identity_of(*this), std::string(version), grid.size(), !where.empty()};
}

std::size_t Sweep::State::axis_named(std::string_view name) const {
  const auto found =
      std::find_if(parameters.begin(), parameters.end(),
                   [&](const SweepParameter& parameter) { return parameter.name == name; });
  return static_cast<std::size_t>(found - parameters.begin());
}

PredictRequest Sweep::State::request_at(std::int64_t point) const {
  PredictRequest request = request_of_preset(preset);
  for (std::size_t axis = 0; axis < parameters.size(); ++axis) {
    const Depends depends = parameters[axis].depends;
    if (depends != Depends::program && depends != Depends::options) continue;
    const Axis& values = grid.axes()[axis];
    set_value(request, values, values.at(grid.index_of(point, axis)));
  }
  const std::optional<DType> dtype = request.sizes.dtype;
  if (dtype && !is_floating(*dtype) && !request.training.inference) {
    fail(ErrorKind::usage, "--dtype {} has no gradients; give --inference with it",
         name_of(*dtype));
  }
  return request;
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
  made->bound = bind_model(graphs[index], request.sizes);
  made->program = make_program(made->bound, request.training);
  made->dtype = main_dtype(made->bound);
  made->footprint_bytes = footprint_of(made->program).peak_bytes;
  shared->program = made;
  return made;
}

bool Sweep::State::plans_best() const {
  const std::size_t axis = axis_named("policy");
  if (axis == parameters.size()) return request_at(0).options.policy == Policy::best;
  const std::vector<std::string> policies = values_of(grid.axes()[axis]);
  return std::find(policies.begin(), policies.end(), name_of(Policy::best)) != policies.end();
}

std::shared_ptr<SharedSearch> Sweep::State::search_at(std::int64_t point) {
  const std::lock_guard lock(mutex_);
  std::erase_if(searches_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<SharedSearch>& place = searches_[point / in_options];
  std::shared_ptr<SharedSearch> search = place.lock();
  if (!search) place = search = std::make_shared<SharedSearch>();
  return search;
}

Sweep::Sweep(const SweepRequest& request)
    : state_(std::make_unique<State>(request, axes_of(request))) {}
Sweep::~Sweep() = default;

const Grid& Sweep::grid() const { return state_->grid; }
const SweepColumns& Sweep::columns() const { return state_->columns; }
const SweepIdentity& Sweep::identity() const { return state_->identity; }
const std::vector<Graph>& Sweep::graphs() const { return state_->graphs; }
std::int64_t Sweep::program_count() const { return state_->grid.size() / state_->in_program; }

PointRange Sweep::range(std::int64_t first) const {
  const Grid& grid = state_->grid;
  return {.first = first,
          .end = grid.size(),
          .in_group = state_->in_options,
          .in_run = points_behind(grid, state_->parameters, Depends::capacity),
          .runs_follow = state_->plans_best()};
}

std::unique_ptr<PointWorker> Sweep::worker() const {
  auto worker = std::make_unique<SweepWorker>(*state_);
  if (state_->where.empty()) return worker;
  return constrained_worker(std::move(worker),
                            std::make_unique<SweepColumns>(state_->grid, state_->derived),
                            state_->where);
}

}  // namespace strata
