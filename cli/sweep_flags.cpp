// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep_flags.hpp"

#include "cli/machine_at_hand.hpp"
#include "cli/sweep_answers.hpp"
#include "strata/base/error.hpp"
#include "strata/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata {
namespace {

SweepValues values_of_flag(const Flag& flag, std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string name(trimmed(text.substr(0, equals)));
  if (equals == std::string_view::npos || name.empty())
    fail(ErrorKind::usage, "--{} expects {}, got '{}'", flag.name, flag.value, text);
  const std::string place = fmt::format("--{} {}", flag.name, name);
  if (flag.name == sweep_set_flag.name && !lower_case(name).starts_with("machine."))
    fail(ErrorKind::usage, "--set expects machine.FIELD=RANGE, got '{}'", text);
  const std::string prefix = flag.name == sweep_dim_flag.name ? "dim." : "";
  return {prefix + name, std::string(text.substr(equals + 1)), place};
}

std::vector<SweepValues> parameters_of(const Arguments& given) {
  std::vector<SweepValues> parameters;
  for (const Flag& flag : range_flags) {
    if (const auto value = given.value(flag))
      parameters.push_back({std::string(flag.name), std::string(*value)});
  }
  for (const Flag& flag :
       {inference_flag, strict_minimum_flag, master_weights_flag, channels_last_flag}) {
    if (given.has(flag)) parameters.push_back({std::string(flag.name), "true"});
  }
  for (const Flag& flag : named_range_flags) {
    for (const std::string& value : given.values(flag))
      parameters.push_back(values_of_flag(flag, value));
  }
  return parameters;
}

// What the command line says of a parameter replaces what the file says.
void replace_parameters(SweepRequest& request, std::vector<SweepValues> given) {
  for (SweepValues& given_values : given) {
    std::erase_if(request.parameters, [&](const SweepValues& other) {
      return other.name == given_values.name && other.place.find(": line ") != std::string::npos;
    });
    request.parameters.push_back(std::move(given_values));
  }
}

// As predict does: where no machine is named, the one that was measured on this host.
void add_machine_at_hand(SweepRequest& request) {
  const bool has_machine = std::any_of(
      request.parameters.begin(), request.parameters.end(),
      [](const SweepValues& each) { return each.name == "on" || each.name == "machine"; });
  if (has_machine) return;
  const auto file = machine_at_hand();
  if (file && file->string().find(',') == std::string::npos)
    request.parameters.push_back({"on", file->string(), file->string()});
}

}  // namespace

SweepRequest sweep_request(const Arguments& given) {
  SweepRequest request;
  std::vector<std::string> models;
  std::string file;
  for (const std::string& word : given.words()) {
    if (!is_sweep_file(word)) {
      models.push_back(word);
    } else if (file.empty()) {
      file = word;
    } else {
      fail(ErrorKind::usage, "two sweep files are given: {} and {}", file, word);
    }
  }
  if (!file.empty()) request = read_sweep_file(file);
  if (!models.empty()) request.models = std::move(models);
  const bool has_import_flag = std::any_of(import_flags.begin(), import_flags.end(),
                                           [&](const Flag& flag) { return given.has(flag); });
  if (file.empty() || has_import_flag) request.import = import_options(given);
  if (const auto preset = given.value(preset_flag)) request.preset = *preset;
  if (given.has(no_limit_flag)) request.wants_limit = false;
  replace_parameters(request, parameters_of(given));
  add_machine_at_hand(request);
  if (given.has(column_flag)) request.columns = given.values(column_flag);
  if (given.has(where_flag)) request.where = given.values(where_flag);
  return request;
}

}  // namespace strata
