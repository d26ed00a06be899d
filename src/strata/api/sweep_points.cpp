// SPDX-License-Identifier: Apache-2.0
#include "strata/api/predict.hpp"
#include "strata/api/sweep_expected.hpp"
#include "strata/api/sweep_parallel.hpp"
#include "strata/api/sweep_state.hpp"
#include "strata/base/text.hpp"
#include "strata/graph/recording.hpp"
#include "strata/importers/network/network.hpp"
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
  if (machine.units) hash.add(machine.units->count.value);
  if (machine.clocks.boost_hz) hash.add(machine.clocks.boost_hz->value);
}

void add_link(Hash& hash, const ClusterLink& link) {
  for (const double number : {link.bytes_per_s, link.reached_bytes_per_s, link.hop_s})
    hash.add(number);
}

void add_cluster(Hash& hash, const Cluster& cluster) {
  hash.add(cluster.name);
  hash.add(static_cast<double>(cluster.devices_per_node));
  hash.add(static_cast<double>(cluster.nodes));
  add_link(hash, cluster.inside);
  if (cluster.between) add_link(hash, *cluster.between);
  hash.add(cluster.interference);
  for (const MeasuredCollective& one : cluster.collectives) {
    hash.add(name_of(one.kind));
    hash.add(static_cast<double>(one.ranks));
    for (const MeasuredCollective::Point& point : one.points) {
      hash.add(point.bytes);
      hash.add(point.time_s);
    }
  }
}

void add_calibration(Hash& hash, const Calibration& calibration) {
  hash.add(calibration.name);
  hash.add(calibration.host_factor);
  for (const CalibratedClass& one : calibration.classes) {
    hash.add(one.kernel_class);
    hash.add(static_cast<double>(one.samples.size()));
    for (const double coefficient : one.coefficients) hash.add(coefficient);
  }
}

void add_host(Hash& hash, const std::string& name) {
  const HostChoice host = host_named(name);
  hash.add(host.slower);
  if (!host.of) return;
  hash.add(host.of->host_factor);
  hash.add(host.of->host_sigma);
  for (const auto& [kind, time] : host.of->host_times) {
    hash.add(kind);
    for (const double seconds : {time.forward_s, time.backward_s, time.autocast_forward_s,
                                 time.autocast_backward_s, time.per_tensor_s})
      hash.add(seconds);
  }
}

std::vector<std::string> values_of(const Axis& axis) {
  std::vector<std::string> values;
  for (std::int64_t i = 0; i < axis.size(); ++i) values.push_back(axis.at(i).text);
  return values;
}

// What was read counts, not only what was named: a file may have changed since.
std::string identity_of(const Sweep::State& state) {
  Hash hash;
  hash.add(state.preset);
  for (const Axis& axis : state.grid.axes()) hash.add(axis.canonical());
  for (const Graph& graph : state.graphs)
    hash.add(graph.recording != nullptr ? graph.recording->digest : write_network(graph));
  for (const Machine& machine : state.machines) add_machine(hash, machine);
  for (const Calibration& calibration : shipped_calibrations()) add_calibration(hash, calibration);
  if (const std::size_t hosts = state.axis_named("host"); hosts < state.grid.axes().size()) {
    for (const std::string& name : values_of(state.grid.axes()[hosts])) add_host(hash, name);
  }
  for (const ColumnHead& head : state.columns.heads()) hash.add(head.name);
  if (!state.wants_limit) hash.add("no limit");
  for (const Cluster& cluster : state.clusters) add_cluster(hash, cluster);
  for (const std::string& column : state.derived) hash.add("column " + column);
  for (const std::string& constraint : state.where) hash.add("where " + constraint);
  return hash.text();
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

/// Whether an axis is of the on-chip memory of the machines.
bool is_on_chip(const std::string& parameter, const std::vector<Machine>& machines) {
  if (parameter == "capacity") return true;
  if (!parameter.starts_with("machine.memory.") || !parameter.ends_with(".capacity_bytes"))
    return false;
  return std::any_of(machines.begin(), machines.end(), [&](const Machine& machine) {
    const MemoryLevel* outer = off_chip(machine);
    return outer == nullptr ||
           parameter != fmt::format("machine.memory.{}.capacity_bytes", lower_case(outer->name));
  });
}

class SweepWorker : public PointWorker {
 public:
  explicit SweepWorker(Sweep::State& state)
      : state_(state), machine_axis_(state.axis_named("machine")), expected_(state.machines) {}

  PointResult at(std::int64_t point) override {
    PointResult result;
    try {
      enter_group(point);
      const Machine& machine = state_.machine_at(point, changed_);
      request_.hardware = state_.overrides_at(point);
      result.hardware = hardware_for(machine, built_->dtype, request_);
      result.samples = built_->program.samples;
      result.has_limit = state_.wants_limit;
      if (built_->expected != nullptr)
        result.expected = expected_.at(machine_index(point), machine, request_, *built_->expected);
      if (state_.wants_limit) {
        result.footprint_bytes = built_->footprint_bytes;
        result.totals = program_->at(result.hardware);
      } else if (!result.expected.is_there()) {
        const std::string reason = expected_.reason(machine_index(point), request_);
        fail(ErrorKind::unsupported, "no expected time: {}",
             reason.empty() ? "the network launches nothing" : reason);
      }
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
        expected_.set_request(request_);
        if (state_.wants_limit)
          program_.emplace(built_->program, request_.options, state_.search_at(point));
      } catch (const Error& error) {
        problem_ = error;
      }
    }
    if (problem_) throw *problem_;
  }

  std::size_t machine_index(std::int64_t point) const {
    return static_cast<std::size_t>(state_.grid.index_of(point, machine_axis_));
  }

  Sweep::State& state_;
  std::size_t machine_axis_ = 0;
  std::int64_t group_ = -1;
  std::optional<Error> problem_;  // of every point of the group
  PredictRequest request_;
  std::shared_ptr<const BuiltProgram> built_;
  std::optional<SweepProgram> program_;
  SweepExpected expected_;
  Machine changed_;
};

}  // namespace

