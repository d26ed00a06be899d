// SPDX-License-Identifier: Apache-2.0
#include "strata/api/validate.hpp"

#include "strata/api/fit_transfer.hpp"
#include "strata/base/error.hpp"
#include "strata/machine/load_machine.hpp"
#include "strata/predict/expected/evidence.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace strata {
namespace {

using TruthDocument = nlohmann::json;

TruthDocument small_truth() {
  return TruthDocument::parse(R"({"strata_truth": 1, "name": "mine", "machine": "h200",
    "framework": "pytorch-eager", "what": "Made up",
    "runs": [{"model": "lenet5", "precision": "fp32", "batch": 32, "iteration_s": 0.001,
              "kernels_s": 0.0005, "launches": 40, "memory_bytes": 1e6, "parameters": 61706,
              "busy_s": 0.0004, "attention": "eager", "channels_last": true, "sequence": 16}]})");
}

std::string refusal_of_truth(const std::string& text) {
  try {
    read_truth(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return error.what();
  }
  return "accepted";
}

TEST(Truth, is_read_field_by_field) {
  const TruthSet truth = read_truth(small_truth().dump());
  EXPECT_EQ(truth.name, "mine");
  EXPECT_EQ(truth.machine, "h200");
  EXPECT_EQ(truth.framework, "pytorch-eager");
  ASSERT_EQ(truth.runs.size(), 1U);
  const MeasuredRun& run = truth.runs.front();
  EXPECT_EQ(run.model, "lenet5");
  EXPECT_EQ(run.precision, "fp32");
  EXPECT_EQ(run.batch, 32);
  EXPECT_EQ(run.sequence, 16);
  EXPECT_EQ(run.attention, AttentionKernels::eager);
  EXPECT_TRUE(run.channels_last);
  EXPECT_EQ(run.iteration_s, 0.001);
  EXPECT_EQ(run.kernels_s, 0.0005);
  EXPECT_EQ(run.busy_s, 0.0004);
  EXPECT_EQ(run.launches, 40);
  EXPECT_EQ(run.memory_bytes, 1e6);
  EXPECT_EQ(run.parameters, 61706);
}

TEST(Truth, of_several_machines_and_passes_is_read) {
  TruthDocument document = small_truth();
  document.erase("machine");
  TruthDocument& run = document["runs"][0];
  run["machine"] = "v100";
  run["passes"] = "inference";
  for (const char* name : {"kernels_s", "launches", "busy_s", "memory_bytes"}) run.erase(name);
  const TruthSet truth = read_truth(document.dump());
  EXPECT_EQ(truth.runs[0].machine, "v100");
  EXPECT_EQ(truth.runs[0].passes, MeasuredPasses::inference);
  EXPECT_EQ(truth.runs[0].kernels_s, 0);
  run.erase("machine");
  EXPECT_NE(refusal_of_truth(document.dump()).find("runs[0]: 'machine' is missing"),
            std::string::npos);
}

TEST(Truth, with_a_bad_field_is_refused_with_its_place) {
  const struct {
    const char* pointer;
    TruthDocument value;
    std::string place;
  } faults[] = {
      {"/name", 1, "truth.name"},
      {"/runs", "none", "truth.runs"},
      {"/runs/0", 1, "truth.runs[0]"},
      {"/runs/0/model", 1, "truth.runs[0].model"},
      {"/runs/0/iteration_s", -1, "truth.runs[0].iteration_s"},
      {"/runs/0/kernels_s", "fast", "truth.runs[0].kernels_s"},
      {"/runs/0/launches", 0, "truth.runs[0].launches"},
      {"/runs/0/batch", -3, "truth.runs[0].batch"},
      {"/runs/0/attention", "divided", "truth.runs[0].attention"},
      {"/runs/0/channels_last", "yes", "truth.runs[0].channels_last"},
      {"/runs/0/precision", "fp99", "truth.runs[0].precision"},
      {"/runs/0/iterations_s", 1, "iterations_s"},
  };
  for (const auto& fault : faults) {
    TruthDocument document = small_truth();
    document[TruthDocument::json_pointer(fault.pointer)] = fault.value;
    const std::string message = refusal_of_truth(document.dump());
    EXPECT_NE(message.find(fault.place), std::string::npos) << fault.pointer << ": " << message;
  }
  EXPECT_EQ(refusal_of_truth("{"), "not JSON");
}

TEST(Truth, that_is_not_there_lists_what_ships) {
  try {
    load_truth("nowhere");
    FAIL() << "there is no such set";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("pytorch-h200"), std::string::npos);
  }
}

