// SPDX-License-Identifier: Apache-2.0
#include "cli/profile_argument.hpp"

#include "cli/machine_at_hand.hpp"
#include "cli/output.hpp"
#include "cli/predict_flags.hpp"
#include "strata/base/error.hpp"
#include "strata/report/prediction_report.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace strata {

AskedRoofs asked_roofs(const Arguments& given, const Flag& on) {
  const auto name = given.value(on);
  return {.on = name ? std::optional<std::string>(*name) : std::nullopt,
          .settings = given.values(set_flag),
          .otherwise = default_machine};
}

void refuse_flags_for_profile(const Arguments& given, std::span<const Flag> flags,
                              std::initializer_list<const Flag*> allowed) {
  for (const Flag& flag : flags) {
    const bool is_allowed = std::any_of(allowed.begin(), allowed.end(), [&](const Flag* other) {
      return other->name == flag.name;
    });
    if (is_allowed || !given.has(flag)) continue;
    fail(ErrorKind::usage,
         "--{} is for a model that is predicted; what was given is a profile, which was made with "
         "its own",
         flag.name);
  }
}

StoredProfile stored_prediction(const Arguments& given, const std::string& word,
                                const Provenance& provenance) {
  const Graph graph = load_model(word, import_options(given));
  PredictedIteration iteration = predict_model(graph, machine_of(given), quick_request(given));
  warn(iteration.summary.warnings);
  std::string text = to_json(iteration.summary,
                             {.command = provenance.command, .request = request_json(given, word)});
  return {std::move(iteration.summary.profile), std::move(text)};
}

}  // namespace strata
