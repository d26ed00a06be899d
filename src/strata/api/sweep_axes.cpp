// SPDX-License-Identifier: Apache-2.0
#include "strata/api/sweep_state.hpp"
#include "strata/base/text.hpp"
#include "strata/base/units.hpp"
#include "strata/parallel/strategy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace strata {
namespace {

struct KnownParameter {
  std::string_view name;
  AxisKind kind;
  Depends depends;
};

// What is not a text, or changes less than the program. All other names that set_option knows are
// texts that may change anything. The order is that of the points.
constexpr KnownParameter known[] = {
    {"model", AxisKind::text, Depends::model},
    {"seq", AxisKind::count, Depends::program},
    {"batch", AxisKind::count, Depends::program},
    {"micro-batches", AxisKind::count, Depends::program},
    {"dtype", AxisKind::text, Depends::program},
    {"policy", AxisKind::text, Depends::options},
    {"prefetch", AxisKind::text, Depends::options},
    {"offload", AxisKind::text, Depends::options},
    {"channel", AxisKind::text, Depends::options},
    {"objective", AxisKind::text, Depends::options},
    {"granularity", AxisKind::bytes, Depends::options},
    {"strict-minimum", AxisKind::text, Depends::options},
    {"host", AxisKind::text, Depends::options},
    {"capacity", AxisKind::bytes, Depends::capacity},
    {"machine", AxisKind::text, Depends::machine},
    {"bandwidth", AxisKind::bytes_per_s, Depends::rates},
    {"throughput", AxisKind::flop_per_s, Depends::rates},
};

constexpr std::string_view default_machine = "h100-sxm";
constexpr std::string_view training_only[] = {"optimizer", "loss", "recompute", "micro-batches",
                                              "master-weights"};

bool is_option(std::string_view name) {
  const auto names = predict_options();
  return name != "bounds" && std::find(names.begin(), names.end(), name) != names.end();
}

AxisKind kind_of_field(std::string_view field) {
  if (field.ends_with("bytes_per_s")) return AxisKind::bytes_per_s;
  if (field.ends_with("flop_per_s")) return AxisKind::flop_per_s;
  return field.ends_with("bytes") ? AxisKind::bytes : AxisKind::seconds;
}

std::string place_of(const SweepValues& given_values) {
  return given_values.place.empty() ? fmt::format("--{}", given_values.name) : given_values.place;
}

// Data types by their own names, however they were written.
std::vector<std::string> texts_of(std::string_view parameter, std::string_view list) {
  std::vector<std::string> texts;
  for (const std::string_view item : split(list, ',')) {
    const std::string_view text = trimmed(item);
    const auto dtype = parameter == "dtype" ? dtype_meant(text) : std::nullopt;
    texts.emplace_back(dtype ? name_of(*dtype) : text);
  }
  return texts;
}

const SweepValues* values_named(const SweepRequest& request, std::string_view name) {
  const auto found =
      std::find_if(request.parameters.begin(), request.parameters.end(),
                   [&](const SweepValues& given_values) { return given_values.name == name; });
  return found == request.parameters.end() ? nullptr : &*found;
}

bool is_strategy_part(std::string_view name) {
  const auto is_among = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return is_among(strategy_counts()) || is_among(strategy_choices());
}

AxisKind kind_of_part(std::string_view name) {
  const std::vector<std::string> choices = strategy_choices();
  if (std::find(choices.begin(), choices.end(), name) != choices.end()) return AxisKind::text;
  return name == "zero" ? AxisKind::level : AxisKind::count;
}

/// A machine that is a cluster, or an axis that only strategies have.
bool asks_for_strategies(const SweepRequest& request) {
  return std::any_of(
      request.parameters.begin(), request.parameters.end(), [](const SweepValues& one) {
        if (one.name != "on" && one.name != "machine")
          return one.name != "recompute" && is_strategy_part(one.name);
        const std::vector<std::string_view> machines = split(one.values, ',');
        return std::any_of(machines.begin(), machines.end(), [](std::string_view machine) {
          return names_cluster(trimmed(machine));
        });
      });
}

/// What a part of a strategy can be is known before any point; what goes together is not.
void check_parts(const Axis& axis, const std::string& place) {
  constexpr std::int64_t most_checked = 10000;
  try {
    for (std::int64_t i = 0; i < std::min(axis.size(), most_checked); ++i)
      static_cast<void>(parse_strategy(fmt::format("{}={}", axis.name(), axis.at(i).text)));
  } catch (Error& error) {
    error.add_context(place);
    throw;
  }
}

// A name that exists for one value exists for all; ranges are of numbers, which the axis has read.
void check_values(const Axis& axis, Depends depends, const std::string& place) {
  if (is_strategy_part(axis.name()) && depends == Depends::strategy)
    return check_parts(axis, place);
  if (axis.kind() != AxisKind::text || axis.name() == "model" || axis.name() == "machine") return;
  for (std::int64_t i = 0; i < axis.size(); ++i) {
    const std::string value = axis.at(i).text;
    if (axis.name() == "dtype") {
      if (dtype_named(value)) continue;
      std::vector<std::string> names;
      for (const DType dtype : all_dtypes()) names.emplace_back(name_of(dtype));
      fail(ErrorKind::usage, "{}: no data type '{}'{}", place, value, did_you_mean(value, names));
    }
    PredictRequest scratch;
    set_option(scratch, axis.name(), value);
  }
}

void check_machine_fields(const SweepAxes& found) {
  const auto machines = std::find_if(found.axes.begin(), found.axes.end(),
                                     [](const Axis& axis) { return axis.name() == "machine"; });
  for (const Axis& axis : found.axes) {
    if (!axis.name().starts_with("machine.")) continue;
    for (std::int64_t i = 0; i < machines->size(); ++i) {
      Machine machine = load_cluster(machines->at(i).text).machine;
      set_field(machine, fmt::format("{}={}", axis.name(), axis.setting(axis.at(0))));
    }
  }
}

void refuse_training_in_inference(const SweepRequest& request) {
  const SweepValues* inference = values_named(request, "inference");
  if (inference == nullptr || trimmed(inference->values) != "true") return;
  for (const std::string_view name : training_only) {
    if (const SweepValues* given_values = values_named(request, name))
      fail(ErrorKind::usage, "{} is about training and does not go with --inference",
           place_of(*given_values));
  }
}

void add(SweepAxes& found, SweepParameter parameter, Axis axis, const std::string& place) {
  const auto same =
      std::find_if(found.parameters.begin(), found.parameters.end(),
                   [&](const SweepParameter& other) { return other.name == parameter.name; });
  if (same != found.parameters.end())
    fail(ErrorKind::usage, "{}: {} is given twice", place, parameter.name);
  check_values(axis, parameter.depends, place);
  found.parameters.push_back(std::move(parameter));
  found.axes.push_back(std::move(axis));
}

// Where a parameter stands in the order of points: by what depends on it, then as the table says.
std::size_t rank_of(const SweepParameter& parameter) {
  const auto* const at = std::find_if(std::begin(known), std::end(known),
                                      [&](const auto& row) { return row.name == parameter.name; });
  return static_cast<std::size_t>(parameter.depends) * 100 +
         static_cast<std::size_t>(at - std::begin(known));
}

SweepAxes in_order(SweepAxes found) {
  std::vector<std::size_t> order(found.axes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const SweepParameter& first = found.parameters[a];
    const SweepParameter& second = found.parameters[b];
    return std::pair(rank_of(first), first.name) < std::pair(rank_of(second), second.name);
  });
  SweepAxes sorted;
  sorted.is_parallel = found.is_parallel;
  for (const std::size_t i : order) {
    sorted.axes.push_back(std::move(found.axes[i]));
    sorted.parameters.push_back(std::move(found.parameters[i]));
  }
  return sorted;
}

}  // namespace

