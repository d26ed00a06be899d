// SPDX-License-Identifier: Apache-2.0
#include "strata/api/fit_transfer.hpp"

#include "strata/api/calibrate.hpp"
#include "strata/api/leave_one_out.hpp"
#include "strata/api/validate.hpp"
#include "strata/base/byte_source.hpp"
#include "strata/base/error.hpp"
#include "strata/predict/expected/calibrated_rates.hpp"
#include "strata/predict/expected/class_groups.hpp"
#include "strata/predict/expected/kernel_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace strata {
namespace {

/// Fewer do not show where a library switches kernels.
constexpr std::size_t fewest_samples = 20;
/// A run that waits for the host says little of kernels.
constexpr double gpu_bound_share = 0.85;

bool is_table(std::string_view file) { return file.ends_with(".csv") || file.ends_with(".csv.gz"); }

void add_tables(Calibration& calibration, const FitTransferRequest& request,
                std::vector<std::string>& notes) {
  for (const std::string& file : request.from) {
    if (!is_table(file)) continue;
    try {
      const TableSummary table =
          add_table(calibration, whole_text(*plain_source(file_source(file))), request.source);
      notes.push_back(fmt::format("{}: {} of {} rows taken", file, table.taken, table.rows));
    } catch (Error& error) {
      error.add_context(file);
      throw;
    }
  }
  std::erase_if(calibration.classes, [&](const CalibratedClass& one) {
    if (one.samples.size() >= fewest_samples) return false;
    notes.push_back(fmt::format("{} in {}: left out, {} samples are too few", one.kernel_class,
                                one.precision, one.samples.size()));
    return true;
  });
}

/// A run as a sum over groups of classes, as it is predicted without factors.
NetworkRun run_of(const MeasuredRun& measured, const ExpectedTime& expected) {
  NetworkRun run;
  run.network = network_of(measured);
  run.busy_s.assign(class_group_names().size(), 0);
  for (const ClassTime& one : expected.classes)
    run.busy_s[class_group_of(one.kernel_class)] += one.busy_s;
  run.rest_s = std::max(0.0, expected.time_s - expected.busy_s);
  run.measured_s = measured.iteration_s;
  run.to_low = std::log(expected.time_s / expected.low_s);
  run.to_high = std::log(expected.high_s / expected.time_s);
  return run;
}

RunKind kind_of_run(const MeasuredRun& run) {
  return {.is_inference = run.passes == MeasuredPasses::inference,
          .in_16_bits = run.precision.starts_with("amp")};
}

struct RunsOfAKind {
  std::string framework, source;
  RunKind run;
  std::vector<NetworkRun> runs;
  std::size_t host_bound = 0;
};

class NetworkRuns {
 public:
  NetworkRuns(const Machine& machine, const Calibration& calibration,
              std::vector<std::string>& notes)
      : machine_(machine), calibration_(calibration), notes_(notes) {}

  void add(const TruthSet& truth, const MeasuredRun& measured) {
    try {
      const AskedRun asked(measured, truth.framework);
      // A calibration of one's own is not widened by what it does not know: fit_factors says it.
      const ExpectedTimes times(machine_, asked.request, calibration_);
      const ExpectedTime expected = times.without_widening(asked.bound, asked.training);
      RunsOfAKind& kind = kind_of(truth, measured);
      if (expected.busy_s < gpu_bound_share * expected.time_s)
        ++kind.host_bound;
      else
        kind.runs.push_back(run_of(measured, expected));
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::internal) throw;
      notes_.push_back(fmt::format("{}: {}", measured.model, error.what()));
    }
  }

  const std::vector<RunsOfAKind>& kinds() const { return kinds_; }

 private:
  RunsOfAKind& kind_of(const TruthSet& truth, const MeasuredRun& measured) {
    const RunKind run = kind_of_run(measured);
    for (RunsOfAKind& one : kinds_) {
      if (one.framework == truth.framework && place_of(one.run) == place_of(run)) {
        if (one.source.find(truth.name) == std::string::npos) one.source += "; " + truth.name;
        return one;
      }
    }
    return kinds_.emplace_back(RunsOfAKind{truth.framework, truth.name, run, {}, 0});
  }

  const Machine& machine_;
  const Calibration& calibration_;
  std::vector<std::string>& notes_;
  std::vector<RunsOfAKind> kinds_;
};

/// A factor says something only where kernels of its group take a part of what was measured.
FittedNetworks fitted(const RunsOfAKind& kind) {
  FittedNetworks one;
  one.fit = fit_factors(kind.runs);
  one.host_bound = kind.host_bound;
  one.factors = {.framework = kind.framework,
                 .is_inference = kind.run.is_inference,
                 .in_16_bits = kind.run.in_16_bits,
                 .factors = {},
                 .runs = static_cast<std::int64_t>(kind.runs.size()),
                 .networks = static_cast<std::int64_t>(one.fit.networks),
                 .error = one.fit.error,
                 .widening = one.fit.widening,
                 .source = kind.source};
  for (std::size_t g = 0; g < one.fit.factors.size(); ++g) {
    const bool is_used = std::any_of(kind.runs.begin(), kind.runs.end(),
                                     [&](const NetworkRun& run) { return run.busy_s[g] > 0; });
    if (is_used) one.factors.factors[std::string(class_group_names()[g])] = one.fit.factors[g];
  }
  return one;
}

