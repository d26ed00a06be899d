// SPDX-License-Identifier: Apache-2.0
#include "cli/predict_devices.hpp"

#include "cli/exit_code.hpp"
#include "cli/html_output.hpp"
#include "cli/output.hpp"
#include "cli/output_files.hpp"
#include "cli/predict_flags.hpp"
#include "cli/predict_machines.hpp"
#include "cli/predict_parallel.hpp"
#include "cli/progress.hpp"
#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/base/units.hpp"
#include "strata/sweep/axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace strata {
namespace {

constexpr Flag scaling_json_flag{
    .name = "json", .value = "FILE", .help = "Everything as JSON.", .offer = Offer::output};
constexpr std::int64_t most_device_counts = 200;

std::vector<std::int64_t> device_counts(const Arguments& given) {
  const Axis axis("devices", AxisKind::count, *given.value(devices_flag), "--devices");
  if (axis.size() > most_device_counts)
    fail(ErrorKind::usage, "--devices has {} numbers; at most {} are tried", axis.size(),
         most_device_counts);
  std::vector<std::int64_t> counts;
  for (std::int64_t i = 0; i < axis.size(); ++i) counts.push_back(axis.at(i).integer);
  std::sort(counts.begin(), counts.end());
  return counts;
}

double positive_amount(const Arguments& given, const Flag& flag, double most) {
  const std::string what = fmt::format("--{}", flag.name);
  const double amount = parse_number(*given.value(flag), what);
  if (!(amount > 0 && amount <= most))
    fail(ErrorKind::usage, "{} expects a number above 0 and up to {:g}, got '{}'", what, most,
         *given.value(flag));
  return amount;
}

void refuse_beside_devices(const Arguments& given) {
  const auto split = given.value(parallel_flag);
  if (split && !same_name(*split, "auto"))
    fail(ErrorKind::usage,
         "--devices finds the best strategy of each number of devices: --parallel auto, not '{}'",
         *split);
  for (const std::string_view name : {"csv", "trace", "by", "top"}) {
    if (given.has(Flag{.name = name}))
      fail(ErrorKind::usage, "--{} does not go with --devices; --json and --html do", name);
  }
  if (given.has(batch_per_device_flag) && given.has(batch_flag))
    fail(ErrorKind::usage, "--batch is that of all devices; give it or --batch-per-device");
}

}  // namespace

TrainingTerms training_terms(const Arguments& given, const Machine& machine) {
  constexpr double most_amount = 1e24, most_price = 1e9;
  TrainingTerms terms;
  if (given.has(tokens_flag) && given.has(run_samples_flag))
    fail(ErrorKind::usage, "--tokens and --samples both say how long the run is; give one");
  if (given.has(tokens_flag)) terms.tokens = positive_amount(given, tokens_flag, most_amount);
  if (given.has(run_samples_flag))
    terms.samples = positive_amount(given, run_samples_flag, most_amount);
  if (machine.price) {
    terms.price_per_hour = machine.price->per_hour.value;
    terms.currency = machine.price->currency;
  }
  if (given.has(price_flag)) {
    terms.price_per_hour = positive_amount(given, price_flag, most_price);
    terms.currency = "USD";
  }
  if (machine.power_w) terms.power_w = machine.power_w->value;
  return terms;
}

int predict_over_devices(const Request& request, const Graph& graph, const Cluster& cluster,
                         const PredictRequest& wanted) {
  const Arguments& given = request.arguments;
  refuse_beside_devices(given);
  ScalingRequest asked{.predict = wanted,
                       .devices = device_counts(given),
                       .terms = training_terms(given, cluster.machine)};
  if (const auto batch = given.value(batch_per_device_flag))
    asked.batch_per_device = parse_whole_number(*batch, "--batch-per-device", 1, 1 << 30);
  const ParallelScaling scaling = predict_scaling(
      graph, cluster, asked, [](std::int64_t devices, std::size_t done, std::size_t all) {
        show_progress(fmt::format("strategies for {} devices", devices), done, all);
      });
  clear_progress();
  OutputFiles outputs(given);
  outputs.write(scaling_json_flag,
                [&] { return to_json(scaling, {.command = request.command_line}); });
  outputs.write(html_flag, [&] {
    const PageSection part = page_section(scaling, {.command = request.command_line});
    return page_text(part.name, {part});
  });
  if (!outputs.took_stdout()) print(to_text(scaling, request.style));
  return given.has(require_fit_flag) && !scaling.has_answer() ? exit_code::answer_is_no
                                                              : exit_code::done;
}

}  // namespace strata
