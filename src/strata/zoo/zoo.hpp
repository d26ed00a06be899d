// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/graph.hpp"

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

/// The built-in networks, built by code. Names are torchvision's where it has the network; hyphens
/// and upper case are accepted; parameters follow a colon: "llama:layers=8,width=1024".
namespace strata {

/// One knob of a network, e.g. {"layers", "8", "decoder layers"}.
struct NetworkParameter {
  std::string_view name;
  std::string_view default_value;
  std::string_view help;
};

/// Values for a network's parameters; what the user left out has its default.
class NetworkArguments {
 public:
  /// What was given, else what the size says, else the default of each parameter.
  NetworkArguments(std::span<const NetworkParameter> parameters, std::string_view given,
                   std::string_view of_size = {});

  /// A whole number of at least `least`; an error names the parameter otherwise.
  std::int64_t number(std::string_view name, std::int64_t least = 1) const;
  /// One of a few words, as an index into them.
  std::size_t word(std::string_view name, std::span<const std::string_view> words) const;

 private:
  void take(std::span<const NetworkParameter> parameters, std::string_view arguments,
            bool is_given);

  std::unordered_map<std::string_view, std::string> values_;
};

/// A released size of a network: "gpt2_large" is gpt2 with other arguments.
struct NetworkSize {
  std::string_view name;
  std::string_view title;
  std::string_view arguments;  ///< "layers=36,width=1280,heads=20"
};

struct Network {
  std::string_view name;    ///< "resnet50"
  std::string_view title;   ///< "ResNet-50"
  std::string_view source;  ///< paper or library that it follows, and in which variant
  std::span<const NetworkParameter> parameters;
  Graph (*build)(const NetworkArguments& arguments);
  std::span<const NetworkSize> sizes = {};  ///< other releases of it, by their names
};

/// Every built-in network, by family, in the order in which they are listed.
std::span<const Network> networks();

/// Of every network and every size.
std::vector<std::string> network_names();

/// "ResNet-50" → "resnet50", "GPT-2 large" → "gpt2": the network meant, also by the name of one of
/// its sizes; or nullptr.
const Network* find_network(std::string_view name);

/// Builds from "name" or "name:parameter=value,…". Errors (usage) suggest the nearest names.
Graph build_network(std::string_view specification);

}  // namespace strata