std::vector<std::string> sweep_parameters() {
  std::vector<std::string> names;
  for (const KnownParameter& parameter : known) names.emplace_back(parameter.name);
  for (const std::string_view name : predict_options()) {
    if (is_option(name) && std::find(names.begin(), names.end(), name) == names.end())
      names.emplace_back(name);
  }
  return names;
}

SweepParameter parameter_named(const std::string& name, std::string_view place, bool is_parallel) {
  if (is_parallel && name == "micro-batches") return {"micro", AxisKind::count, Depends::strategy};
  if (is_strategy_part(name) && (is_parallel || name != "recompute"))
    return {name, kind_of_part(name), Depends::strategy};
  if (name == "on") return {"machine", AxisKind::text, Depends::machine};
  for (const KnownParameter& parameter : known) {
    if (parameter.name == name) return {name, parameter.kind, parameter.depends};
  }
  if (name.starts_with("dim.") && name.size() > 4) return {name, AxisKind::count, Depends::program};
  if (name.starts_with("machine."))
    return {lower_case(name), kind_of_field(lower_case(name)), Depends::machine};
  if (is_option(name)) return {name, AxisKind::text, Depends::program};
  std::vector<std::string> names = sweep_parameters();
  for (const std::vector<std::string>& parts : {strategy_counts(), strategy_choices()})
    names.insert(names.end(), parts.begin(), parts.end());
  fail(ErrorKind::usage, "{}: no parameter '{}'{}; there are: {}, dim.NAME, machine.FIELD", place,
       name, did_you_mean(name, names), fmt::join(names, ", "));
}

SweepAxes axes_of(const SweepRequest& request) {
  if (request.models.empty()) fail(ErrorKind::usage, "no network is given");
  refuse_training_in_inference(request);
  SweepAxes found;
  found.is_parallel = asks_for_strategies(request);
  add(found, parameter_named("model", ""), Axis("model", request.models, "MODEL"), "MODEL");
  for (const SweepValues& given_values : request.parameters) {
    const std::string place = place_of(given_values);
    SweepParameter parameter = parameter_named(given_values.name, place, found.is_parallel);
    if (found.is_parallel && parameter.depends == Depends::capacity)
      fail(ErrorKind::usage, "{} is of the limit on one device, which has no strategies", place);
    Axis axis = parameter.kind == AxisKind::text
                    ? Axis(parameter.name, texts_of(parameter.name, given_values.values), place)
                    : Axis(parameter.name, parameter.kind, given_values.values, place);
    add(found, std::move(parameter), std::move(axis), place);
  }
  if (std::none_of(found.axes.begin(), found.axes.end(),
                   [](const Axis& axis) { return axis.name() == "machine"; })) {
    add(found, parameter_named("machine", ""), Axis("machine", {std::string(default_machine)}, ""),
        "");
  }
  check_machine_fields(found);
  return in_order(std::move(found));
}

}  // namespace strata
