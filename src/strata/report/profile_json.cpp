// SPDX-License-Identifier: Apache-2.0
#include "strata/report/profile_json.hpp"

#include "strata/report/prediction_report.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace strata {
namespace {

using ProfileJson = nlohmann::ordered_json;

constexpr int profile_schema_version = 1;
constexpr std::array<std::string_view, 3> predicted_only = {"compute_time_s", "stall_time_s",
                                                            "refetch_bytes"};

}  // namespace

ProfileJson profile_model_json(const ProfileHead& head) {
  ProfileJson dims = ProfileJson::object();
  ProfileJson batch;
  for (const Dimension& dimension : head.dims) {
    dims[dimension.name] = dimension.value;
    if (dimension.name == "batch") batch = dimension.value;
  }
  ProfileJson json = {{"name", head.network},
                      {"title", head.title},
                      {"batch", batch},
                      {"dtype", head.dtype},
                      {"mode", head.is_inference ? "inference" : "training"},
                      {"dims", std::move(dims)}};
  if (!head.setup.empty()) json["setup"] = head.setup;
  return json;
}

void add_profile_head(JsonText& text, std::string_view kind, Evidence evidence,
                      const ProfileHead& head) {
  text.add("schema_version", profile_schema_version);
  text.add("kind", kind);
  text.add("evidence", name_of(evidence));
  text.add("model", profile_model_json(head));
}

void add_totals(ProfileJson& json, const Totals& totals, Evidence evidence) {
  for (const SpentField& field : spent_fields()) {
    const std::string key(field.key);
    if (evidence == Evidence::measured &&
        std::find(predicted_only.begin(), predicted_only.end(), key) != predicted_only.end())
      continue;
    if (field.count != nullptr) {
      json[key] = totals.*field.count;
    } else {
      json[key] = totals.*field.number;
    }
  }
}

ProfileJson profile_row_json(const ProfileRow& row, Evidence evidence) {
  ProfileJson json = {{"layer", row.layer},
                      {"pass", row.pass},
                      {"op", row.op},
                      {"block", row.block},
                      {"class", row.layer_class}};
  add_totals(json, row.totals, evidence);
  return json;
}

ProfileJson iteration_json(const IterationTime& iteration) {
  return {{"time_s", iteration.time_s},
          {"time_from", name_of(iteration.from)},
          {"busy_time_s", iteration.busy_s},
          {"gap_time_s", iteration.gaps_s},
          {"drain_time_s", iteration.drain_s}};
}

void add_profile_groups(JsonText& text, const ProfileGroups& groups, const IterationTime& iteration,
                        Evidence evidence) {
  const auto group_json = [&](const ProfileGroup& group) {
    ProfileJson json = {{"name", group.name},
                        {"time_share", iteration.share_of(group.totals.time_s)}};
    add_totals(json, group.totals, evidence);
    return json;
  };
  text.add_list("by_class", groups.by_class, group_json);
  text.add_list("by_type", groups.by_type, group_json);
  text.add_list("by_pass", groups.by_pass, group_json);
  text.add_list("by_block", groups.by_block, group_json);
}

}  // namespace strata