TEST(Validation, leaves_out_a_run_of_another_network_and_says_why) {
  TruthDocument document = small_truth();
  document["runs"][0].erase("sequence");
  TruthDocument other = document["runs"][0];
  other["parameters"] = 70000;
  document["runs"].push_back(other);
  other["model"] = "no_such_network";
  document["runs"].push_back(other);
  std::size_t told = 0;
  const auto runs = validate(read_truth(document.dump()), [&](std::size_t done, std::size_t all) {
    EXPECT_EQ(done, ++told);
    EXPECT_EQ(all, 3U);
  });
  EXPECT_EQ(told, 3U);
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[0].left_out, "");
  EXPECT_GT(runs[0].expected.time_s, 0);
  EXPECT_NE(runs[1].left_out.find("61706"), std::string::npos) << runs[1].left_out;
  EXPECT_NE(runs[1].left_out.find("70000"), std::string::npos) << runs[1].left_out;
  EXPECT_NE(runs[2].left_out.find("no_such_network"), std::string::npos);
}

TEST(Validation, sums_errors_up) {
  const ErrorSummary summary = errors_of({1.1, 0.8, 1.0, 1.3});
  EXPECT_EQ(summary.runs, 4U);
  EXPECT_NEAR(summary.mean, (0.1 + 0.2 + 0.0 + 0.3) / 4, 1e-12);
  EXPECT_NEAR(summary.bias, (0.1 - 0.2 + 0.0 + 0.3) / 4, 1e-12);
  EXPECT_NEAR(errors_of({1.1, 0.8, 1.3}).median, 0.2, 1e-12);
  EXPECT_NEAR(summary.median, 0.15, 1e-12);  // between the two in the middle
  EXPECT_EQ(errors_of({}).runs, 0U);
}

std::vector<double> ratios_of(const std::vector<ValidatedRun>& runs,
                              const std::function<double(const ValidatedRun&)>& ratio) {
  std::vector<double> all;
  for (const ValidatedRun& run : runs) {
    if (const double one = ratio(run); one > 0) all.push_back(one);
  }
  return all;
}

// What docs and the README promise. A change that makes predictions worse than this is a defect.
TEST(Validation, of_the_set_that_ships_is_as_good_as_promised) {
  const auto runs = validate(load_truth("pytorch-h200"));
  EXPECT_GE(runs.size(), 50U);
  for (const ValidatedRun& run : runs) EXPECT_EQ(run.left_out, "") << run.measured.model;
  const ErrorSummary kernels = errors_of(ratios_of(runs, [](const ValidatedRun& run) {
    return run.expected.kernels_s / run.measured.kernels_s;
  }));
  EXPECT_LT(kernels.mean, 0.06);
  EXPECT_LT(std::fabs(kernels.bias), 0.03);
  // Recurrent layers run on several streams: the sum of their kernels is known least.
  const ErrorSummary others = errors_of(ratios_of(runs, [](const ValidatedRun& run) {
    const bool is_recurrent = run.measured.model.starts_with("lstm");
    return is_recurrent ? 0 : run.expected.kernels_s / run.measured.kernels_s;
  }));
  EXPECT_LT(others.mean, 0.05);
  EXPECT_LT(std::fabs(others.bias), 0.03);
  const ErrorSummary gpu_bound = errors_of(ratios_of(runs, [](const ValidatedRun& run) {
    const bool is_gpu_bound =
        std::max(run.measured.busy_s, run.measured.kernels_s) > 0.85 * run.measured.iteration_s;
    return is_gpu_bound ? run.expected.time_s / run.measured.iteration_s : 0;
  }));
  EXPECT_GE(gpu_bound.runs, 20U);
  EXPECT_LT(gpu_bound.mean, 0.07);
  const ErrorSummary launches = errors_of(ratios_of(runs, [](const ValidatedRun& run) {
    return static_cast<double>(run.expected.launches) / run.measured.launches;
  }));
  EXPECT_LT(launches.mean, 0.06);
  const ErrorSummary memory = errors_of(ratios_of(runs, [](const ValidatedRun& run) {
    return static_cast<double>(run.expected.memory_bytes) / run.measured.memory_bytes;
  }));
  EXPECT_LT(memory.mean, 0.10);
}

TEST(Validation, of_the_kernels_of_the_set_of_the_host_is_as_good) {
  const auto runs = validate(load_truth("pytorch-h200-host"));
  const ErrorSummary kernels = errors_of(ratios_of(runs, [](const ValidatedRun& run) {
    return run.left_out.empty() ? run.expected.kernels_s / run.measured.kernels_s : 0;
  }));
  EXPECT_GE(kernels.runs, 10U);
  EXPECT_LT(kernels.mean, 0.06);
}

