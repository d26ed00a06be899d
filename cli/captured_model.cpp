// SPDX-License-Identifier: Apache-2.0
#include "cli/captured_model.hpp"

#include "strata/base/error.hpp"

namespace strata {

std::unique_ptr<CapturedModel> captured_model(const Arguments& given) {
  const auto name = given.value(captured_model_flag);
  for (const Flag& flag : captured_model_flags) {
    if (!name && given.has(flag))
      fail(ErrorKind::usage, "--{} is about a network: say which with --model", flag.name);
  }
  if (!name) return nullptr;
  auto model = std::make_unique<CapturedModel>();
  model->graph = load_model(*name, import_options(given));
  model->bound = bind_model(model->graph, model_sizes(given));
  model->is_inference = model_mode(given) == Mode::inference;
  return model;
}

TraceReport captured_report(std::string file, const Recording& recording, const Machine* machine,
                            const CapturedModel* model) {
  TrainingOptions options;
  options.inference = model != nullptr && model->is_inference;
  return make_trace_report(std::move(file), recording, machine,
                           model == nullptr ? nullptr : &model->bound, options);
}

}  // namespace strata