Sweep::State::State(const SweepRequest& request, SweepAxes found)
    : preset(request.preset),
      wants_limit(request.wants_limit),
      parameters(std::move(found.parameters)),
      grid(std::move(found.axes)),
      derived(request.columns),
      where(request.where),
      columns(grid, derived, found.is_parallel ? OfStrategies::yes : OfStrategies::no),
      is_parallel(found.is_parallel),
      in_cluster(points_behind(grid, parameters, Depends::rates)),
      in_program(points_behind(grid, parameters, Depends::program)),
      in_options(points_behind(grid, parameters, Depends::options)) {
  static_cast<void>(request_of_preset(preset));        // an unknown one is an error now
  const PointConstraints constraints(where, columns);  // and so is a wrong formula
  for (const std::string& model : values_of(grid.axes()[axis_named("model")]))
    graphs.push_back(load_model(model, request.import));
  for (const std::string& machine : values_of(grid.axes()[axis_named("machine")])) {
    if (is_parallel) clusters.push_back(load_cluster(machine));
    machines.push_back(is_parallel ? clusters.back().machine : load_machine(machine));
  }
  changes_on_chip = std::any_of(
      parameters.begin(), parameters.end(),
      [&](const SweepParameter& parameter) { return is_on_chip(parameter.name, machines); });
  if (changes_on_chip && !wants_limit && !request_at(0).names_expected()) {
    fail(ErrorKind::usage,
         "--no-limit leaves out the limit, and an axis of on-chip memory the expected time, which "
         "is of chips as they are: leave out --no-limit, or ask for the expected time with "
         "--framework");
  }
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

const Machine& Sweep::State::machine_at(std::int64_t point, Machine& scratch) const {
  const Machine& named =
      machines[static_cast<std::size_t>(grid.index_of(point, axis_named("machine")))];
  const Machine* found = &named;
  for (std::size_t axis = 0; axis < parameters.size(); ++axis) {
    if (!parameters[axis].name.starts_with("machine.")) continue;
    if (found == &named) scratch = named;
    found = &scratch;
    const Axis& values = grid.axes()[axis];
    set_field(scratch, fmt::format("{}={}", parameters[axis].name,
                                   values.setting(values.at(grid.index_of(point, axis)))));
  }
  return *found;
}

HardwareOverrides Sweep::State::overrides_at(std::int64_t point) const {
  HardwareOverrides overrides;
  for (std::size_t axis = 0; axis < parameters.size(); ++axis) {
    const std::string& name = parameters[axis].name;
    if (name != "capacity" && name != "bandwidth" && name != "throughput") continue;
    const AxisValue value = grid.axes()[axis].at(grid.index_of(point, axis));
    if (name == "capacity") overrides.capacity_bytes = value.integer;
    if (name == "bandwidth") overrides.bytes_per_s = value.number;
    if (name == "throughput") overrides.flop_per_s = value.number;
  }
  return overrides;
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
bool Sweep::has_limit() const { return state_->wants_limit && !state_->is_parallel; }
bool Sweep::is_parallel() const { return state_->is_parallel; }
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
  std::unique_ptr<PointWorker> worker;
  if (state_->is_parallel)
    worker = std::make_unique<ParallelSweepWorker>(*state_);
  else
    worker = std::make_unique<SweepWorker>(*state_);
  if (state_->where.empty()) return worker;
  return constrained_worker(
      std::move(worker),
      std::make_unique<SweepColumns>(state_->grid, state_->derived,
                                     state_->is_parallel ? OfStrategies::yes : OfStrategies::no),
      state_->where);
}

}  // namespace strata
