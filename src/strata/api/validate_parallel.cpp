// SPDX-License-Identifier: Apache-2.0
#include "strata/api/validate_parallel.hpp"

#include "strata/base/embedded.hpp"
#include "strata/base/error.hpp"
#include "strata/base/object_reader.hpp"
#include "strata/importers/text_file.hpp"
#include "strata/machine/cluster_file.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <map>
#include <tuple>

namespace strata {
namespace {

using ParallelTruthJson = ObjectReader::Json;

constexpr std::size_t most_truth_bytes = 16 << 20;

ParallelRun parallel_run_from(const ParallelTruthJson& json, const std::string& place) {
  ObjectReader object(json, place);
  ParallelRun run;
  run.model = object.text("model");
  run.on = object.text("on");
  run.strategy = object.text("strategy");
  run.batch = object.maybe_count("batch").value_or(1);
  run.sequence = object.maybe_count("seq").value_or(0);
  run.time_s = object.positive("time_s");
  run.is_fitted = object.find("fitted") != nullptr && object.truth("fitted");
  object.finish();
  return run;
}

/// Clusters that the set describes, each as its own file would.
std::map<std::string, Cluster> clusters_from(const ParallelTruthJson& json) {
  constexpr std::size_t most_clusters = 1000;
  if (!json.is_object() || json.size() > most_clusters)
    fail(ErrorKind::input, "truth.clusters: expected an object of up to {} clusters by name",
         most_clusters);
  std::map<std::string, Cluster> clusters;
  for (const auto& [name, cluster] : json.items()) {
    try {
      clusters.emplace(name, read_cluster(cluster.dump()));
    } catch (Error& error) {
      error.add_context("truth.clusters." + name);
      throw;
    }
  }
  return clusters;
}

PredictRequest request_for(const ParallelTruth& truth, const ParallelRun& run) {
  PredictRequest request;
  set_option(request, "optimizer", truth.optimizer);
  request.framework = truth.framework;
  request.framework_options.attention = truth.attention;
  request.sizes.dtype = dtype_named(truth.dtype);
  if (!request.sizes.dtype) fail(ErrorKind::input, "no data type is named '{}'", truth.dtype);
  request.training.master_weights = request.sizes.dtype != DType::fp32;
  request.sizes.batch = run.batch;
  if (run.sequence > 0) request.sizes.sequence = run.sequence;
  return request;
}

Cluster cluster_of(const ParallelTruth& truth, const ParallelRun& run) {
  const auto described = truth.clusters.find(run.on);
  return described == truth.clusters.end() ? load_cluster(run.on) : described->second;
}

/// A network on a cluster with a batch: many strategies were measured of each.
struct ParallelCase {
  Graph graph;
  Cluster cluster;
  ParallelModel model;

  ParallelCase(const ParallelTruth& truth, const ParallelRun& run)
      : graph(load_model(run.model)),
        cluster(cluster_of(truth, run)),
        model(graph, cluster, request_for(truth, run)) {}
};

using CaseKey = std::tuple<std::string, std::string, std::int64_t, std::int64_t>;
CaseKey key_of(const ParallelRun& run) { return {run.model, run.on, run.batch, run.sequence}; }

}  // namespace

ParallelTruth read_parallel_truth(std::string_view json_text) {
  const ParallelTruthJson json = ParallelTruthJson::parse(json_text, nullptr, false);
  if (json.is_discarded()) fail(ErrorKind::input, "not JSON");
  ObjectReader object(json, "truth");
  if (object.required("strata_parallel_truth") != 1)
    fail(ErrorKind::input, "truth.strata_parallel_truth: expected 1, the version of the form");
  ParallelTruth truth;
  truth.name = object.text("name");
  truth.framework = object.text("framework");
  truth.what = object.text("what");
  truth.dtype = object.text("dtype");
  truth.optimizer = object.text("optimizer");
  constexpr std::array<std::string_view, 2> attentions = {"sdpa", "eager"};
  truth.attention = object.choice("attention", attentions) == 0 ? AttentionKernels::fused
                                                                : AttentionKernels::eager;
  truth.options = object.text("options");
  if (object.find("fitted_on") != nullptr) truth.fitted_on = object.text("fitted_on");
  if (const ParallelTruthJson* clusters = object.find("clusters"))
    truth.clusters = clusters_from(*clusters);
  constexpr std::size_t most_runs = 10000;
  truth.runs = object.list("runs", most_runs, parallel_run_from);
  object.finish();
  return truth;
}

std::vector<std::string> shipped_parallel_truth_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_parallel_truths()) names.emplace_back(file.name);
  return names;
}