TEST(Validation, of_compiled_networks_is_as_good_as_promised) {
  const auto runs = validate(load_truth("pytorch-compile-h200"));
  EXPECT_EQ(runs.size(), 10U);
  for (const ValidatedRun& run : runs) {
    EXPECT_EQ(run.left_out, "") << run.measured.model;
    EXPECT_EQ(run.expected.framework, "pytorch-compile");
  }
  const ErrorSummary kernels = errors_of(ratios_of(runs, [](const ValidatedRun& run) {
    return run.expected.kernels_s / run.measured.kernels_s;
  }));
  EXPECT_LT(kernels.mean, 0.09);
  EXPECT_LT(std::fabs(kernels.bias), 0.05);
  const ErrorSummary launches = errors_of(ratios_of(runs, [](const ValidatedRun& run) {
    return static_cast<double>(run.expected.launches) / run.measured.launches;
  }));
  EXPECT_LT(launches.mean, 0.10);
  const ErrorSummary memory = errors_of(ratios_of(runs, [](const ValidatedRun& run) {
    return static_cast<double>(run.expected.memory_bytes) / run.measured.memory_bytes;
  }));
  EXPECT_LT(memory.mean, 0.08);
  const auto inside =
      std::count_if(runs.begin(), runs.end(), [](const auto& run) { return run.is_inside(); });
  EXPECT_GE(inside, 9);
}

TEST(Validation, of_compiled_networks_that_no_rule_was_made_by_is_as_good_as_promised) {
  const auto runs = validate(load_truth("pytorch-compile-check-h200"));
  EXPECT_EQ(runs.size(), 8U);
  const ErrorSummary kernels = errors_of(ratios_of(runs, [](const ValidatedRun& run) {
    return run.expected.kernels_s / run.measured.kernels_s;
  }));
  EXPECT_LT(kernels.mean, 0.10);
  EXPECT_LT(std::fabs(kernels.bias), 0.05);
  const auto inside =
      std::count_if(runs.begin(), runs.end(), [](const auto& run) { return run.is_inside(); });
  EXPECT_GE(inside, 7);
}

// What results say of themselves was counted with these runs: data/evidence has to be made anew
// (python/calibration/evidence.py) when it is no longer so.
TEST(Validation, is_what_results_say_of_themselves) {
  const auto runs = validate(load_truth("neusight-transformers"));
  for (const char* name : {"p100", "t4", "h100-sxm"}) {
    for (const auto passes : {MeasuredPasses::training, MeasuredPasses::inference}) {
      std::vector<double> errors;
      double inside = 0;
      for (const ValidatedRun& run : runs) {
        const bool is_inference = run.measured.passes == MeasuredPasses::inference;
        if (run.measured.machine != name || !run.left_out.empty() ||
            is_inference != (passes == MeasuredPasses::inference))
          continue;
        errors.push_back(std::fabs(run.expected.time_s / run.measured.iteration_s - 1));
        inside += run.is_inside() ? 1 : 0;
      }
      const CheckedPass pass =
          passes == MeasuredPasses::inference ? CheckedPass::inference : CheckedPass::training;
      const CheckedRuns said = checked_runs(load_machine(name), "pytorch-eager", pass);
      if (said.source.find("; ") != std::string::npos) continue;  // other sets, too
      ASSERT_EQ(said.runs, static_cast<std::int64_t>(errors.size())) << name;
      if (errors.empty()) continue;
      std::sort(errors.begin(), errors.end());
      const double median = (errors[errors.size() / 2] + errors[(errors.size() - 1) / 2]) / 2;
      EXPECT_NEAR(said.median_error, median, 0.01) << name;
      EXPECT_NEAR(said.inside, inside / static_cast<double>(errors.size()), 0.001) << name;
    }
  }
}

TEST(Validation, of_published_runs_on_other_gpus_is_as_good_as_promised) {
  const auto runs = validate(load_truth("neusight-transformers"));
  const auto on = [&](std::string_view machine) {
    return errors_of(ratios_of(runs, [&](const ValidatedRun& run) {
      return run.measured.machine == machine ? run.expected.time_s / run.measured.iteration_s : 0;
    }));
  };
  EXPECT_EQ(on("h100-sxm").runs, 18U);
  EXPECT_LT(on("h100-sxm").mean, 0.06);
  EXPECT_LT(on("v100").mean, 0.08);
  EXPECT_LT(on("p100").mean, 0.12);
  EXPECT_LT(on("t4").mean, 0.15);
  const auto inside =
      std::count_if(runs.begin(), runs.end(), [](const auto& run) { return run.is_inside(); });
  EXPECT_GE(static_cast<double>(inside), 0.9 * static_cast<double>(runs.size()));
}

ErrorSummary iteration_errors(const std::vector<ValidatedRun>& runs) {
  return errors_of(ratios_of(runs, [](const ValidatedRun& run) {
    return run.left_out.empty() ? run.expected.time_s / run.measured.iteration_s : 0;
  }));
}

