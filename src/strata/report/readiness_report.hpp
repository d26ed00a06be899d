// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/readiness/readiness.hpp"
#include "strata/report/provenance.hpp"
#include "strata/report/text_style.hpp"

#include <span>
#include <string>

/// What a computer can measure, for people and for programs.
namespace strata {

/// A block per area; what to do about something stands below it.
std::string to_text(std::span<const ReadyItem> items, const TextStyle& style);

std::string to_json(std::span<const ReadyItem> items, const Provenance& provenance);

}  // namespace strata
