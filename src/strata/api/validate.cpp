// SPDX-License-Identifier: Apache-2.0
#include "strata/api/validate.hpp"

#include "strata/api/fit_transfer.hpp"
#include "strata/api/leave_one_out.hpp"
#include "strata/base/byte_source.hpp"
#include "strata/base/embedded.hpp"
#include "strata/base/object_reader.hpp"
#include "strata/importers/network/network.hpp"
#include "strata/importers/text_file.hpp"
#include "strata/machine/load_machine.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

namespace strata {
namespace {

using TruthJson = ObjectReader::Json;

constexpr std::string_view attention_words[] = {"automatic", "sdpa", "eager", "module"};
constexpr std::string_view precision_words[] = {"fp32", "tf32", "amp-bf16", "amp-fp16"};
constexpr std::string_view passes_words[] = {"training", "gradients", "inference"};

MeasuredRun run_from(const TruthJson& json, const std::string& place) {
  ObjectReader object(json, place);
  MeasuredRun run;
  run.model = object.text("model");
  if (object.find("machine") != nullptr) run.machine = object.text("machine");
  run.precision = precision_words[object.choice("precision", precision_words)];
  run.batch = object.maybe_count("batch").value_or(1);
  run.sequence = object.maybe_count("sequence").value_or(0);
  if (object.find("attention") != nullptr)
    run.attention = static_cast<AttentionKernels>(object.choice("attention", attention_words));
  if (object.find("channels_last") != nullptr) run.channels_last = object.truth("channels_last");
  if (object.find("passes") != nullptr)
    run.passes = static_cast<MeasuredPasses>(object.choice("passes", passes_words));
  run.iteration_s = object.positive("iteration_s");
  run.kernels_s = object.maybe_positive("kernels_s").value_or(0);
  run.busy_s = object.maybe_positive("busy_s").value_or(0);
  run.launches = object.maybe_positive("launches").value_or(0);
  run.memory_bytes = object.maybe_positive("memory_bytes").value_or(0);
  run.parameters = object.maybe_count("parameters").value_or(0);
  object.finish();
  return run;
}

std::int64_t parameters_of(const BoundGraph& bound) {
  std::int64_t parameters = 0;
  for (TensorId id = 0; id < bound.tensors.size(); ++id) {
    if (bound.graph->tensors[id].kind == TensorKind::parameter)
      parameters += bound.tensors[id].elements;
  }
  return parameters;
}

ModelSizes sizes_of(const MeasuredRun& run) {
  ModelSizes sizes;
  set_batch(sizes, run.batch);
  if (run.sequence > 0) sizes.sequence = run.sequence;
  sizes.dtype = run.precision == "tf32" ? DType::tf32 : DType::fp32;
  return sizes;
}

/// `left_out`: factors of the machine that have not seen the network; null: none was fitted to it.
void predict_run(ValidatedRun& to, const Machine& machine, const std::string& framework,
                 const Calibration* left_out) {
  const AskedRun asked(to.measured, framework);
  const ExpectedTimes times = left_out == nullptr
                                  ? ExpectedTimes(machine, asked.request)
                                  : ExpectedTimes(machine, asked.request, *left_out);
  to.expected = times.of(asked.bound, asked.training);
  TrainingOptions training = asked.training;
  training.unroll_recurrent = false;
  const ExpectedProgram program(make_program(asked.bound, training), asked.request,
                                training.optimizer);
  for (const double slower : tried_hosts())
    to.by_host.push_back(times.by({.name = {}, .of = nullptr, .slower = slower}).totals(program));
}

constexpr std::string_view shipped_networks = "networks/";

/// A network of published runs that ships, or as load_model takes it.
Graph load_truth_model(const std::string& model) {
  if (model.starts_with(shipped_networks)) {
    const std::string file = model.substr(shipped_networks.size()) + ".json";
    for (const EmbeddedFile& one : embedded_truth_networks()) {
      if (one.name == file)
        return read_network(whole_text(*plain_source(text_source(one.text))), file);
    }
  }
  return load_model(model);
}

}  // namespace

AskedRun::AskedRun(const MeasuredRun& run, const std::string& framework)
    : graph(load_truth_model(run.model)), bound(bind_model(graph, sizes_of(run))) {
  if (run.parameters > 0) {
    const std::int64_t parameters = parameters_of(bound);
    if (std::fabs(static_cast<double>(parameters - run.parameters)) >
        0.02 * static_cast<double>(run.parameters))
      fail(ErrorKind::input, "has {} parameters, and the network that ran {}", parameters,
           run.parameters);
  }
  request.framework = framework;
  request.options.attention = run.attention;
  request.options.channels_last = run.channels_last;
  if (run.precision == "amp-bf16") request.options.autocast = DType::bf16;
  if (run.precision == "amp-fp16") request.options.autocast = DType::fp16;
  training.inference = run.passes == MeasuredPasses::inference;
  if (run.passes == MeasuredPasses::gradients) training.optimizer = Optimizer::none;
}

TruthSet read_truth(std::string_view json_text) {
  const TruthJson json = TruthJson::parse(json_text, nullptr, false);
  if (json.is_discarded()) fail(ErrorKind::input, "not JSON");
  ObjectReader object(json, "truth");
  if (object.required("strata_truth") != 1)
    fail(ErrorKind::input, "truth.strata_truth: expected 1, the version of the form");
  TruthSet truth;
  truth.name = object.text("name");
  if (object.find("machine") != nullptr) truth.machine = object.text("machine");
  truth.framework = object.text("framework");
  truth.what = object.text("what");
  constexpr std::size_t most_runs = 10000;
  truth.runs = object.list("runs", most_runs, run_from);
  for (std::size_t i = 0; i < truth.runs.size(); ++i) {
    if (truth.runs[i].machine.empty()) truth.runs[i].machine = truth.machine;
    if (truth.runs[i].machine.empty())
      fail(ErrorKind::input, "truth.runs[{}]: 'machine' is missing, and the set has none", i);
  }
  object.finish();
  return truth;
}

std::vector<std::string> shipped_truth_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_truths()) names.emplace_back(file.name);
  return names;
}

