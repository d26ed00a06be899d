// SPDX-License-Identifier: Apache-2.0
#include "strata/zoo/zoo.hpp"

#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/zoo/image/image_networks.hpp"
#include "strata/zoo/sequence/sequence_networks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace strata {
namespace {

std::string known_parameters(std::span<const NetworkParameter> parameters) {
  if (parameters.empty()) return "it has none";
  std::vector<std::string_view> names;
  for (const NetworkParameter& parameter : parameters) names.push_back(parameter.name);
  return fmt::format("its parameters are {}", fmt::join(names, ", "));
}

const NetworkParameter& parameter_named(std::span<const NetworkParameter> parameters,
                                        std::string_view name) {
  const auto found = std::find_if(parameters.begin(), parameters.end(),
                                  [&](const auto& parameter) { return parameter.name == name; });
  if (found != parameters.end()) return *found;
  fail(ErrorKind::usage, "unknown parameter '{}'; {}", name, known_parameters(parameters));
}

/// What is left of a name when people's ways to write it are taken away: "MobileNet-V2" →
/// "mobilenetv2".
std::string letters_and_digits(std::string_view name) {
  std::string key = lower_case(trimmed(name));
  std::erase_if(key, [](char c) { return c == '-' || c == '_' || c == '.' || c == ' '; });
  return key;
}

std::vector<std::string> network_names() {
  std::vector<std::string> names;
  for (const Network& network : networks()) names.emplace_back(network.name);
  return names;
}

}  // namespace

NetworkArguments::NetworkArguments(std::span<const NetworkParameter> parameters,
                                   std::string_view given) {
  if (!trimmed(given).empty()) {
    for (const std::string_view item : split(given, ',')) {
      const std::size_t equals = item.find('=');
      if (equals == std::string_view::npos) {
        fail(ErrorKind::usage, "expected parameter=value, got '{}'; {}", trimmed(item),
             known_parameters(parameters));
      }
      const std::string name = lower_case(trimmed(item.substr(0, equals)));
      const std::string_view value = trimmed(item.substr(equals + 1));
      const NetworkParameter& parameter = parameter_named(parameters, name);
      if (value.empty()) fail(ErrorKind::usage, "parameter '{}' has no value", name);
      if (!values_.emplace(parameter.name, value).second) {
        fail(ErrorKind::usage, "parameter '{}' is given twice", name);
      }
    }
  }
  for (const NetworkParameter& parameter : parameters) {
    values_.emplace(parameter.name, parameter.default_value);
  }
}

std::int64_t NetworkArguments::number(std::string_view name, std::int64_t least) const {
  const auto found = values_.find(name);
  STRATA_CHECK(found != values_.end(), "a network reads only parameters that it declares");
  const std::string& text = found->second;
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size()) {
    fail(ErrorKind::usage, "parameter '{}' expects a whole number, got '{}'{}", name, text,
         problem == std::errc::result_out_of_range ? ", which needs more than 64 bits" : "");
  }
  if (value < least) {
    fail(ErrorKind::usage, "parameter '{}' must be at least {}, got {}", name, least, value);
  }
  return value;
}

std::size_t NetworkArguments::word(std::string_view name,
                                   std::span<const std::string_view> words) const {
  const auto found = values_.find(name);
  STRATA_CHECK(found != values_.end(), "a network reads only parameters that it declares");
  const auto match = std::find(words.begin(), words.end(), lower_case(found->second));
  if (match == words.end()) {
    fail(ErrorKind::usage, "parameter '{}' expects {}, got '{}'", name, fmt::join(words, " or "),
         found->second);
  }
  return static_cast<std::size_t>(match - words.begin());
}

std::span<const Network> networks() {
  static const std::vector<Network> all = [] {
    const auto images = image_networks();
    const auto sequences = sequence_networks();
    std::vector<Network> joined(images.begin(), images.end());
    joined.insert(joined.end(), sequences.begin(), sequences.end());
    return joined;
  }();
  return all;
}

const Network* find_network(std::string_view name) {
  const std::string key = letters_and_digits(name);
  for (const Network& network : networks()) {
    if (letters_and_digits(network.name) == key) return &network;
  }
  return nullptr;
}

Graph build_network(std::string_view specification) {
  const std::size_t colon = specification.find(':');
  const std::string_view name = trimmed(specification.substr(0, colon));
  const std::string_view given =
      colon == std::string_view::npos ? std::string_view{} : specification.substr(colon + 1);
  const Network* network = find_network(name);
  if (network == nullptr) {
    fail(ErrorKind::usage, "no network named '{}'{} (strata list networks)", name,
         did_you_mean(lower_case(name), network_names()));
  }
  try {
    Graph graph = network->build(NetworkArguments(network->parameters, given));
    graph.name = network->name;
    graph.title = network->title;
    graph.source = network->source;
    return graph;
  } catch (Error& error) {
    error.add_context(network->name);
    throw;
  }
}

}  // namespace strata