bool is_parallel_truth_file(std::string_view path) {
  std::error_code problem;
  return path.ends_with(".json") && std::filesystem::is_regular_file(path, problem) &&
         read_text_file(path, most_truth_bytes).find("\"strata_parallel_truth\"") !=
             std::string::npos;
}

ParallelTruth load_parallel_truth(std::string_view name) {
  if (is_parallel_truth_file(name)) {
    try {
      return read_parallel_truth(read_text_file(name, most_truth_bytes));
    } catch (Error& error) {
      error.add_context(std::string(name));
      throw;
    }
  }
  for (const EmbeddedFile& file : embedded_parallel_truths()) {
    if (file.name == name) return read_parallel_truth(file.text);
  }
  fail(ErrorKind::input,
       "there is no set '{}' of measured strategies, and no file that says "
       "\"strata_parallel_truth\"; sets that ship: {}",
       name, fmt::join(shipped_parallel_truth_names(), ", "));
}

bool ValidatedParallelRun::is_inside() const {
  return measured.time_s >= expected.low_s && measured.time_s <= expected.high_s;
}

std::vector<ValidatedParallelRun> validate(
    const ParallelTruth& truth, const std::function<void(std::size_t, std::size_t)>& progress) {
  std::vector<std::size_t> order(truth.runs.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return key_of(truth.runs[a]) < key_of(truth.runs[b]);
  });
  std::vector<ValidatedParallelRun> runs(truth.runs.size());
  std::unique_ptr<ParallelCase> at_hand;
  CaseKey key;
  for (std::size_t i = 0; i < order.size(); ++i) {
    ValidatedParallelRun& run = runs[order[i]];
    run.measured = truth.runs[order[i]];
    try {
      if (at_hand == nullptr || key != key_of(run.measured)) {
        at_hand.reset();
        at_hand = std::make_unique<ParallelCase>(truth, run.measured);
        key = key_of(run.measured);
      }
      run.expected = at_hand->model.planner().time_of(
          parse_strategy(run.measured.strategy + "," + truth.options));
    } catch (const Error& error) {
      run.left_out = error.what();
    }
    if (progress) progress(i + 1, order.size());
  }
  return runs;
}

RankingSummary ranking_of(const std::vector<ValidatedParallelRun>& runs) {
  struct Case {
    double fastest_s = std::numeric_limits<double>::infinity();
    double expected_s = std::numeric_limits<double>::infinity();
    double chosen_s = 0;  // measured, of the one that is expected to be fastest
    std::size_t count = 0;
  };
  std::map<CaseKey, Case> cases;
  for (const ValidatedParallelRun& run : runs) {
    if (!run.left_out.empty()) continue;
    Case& one = cases[key_of(run.measured)];
    ++one.count;
    one.fastest_s = std::min(one.fastest_s, run.measured.time_s);
    if (run.expected.time_s >= one.expected_s) continue;
    one.expected_s = run.expected.time_s;
    one.chosen_s = run.measured.time_s;
  }
  RankingSummary summary;
  for (const auto& [key, one] : cases) {
    if (one.count < 2) continue;
    const double regret = one.chosen_s / one.fastest_s - 1;
    ++summary.cases;
    summary.within += regret <= 0.05 ? 1 : 0;
    summary.mean_regret += regret;
    summary.most_regret = std::max(summary.most_regret, regret);
  }
  if (summary.cases > 0) summary.mean_regret /= static_cast<double>(summary.cases);
  return summary;
}

}  // namespace strata
