// SPDX-License-Identifier: Apache-2.0
#include "cli/explained_profile.hpp"

#include "strata/api/explain.hpp"

namespace strata {

ExplainedProfile explain_stored(const StoredProfile& stored, const AskedRoofs& asked) {
  const std::string& own = stored.profile.subject.machine;
  const auto recorded = recorded_prediction(stored.text);
  const bool has_own_roofs = (!asked.on || *asked.on == own) && asked.settings.empty();
  ExplainedProfile made;
  if (recorded && has_own_roofs) {
    made.again = recorded_request(*recorded);
  } else if (recorded) {
    made.again.reason = "--on or --set asks for other roofs than its own";
  }
  const RecordedRequest* again = made.again.request.get();
  made.machine = again != nullptr ? as_asked(again->machine, again->request.hardware)
                                  : machine_for(asked, own);
  ExplainInput input{.profile = stored.profile,
                     .machine = made.machine,
                     .facts = recorded ? &recorded->facts : nullptr,
                     .predict_again = {},
                     .no_prediction_reason = made.again.reason};
  if (again != nullptr) {
    input.predict_again =
        predict_again(again->graph, again->machine, again->request, again->hardware);
  }
  made.explanation = explain(input);
  return made;
}

}  // namespace strata