TruthSet load_truth(std::string_view name_or_path) {
  for (const EmbeddedFile& file : embedded_truths()) {
    if (file.name == name_or_path) return read_truth(file.text);
  }
  if (!std::filesystem::exists(name_or_path))
    fail(ErrorKind::input, "there is no truth set and no file '{}'; sets that ship: {}, parallel",
         name_or_path, fmt::join(shipped_truth_names(), ", "));
  constexpr std::size_t most_file_bytes = 8 << 20;  // ten thousand runs
  const std::string text = read_text_file(name_or_path, most_file_bytes);
  try {
    return read_truth(text);
  } catch (Error& error) {
    error.add_context(std::string(name_or_path));
    throw;
  }
}

std::vector<ValidatedRun> validate(const TruthSet& truth,
                                   const std::function<void(std::size_t, std::size_t)>& progress) {
  std::map<std::string, Machine> machines;
  for (const MeasuredRun& run : truth.runs) {
    if (!machines.contains(run.machine))
      machines.emplace(run.machine, load_recorded_machine(run.machine));
  }
  LeftOutTransfers left_out;
  std::vector<ValidatedRun> runs;
  for (const MeasuredRun& measured : truth.runs) {
    ValidatedRun run{measured, {}, {}, {}};
    try {
      const Machine& machine = machines.at(measured.machine);
      predict_run(run, machine, truth.framework,
                  left_out.without_network_of(measured, truth, machine));
    } catch (const Error& error) {
      run.left_out = error.what();
    }
    runs.push_back(std::move(run));
    if (progress) progress(runs.size(), truth.runs.size());
  }
  return runs;
}

bool ValidatedRun::is_gpu_bound() const {
  constexpr double most = 0.85;
  const double busy_s = std::max(measured.busy_s, measured.kernels_s);
  return busy_s > 0 ? busy_s > most * measured.iteration_s
                    : expected.busy_s > most * expected.time_s;
}

bool ValidatedRun::is_inside() const {
  return measured.iteration_s >= expected.low_s && measured.iteration_s <= expected.high_s;
}

ErrorSummary errors_of(const std::vector<double>& ratios) {
  ErrorSummary summary;
  summary.runs = ratios.size();
  if (ratios.empty()) return summary;
  std::vector<double> errors;
  for (const double ratio : ratios) {
    errors.push_back(std::fabs(ratio - 1));
    summary.mean += errors.back() / static_cast<double>(ratios.size());
    summary.bias += (ratio - 1) / static_cast<double>(ratios.size());
  }
  std::sort(errors.begin(), errors.end());
  summary.median = (errors[(errors.size() - 1) / 2] + errors[errors.size() / 2]) / 2;
  return summary;
}

}  // namespace strata
