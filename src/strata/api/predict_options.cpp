// SPDX-License-Identifier: Apache-2.0
#include "strata/api/predict.hpp"
#include "strata/base/text.hpp"
#include "strata/base/units.hpp"
#include "strata/predict/option_names.hpp"

#include <fmt/format.h>

namespace strata {
namespace {

/// A text and how to name it in an error.
struct Given {
  std::string_view text;
  std::string what;  // "--capacity"
};

/// Of the capacity predict() checks this.
std::int64_t positive_bytes(const Given& given) {
  const std::int64_t bytes = parse_bytes(given.text, given.what);
  if (bytes < 1) {
    fail(ErrorKind::usage, "{} must be at least 1 byte, got '{}'", given.what, given.text);
  }
  return bytes;
}

double positive(double rate, const Given& given) {
  if (!(rate > 0)) fail(ErrorKind::usage, "{} must be positive, got '{}'", given.what, given.text);
  return rate;
}

bool truth(const Given& given) {
  if (given.text == "true") return true;
  if (given.text == "false") return false;
  fail(ErrorKind::usage, "{} is true or false, got '{}'", given.what, given.text);
}

template <class Enum, std::size_t count>
void choose(std::optional<Enum>& to, const std::array<std::string_view, count>& names,
            const Given& given) {
  to = named<Enum>(names, given.text, given.what);
}

template <class Enum, std::size_t count>
void choose(Enum& to, const std::array<std::string_view, count>& names, const Given& given) {
  to = named<Enum>(names, given.text, given.what);
}

constexpr std::array<std::string_view, 2> expert_names = {"apart", "grouped"};

std::optional<DType> autocast_type(const Given& given) {
  if (given.text == "none") return std::nullopt;
  const auto dtype = dtype_meant(given.text);
  if (dtype != DType::bf16 && dtype != DType::fp16)
    fail(ErrorKind::usage, "{} is bf16, fp16 or none, got '{}'", given.what, given.text);
  return dtype;
}

constexpr std::array<std::string_view, 3> bounds_names = {"auto", "always", "never"};

struct Option {
  std::string_view name;
  void (*set)(PredictRequest& request, const Given& given);
};

using Request = PredictRequest;

constexpr Option known_options[] = {
    {"capacity",
     [](Request& to, const Given& given) {
       to.hardware.capacity_bytes = parse_bytes(given.text, given.what);
     }},
    {"bandwidth",
     [](Request& to, const Given& given) {
       to.hardware.bytes_per_s = positive(parse_bytes_per_s(given.text, given.what), given);
     }},
    {"throughput",
     [](Request& to, const Given& given) {
       to.hardware.flop_per_s = positive(parse_flop_per_s(given.text, given.what), given);
     }},
    {"policy",
     [](Request& to, const Given& given) { choose(to.options.policy, policy_names, given); }},
    {"prefetch",
     [](Request& to, const Given& given) { choose(to.options.prefetch, prefetch_names, given); }},
    {"offload",
     [](Request& to, const Given& given) { choose(to.options.offload, offload_names, given); }},
    {"channel",
     [](Request& to, const Given& given) { choose(to.options.channel, channel_names, given); }},
    {"objective",
     [](Request& to, const Given& given) { choose(to.options.objective, objective_names, given); }},
    {"bounds", [](Request& to, const Given& given) { choose(to.bounds, bounds_names, given); }},
    {"granularity",
     [](Request& to, const Given& given) { to.options.granularity_bytes = positive_bytes(given); }},
    {"strict-minimum",
     [](Request& to, const Given& given) {
       to.options.strict_minimum = truth(given);
       to.options.minimum_slack = 0;
     }},
    {"inference", [](Request& to, const Given& given) { to.training.inference = truth(given); }},
    {"optimizer",
     [](Request& to, const Given& given) {
       choose(to.training.optimizer, optimizer_names, given);
     }},
    {"loss", [](Request& to, const Given& given) { choose(to.training.loss, loss_names, given); }},
    {"recompute",
     [](Request& to, const Given& given) {
       choose(to.training.recompute, recompute_names, given);
     }},
    {"micro-batches",
     [](Request& to, const Given& given) {
       to.training.micro_batches = parse_whole_number(given.text, given.what);
     }},
    {"master-weights",
     [](Request& to, const Given& given) { to.training.master_weights = truth(given); }},
    {"separate-backward",
     [](Request& to, const Given& given) { to.training.separate_backward = truth(given); }},
    {"pool-keeps-input",
     [](Request& to, const Given& given) { to.training.pool_keeps_input = truth(given); }},
    {"framework",
     [](Request& to, const Given& given) {
       if (given.text != "none") framework_named(given.text);
       to.framework = std::string(given.text);
     }},
    {"amp",
     [](Request& to, const Given& given) { to.framework_options.autocast = autocast_type(given); }},
    {"channels-last",
     [](Request& to, const Given& given) { to.framework_options.channels_last = truth(given); }},
    {"attention",
     [](Request& to, const Given& given) {
       choose(to.framework_options.attention, attention_names, given);
     }},
    {"experts",
     [](Request& to, const Given& given) {
       choose(to.framework_options.experts, expert_names, given);
     }},
    {"host", [](Request& to, const Given& given) { to.host = host_named(given.text); }},
};

}  // namespace

void set_option(PredictRequest& request, std::string_view name, std::string_view value) {
  for (const Option& option : known_options) {
    if (option.name != name) continue;
    option.set(request, {value, fmt::format("--{}", name)});
    return;
  }
  std::vector<std::string> names;
  for (const Option& option : known_options) names.emplace_back(option.name);
  fail(ErrorKind::usage, "no option '{}'{}; options are: {}", name, did_you_mean(name, names),
       fmt::join(names, ", "));
}

PredictRequest request_of_preset(std::string_view preset) {
  if (preset.empty()) return {};
  if (preset == "thesis") return thesis_request();
  fail(ErrorKind::usage, "no preset '{}'; there is: thesis", preset);
}

std::vector<std::string_view> predict_options() {
  std::vector<std::string_view> names;
  for (const Option& option : known_options) names.push_back(option.name);
  return names;
}

}  // namespace strata
