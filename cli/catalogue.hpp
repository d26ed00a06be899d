// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/framework/framework.hpp"
#include "strata/importers/importers.hpp"
#include "strata/machine/machine.hpp"
#include "strata/report/provenance.hpp"
#include "strata/report/text_style.hpp"
#include "strata/zoo/zoo.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace strata {

/// What this program brings along. A list that was not asked for is absent.
struct Catalogue {
  struct NetworkEntry {
    const Network* network = nullptr;
    const NetworkSize* size = nullptr;  ///< a size with a name of its own; nullptr: the default
    std::int64_t layers = 0;            ///< of the network with default parameters
    std::int64_t parameters = 0;        ///< learnt numbers, likewise

    std::string_view name() const { return size != nullptr ? size->name : network->name; }
    std::string_view title() const { return size != nullptr ? size->title : network->title; }
  };
  std::optional<std::vector<NetworkEntry>> networks;
  std::optional<std::vector<Machine>> machines;
  std::optional<std::vector<Format>> formats;
  std::optional<std::vector<std::string_view>> operators;
  std::optional<std::vector<Framework>> frameworks;
};

/// `kind` is "networks", "machines", "formats", "operators" or "frameworks"; empty: all but the
/// operators, which are many, and the frameworks.
Catalogue read_catalogue(std::string_view kind);

std::string to_text(const Catalogue& catalogue, const TextStyle& style);
std::string to_json(const Catalogue& catalogue, const Provenance& provenance);
/// Of one list: each has columns of its own. Errors (usage): there are several.
std::string to_csv(const Catalogue& catalogue);

}  // namespace strata