/// The runs of sets on the machine.
std::vector<TruthSet> truths_on(const Machine& machine, const std::vector<std::string>& names,
                                std::vector<std::string>& notes) {
  std::vector<TruthSet> truths;
  for (const std::string& name : names) {
    if (is_table(name)) continue;
    TruthSet truth = load_truth(name);
    std::erase_if(truth.runs, [&](const MeasuredRun& run) { return run.machine != machine.name; });
    if (truth.runs.empty()) notes.push_back(fmt::format("{}: no run is on {}", name, machine.name));
    truths.push_back(std::move(truth));
  }
  return truths;
}

/// "a; b" → a, b
std::vector<std::string> names_in(std::string_view sources) {
  std::vector<std::string> names;
  while (!sources.empty()) {
    const std::size_t end = std::min(sources.find("; "), sources.size());
    names.emplace_back(sources.substr(0, end));
    sources.remove_prefix(std::min(end + 2, sources.size()));
  }
  return names;
}

/// The place of the factors of such runs that were fitted to that set; the end: there are none.
std::size_t factors_fitted_to(const TruthSet& set, RunKind run, const Calibration& transfer) {
  for (std::size_t i = 0; i < transfer.networks.size(); ++i) {
    const NetworkFactors& one = transfer.networks[i];
    if (one.framework != set.framework || one.is_inference != run.is_inference ||
        one.in_16_bits != run.in_16_bits)
      continue;
    const std::vector<std::string> names = names_in(one.source);
    if (std::find(names.begin(), names.end(), set.name) != names.end()) return i;
  }
  return transfer.networks.size();
}

}  // namespace

FittedTransfer fit_transfer(const Machine& machine, const FitTransferRequest& request,
                            const std::function<void(std::size_t, std::size_t)>& progress) {
  constexpr std::string_view framework = "pytorch-eager";
  if (const auto reason = ExpectedTimes::reason_against(machine, {}))
    fail(ErrorKind::unsupported, "{}", *reason);
  FittedTransfer result;
  Calibration& made = result.calibration;
  made.name = fmt::format("{}-{}", machine.name, framework);
  made.machine = machine.name;
  made.framework = framework;
  made.host = "that of the base";
  made.date = "that of the sources";
  made.base = fmt::format("h200-{}", framework);
  if (request.measured_on != nullptr)
    made.rates = calibrated_rates(gpu_rates(*request.measured_on));
  add_tables(made, request, result.notes);
  made = read_calibration(to_json(made));  // numbers that a file does not hold must not be in it
  fit_calibration(made);
  made = read_calibration(to_json(made));
  const std::vector<TruthSet> truths = truths_on(machine, request.from, result.notes);
  std::size_t done = 0, all = 0;
  for (const TruthSet& truth : truths) all += truth.runs.size();
  NetworkRuns runs(machine, made, result.notes);
  for (const TruthSet& truth : truths) {
    for (const MeasuredRun& measured : truth.runs) {
      runs.add(truth, measured);
      if (progress) progress(++done, all);
    }
  }
  std::vector<NetworkFactors> factors;
  for (const RunsOfAKind& kind : runs.kinds()) {
    FittedNetworks one = fitted(kind);
    if (one.fit.factors.empty()) {
      result.notes.push_back(
          fmt::format("{}: {} networks are too few", kind.source, one.fit.networks));
      continue;
    }
    factors.push_back(one.factors);
    result.networks.push_back(std::move(one));
  }
  made.networks = std::move(factors);
  if (made.classes.empty() && made.networks.empty())
    fail(ErrorKind::input, "nothing is known of {} by these files: {}", machine.name,
         fmt::join(result.notes, "; "));
  return result;
}

/// All that factors were fitted to, and what comes out without each network.
struct LeftOutTransfers::Fits {
  Calibration transfer;  // without these factors
  NetworkFactors factors;
  std::vector<NetworkRun> runs;
  std::map<std::string, Calibration> without;

  Fits(const Calibration& whole, std::size_t place, const Machine& machine)
      : transfer(whole), factors(whole.networks[place]) {
    transfer.networks.clear();
    std::vector<std::string> notes;
    NetworkRuns all(machine, transfer, notes);
    for (const TruthSet& truth : truths_on(machine, names_in(factors.source), notes)) {
      for (const MeasuredRun& run : truth.runs) all.add(truth, run);
    }
    for (const RunsOfAKind& kind : all.kinds()) {
      if (kind.framework == factors.framework && kind.run.is_inference == factors.is_inference &&
          kind.run.in_16_bits == factors.in_16_bits)
        runs = kind.runs;
    }
  }

  const Calibration& without_network(const std::string& network) {
    const auto [place, is_new] = without.try_emplace(network, transfer);
    if (!is_new) return place->second;
    const std::vector<double> fitted = factors_without(runs, network);
    NetworkFactors others = factors;
    for (std::size_t g = 0; g < fitted.size(); ++g) {
      const auto known = others.factors.find(std::string(class_group_names()[g]));
      if (known != others.factors.end()) known->second = fitted[g];
    }
    place->second.networks = {std::move(others)};
    return place->second;
  }
};

LeftOutTransfers::LeftOutTransfers() = default;
LeftOutTransfers::~LeftOutTransfers() = default;

const Calibration* LeftOutTransfers::without_network_of(const MeasuredRun& run, const TruthSet& set,
                                                        const Machine& machine) {
  const Calibration* transfer =
      find_transfer(machine.name, framework_named(set.framework).calibration);
  if (transfer == nullptr) return nullptr;
  const std::size_t place = factors_fitted_to(set, kind_of_run(run), *transfer);
  if (place == transfer->networks.size()) return nullptr;
  std::unique_ptr<Fits>& fits = fits_[fmt::format("{} {}", machine.name, place)];
  if (fits == nullptr) fits = std::make_unique<Fits>(*transfer, place, machine);
  return &fits->without_network(network_of(run));
}

}  // namespace strata