double share_inside(const std::vector<ValidatedRun>& runs) {
  const auto inside =
      std::count_if(runs.begin(), runs.end(), [](const auto& run) { return run.is_inside(); });
  return static_cast<double>(inside) / static_cast<double>(runs.size());
}

// Factors that ship were fitted to these; each run is asked of factors that have not seen its
// network.
TEST(Validation, of_published_image_networks_leaves_their_network_out) {
  const TruthSet set = load_truth("timm-inference-rtx-4090");
  const auto runs = validate(set);
  EXPECT_EQ(runs.size(), 39U);
  for (const ValidatedRun& run : runs) EXPECT_EQ(run.left_out, "") << run.measured.model;
  const ErrorSummary errors = iteration_errors(runs);
  EXPECT_LT(errors.mean, 0.11);
  EXPECT_LT(std::fabs(errors.bias), 0.03);
  EXPECT_GE(share_inside(runs), 0.86);
  const MeasuredRun& first = set.runs.front();
  const AskedRun asked(first, set.framework);
  const ExpectedTime seen =
      ExpectedTimes(load_machine("rtx-4090"), asked.request).of(asked.bound, asked.training);
  EXPECT_EQ(seen.calibration, CalibrationUse::corrected);
  EXPECT_NE(seen.time_s, runs.front().expected.time_s);
  const CheckedRuns said =
      checked_runs(load_machine("rtx-4090"), "pytorch-eager", CheckedPass::inference);
  EXPECT_EQ(said.runs, 39);
  EXPECT_NEAR(said.median_error, errors.median, 0.005);
  EXPECT_NEAR(said.inside, share_inside(runs), 0.001);
}

// Nothing was fitted to these: nine GPUs, four of which nothing else is known of. What is done
// beside training (input, logging) is in what was measured.
TEST(Validation, of_training_on_nine_gpus_is_as_good_as_promised) {
  const auto runs = validate(load_truth("lambda-training"));
  EXPECT_EQ(runs.size(), 54U);
  const ErrorSummary errors = iteration_errors(runs);
  EXPECT_LT(errors.mean, 0.12);
  EXPECT_LT(std::fabs(errors.bias), 0.08);
  EXPECT_GE(share_inside(runs), 0.9);
}

// "Which GPU should I rent?": the order is that of published throughput.
TEST(Validation, ranks_gpus_as_published_throughput_does) {
  const auto runs = validate(load_truth("lambda-training"));
  const auto samples_per_s = [&](std::string_view model, std::string_view machine, bool measured) {
    for (const ValidatedRun& run : runs) {
      if (run.measured.model == model && run.measured.machine == machine &&
          run.measured.precision == "amp-fp16")
        return static_cast<double>(run.measured.batch) /
               (measured ? run.measured.iteration_s : run.expected.time_s);
    }
    return 0.0;
  };
  for (const char* model : {"resnet50", "bert_base", "bert_large"}) {
    double measured = INFINITY, expected = INFINITY;
    for (const char* machine :
         {"h100-sxm", "h100-pcie", "a100-80gb", "a100-40gb", "rtx-4090", "v100"}) {
      EXPECT_LT(samples_per_s(model, machine, true), measured) << model << " on " << machine;
      EXPECT_LT(samples_per_s(model, machine, false), expected) << model << " on " << machine;
      measured = samples_per_s(model, machine, true);
      expected = samples_per_s(model, machine, false);
    }
  }
}

TEST(FitTransfer, makes_the_file_that_ships_again) {
  const Machine machine = load_machine("rtx-4090");
  const Calibration* ships = find_transfer("rtx-4090", "pytorch-eager");
  ASSERT_NE(ships, nullptr);
  FitTransferRequest request;
  request.from = {"timm-inference-rtx-4090", "timm-inference-rtx-4090-compile"};
  EXPECT_EQ(to_json(fit_transfer(machine, request).calibration), to_json(*ships));
}

TEST(FitTransfer, refuses_what_says_nothing_of_the_machine) {
  const auto refusal = [](const char* machine, const char* from) -> std::string {
    try {
      fit_transfer(load_machine(machine), {.from = {from}, .source = {}});
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_NE(refusal("l4", "timm-inference-rtx-4090").find("no run is on l4"), std::string::npos);
  EXPECT_NE(refusal("l4", "no-such-set").find("there is no truth set"), std::string::npos);
  EXPECT_NE(refusal("l4", "no-such-table.csv").find("no-such-table.csv"), std::string::npos);
  // Kernels of NVIDIA's libraries say nothing of another vendor's.
  EXPECT_NE(refusal("mi300x", "timm-inference-rtx-4090").find("AMD"), std::string::npos);
  EXPECT_NE(refusal("grace", "timm-inference-rtx-4090"), "accepted");
}

}  // namespace
}  // namespace strata
