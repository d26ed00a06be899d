// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/engine/checked_cells.hpp"
#include "strata/report/provenance.hpp"
#include "strata/report/text_style.hpp"
#include "strata/report/trained_networks.hpp"

#include <span>
#include <string>

/// Which test stands behind each operator, pass, device and data type.
namespace strata {

/// A row per operator and pass, a column per device and type; cells are numbers of the tests below.
std::string to_text(std::span<const CheckedCell> cells, const TextStyle& style);

/// With the networks that were trained as a whole.
std::string to_json(std::span<const CheckedCell> cells, std::span<const TrainedNetwork> networks,
                    const Provenance& provenance);

}  // namespace strata
