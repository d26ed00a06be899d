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

/// A network, and the size that its name may mean.
struct NamedNetwork {
  const Network* network = nullptr;
  const NetworkSize* size = nullptr;
};

NamedNetwork network_named(std::string_view name) {
  const std::string key = letters_and_digits(name);
  for (const Network& network : networks()) {
    if (letters_and_digits(network.name) == key) return {&network, nullptr};
    for (const NetworkSize& size : network.sizes) {
      if (letters_and_digits(size.name) == key) return {&network, &size};
    }
  }
  return {};
}

}  // namespace

NetworkArguments::NetworkArguments(std::span<const NetworkParameter> parameters,
                                   std::string_view given, std::string_view of_size) {
  take(parameters, given, true);
  take(parameters, of_size, false);
  for (const NetworkParameter& parameter : parameters) {
    values_.emplace(parameter.name, parameter.default_value);
  }
}

void NetworkArguments::take(std::span<const NetworkParameter> parameters,
                            std::string_view arguments, bool is_given) {
  if (trimmed(arguments).empty()) return;
  for (const std::string_view item : split(arguments, ',')) {
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) {
      fail(ErrorKind::usage, "expected parameter=value, got '{}'; {}", trimmed(item),
           known_parameters(parameters));
    }
    const std::string name = lower_case(trimmed(item.substr(0, equals)));
    const std::string_view value = trimmed(item.substr(equals + 1));
    const NetworkParameter& parameter = parameter_named(parameters, name);
    if (value.empty()) fail(ErrorKind::usage, "parameter '{}' has no value", name);
    if (!values_.emplace(parameter.name, value).second && is_given) {
      fail(ErrorKind::usage, "parameter '{}' is given twice", name);
    }
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

std::vector<std::string> network_names() {
  std::vector<std::string> names;
  for (const Network& network : networks()) {
    names.emplace_back(network.name);
    for (const NetworkSize& size : network.sizes) names.emplace_back(size.name);
  }
  return names;
}

const Network* find_network(std::string_view name) { return network_named(name).network; }

Graph build_network(std::string_view specification) {
  const std::size_t colon = specification.find(':');
  const std::string_view name = trimmed(specification.substr(0, colon));
  const std::string_view given =
      colon == std::string_view::npos ? std::string_view{} : specification.substr(colon + 1);
  const auto [network, size] = network_named(name);
  if (network == nullptr) {
    fail(ErrorKind::usage, "no network named '{}'{} (strata list networks)", name,
         did_you_mean(lower_case(name), network_names()));
  }
  const std::string_view own_name = size != nullptr ? size->name : network->name;
  try {
    Graph graph = network->build(NetworkArguments(
        network->parameters, given, size != nullptr ? size->arguments : std::string_view{}));
    graph.name = own_name;
    graph.title = size != nullptr ? size->title : network->title;
    graph.source = network->source;
    return graph;
  } catch (Error& error) {
    error.add_context(std::string(own_name));
    throw;
  }
}

}  // namespace strata
