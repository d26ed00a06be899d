// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/profile/profile.hpp"
#include "strata/report/json_text.hpp"
#include "strata/report/model_summary.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

/// What the documents of predictions and measurements have in common: both are profiles, and who
/// reads one reads the other.
namespace strata {

/// What a profile is of.
struct ProfileHead {
  const std::string& network;
  const std::string& title;
  const std::vector<Dimension>& dims;
  const std::string& dtype;
  bool is_inference = false;
  const std::string& setup;  ///< as ProfileSubject has it
};
nlohmann::ordered_json profile_model_json(const ProfileHead& head);
/// `schema_version`, `kind` and `evidence`, the first entries, and `model`.
void add_profile_head(JsonText& text, std::string_view kind, Evidence evidence,
                      const ProfileHead& head);

/// Adds the totals of a row. A clock cannot tell waiting from computing, so a measurement has no
/// stalls.
void add_totals(nlohmann::ordered_json& json, const Totals& totals, Evidence evidence);

/// A row of `layers`, to which either adds what only it knows.
nlohmann::ordered_json profile_row_json(const ProfileRow& row, Evidence evidence);

/// Time by what rows have in common, with its share of the iteration.
struct ProfileGroups {
  const std::vector<ProfileGroup>& by_class;
  const std::vector<ProfileGroup>& by_type;
  const std::vector<ProfileGroup>& by_pass;
  const std::vector<ProfileGroup>& by_block;
};
void add_profile_groups(JsonText& text, const ProfileGroups& groups, const IterationTime& iteration,
                        Evidence evidence);

/// The first entries of `totals`: the time of the iteration, how it was obtained, and its parts.
nlohmann::ordered_json iteration_json(const IterationTime& iteration);

}  // namespace strata
