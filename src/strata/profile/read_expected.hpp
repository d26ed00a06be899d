// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/object_reader.hpp"
#include "strata/profile/profile.hpp"

#include <string>

/// Expected times in the document of a prediction. Errors (input) name the field.
namespace strata {

ExpectedIteration read_expected_iteration(const ObjectReader::Json& json, const std::string& place);
ExpectedRow read_expected_row(const ObjectReader::Json& json, const std::string& place);

}  // namespace strata
