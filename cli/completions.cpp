// SPDX-License-Identifier: Apache-2.0
#include "cli/completions.hpp"

#include "cli/command.hpp"
#include "strata/base/embedded.hpp"
#include "strata/zoo/zoo.hpp"

namespace strata {

std::string for_single_quotes(std::string_view text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted;
}

std::vector<std::string_view> command_words() {
  std::vector<std::string_view> words;
  for (const Command* command : commands()) words.push_back(command->name);
  return words;
}

std::vector<std::string_view> machine_words() {
  std::vector<std::string_view> words;
  for (const EmbeddedFile& file : embedded_machines()) words.push_back(file.name);
  return words;
}

std::vector<std::string_view> network_words() {
  std::vector<std::string_view> words;
  for (const Network& network : networks()) {
    words.push_back(network.name);
    for (const NetworkSize& size : network.sizes) words.push_back(size.name);
  }
  return words;
}

}  // namespace strata
