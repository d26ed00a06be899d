// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reference_planner.hpp"
#include "strata/predict/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

/// What must be true of any prediction, checked on what it wrote down (steps and transfers), not on
/// how it came to it. Every check returns what is wrong; empty: nothing.
namespace strata::reference {

struct Timeline {
  /// `with_transfers` is of this plan on this hardware.
  Timeline(const Program& all, const Plan& made, const Hardware& on, const PredictOptions& with,
           const Prediction& with_transfers)
      : program(all),
        plan(made),
        hardware(on),
        options(with),
        prediction(with_transfers),
        uses(all) {
    for (const Transfer& transfer : prediction.transfers) {
      const bool is_stream = transfer.kind == TransferKind::stream;
      const ValueId value = is_stream ? 0 : transfer.value;
      transfers[{transfer.kind, value, transfer.step}] = &transfer;
    }
  }

  const Program& program;
  const Plan& plan;
  const Hardware& hardware;
  const PredictOptions& options;
  const Prediction& prediction;
  Uses uses;
  std::map<std::tuple<TransferKind, ValueId, StepId>, const Transfer*> transfers;

  bool is_resident(std::size_t use) const {
    return plan.uses[use].residency == Residency::resident;
  }
  bool stayed_until(std::size_t use) const {
    return uses.previous[use] && plan.uses[*uses.previous[use]].stays;
  }
  /// The load for this use or the write-back after it.
  const Transfer* find(TransferKind kind, std::size_t use) const {
    const auto found = transfers.find({kind, uses.at(use).value, uses.step_of[use]});
    return found == transfers.end() ? nullptr : found->second;
  }
  const Transfer* stream_of(StepId step) const {
    const auto found = transfers.find({TransferKind::stream, 0, step});
    return found == transfers.end() ? nullptr : found->second;
  }
};

using Problems = std::vector<std::string>;

/// One transfer at a time, each as long as its bytes take.
inline Problems channel_problems(const Timeline& line) {
  Problems problems;
  double free_from_s = 0;
  for (const Transfer& transfer : line.prediction.transfers) {
    const double bytes = static_cast<double>(transfer.in_bytes + transfer.out_bytes);
    if (transfer.start_s < free_from_s)
      problems.push_back(
          fmt::format("a transfer begins at {} before {}", transfer.start_s, free_from_s));
    const double needed_s = bytes / line.hardware.bytes_per_s;
    if (std::abs(transfer.end_s - transfer.start_s - needed_s) > 1e-12 * transfer.end_s)
      problems.push_back(
          fmt::format("{} bytes take {} s", bytes, transfer.end_s - transfer.start_s));
    free_from_s = transfer.end_s;
  }
  if (line.prediction.time_s < free_from_s)
    problems.push_back("the iteration ends before a transfer");
  return problems;
}

/// Steps in order, each as long as it computes, none before what it needs.
inline Problems order_problems(const Timeline& line) {
  Problems problems;
  double before_s = 0;
  for (StepId step = 0; step < line.program.steps.size(); ++step) {
    const StepResult& result = line.prediction.steps[step];
    const auto complain = [&](std::string_view what) {
      problems.push_back(fmt::format("step {} {}", step, what));
    };
    if (result.start_s < before_s) complain("starts before the one before has ended");
    if (result.end_s < result.start_s + result.compute_s) complain("ends before it has computed");
    if (result.compute_s != compute_time_s(line.program.steps[step], line.hardware))
      complain("computes too long or too short");
    if (const Transfer* stream = line.stream_of(step);
        stream && (stream->start_s < result.start_s || stream->end_s > result.end_s))
      complain("streams while it does not run");
    for (const std::size_t use : line.uses.of_step[step]) {
      if (!line.is_resident(use) || !line.uses.at(use).reads || line.stayed_until(use)) continue;
      const Transfer* load = line.find(TransferKind::load, use);
      if (!load || load->end_s > result.start_s) complain("starts before its inputs are there");
    }
    before_s = result.end_s;
  }
  return problems;
}

/// Follows every version of every value: what is read, on chip or off, is the last that was
/// written.
class Versions {
 public:
  explicit Versions(const Timeline& line) : line_(line) {}

  Problems problems() {
    for (StepId step = 0; step < line_.program.steps.size(); ++step) {
      for (const std::size_t use : line_.uses.of_step[step]) run(use);
    }
    for (const auto& [value, version] : newest_) {
      if (line_.program.values[value].is_result && outside(value) != version)
        complain(value, "is a result and ends on chip");
    }
    return problems_;
  }

 private:
  void run(std::size_t use) {
    const Use& access = line_.uses.at(use);
    if (access.reads && !line_.is_resident(use)) {
      const Transfer* stream = line_.stream_of(line_.uses.step_of[use]);
      if (!stream || outside(access.value, stream->start_s) != newest_[access.value])
        complain(access.value, "is streamed in as it was before");
    }
    if (access.reads && line_.is_resident(use)) {
      if (!line_.stayed_until(use)) load(use);
      if (on_chip_[access.value] != newest_[access.value])
        complain(access.value, "is read and not on chip as it is now");
    }
    if (access.writes) write(use);
    const Transfer* write_back = line_.find(TransferKind::write_back, use);
    if (write_back) outside_[access.value] = {on_chip_[access.value], write_back->end_s};
  }

  void load(std::size_t use) {
    const ValueId value = line_.uses.at(use).value;
    const Transfer* load = line_.find(TransferKind::load, use);
    if (!load) return complain(value, "is read and never loaded");
    if (line_.uses.previous[use]) {
      const StepId before = line_.uses.step_of[*line_.uses.previous[use]];
      if (load->start_s < line_.prediction.steps[before].end_s)
        complain(value, "is loaded before its last use is over");
    }
    on_chip_[value] = outside(value, load->start_s);
  }

  void write(std::size_t use) {
    const ValueId value = line_.uses.at(use).value;
    const StepId step = line_.uses.step_of[use];
    ++newest_[value];
    if (line_.is_resident(use)) {
      on_chip_[value] = newest_[value];
    } else if (const Transfer* stream = line_.stream_of(step); stream && stream->out_bytes > 0) {
      outside_[value] = {newest_[value], stream->end_s};
    }
  }

  /// The version in the memory outside at that time; -1 while it is on its way.
  int outside(ValueId value, double at_s = 1e300) {
    const auto [version, since_s] = outside_[value];
    return since_s <= at_s ? version : -1;
  }
  void complain(ValueId value, std::string_view what) {
    problems_.push_back(fmt::format("value {} {}", value, what));
  }

  const Timeline& line_;
  std::map<ValueId, int> newest_, on_chip_;
  std::map<ValueId, std::pair<int, double>> outside_;  ///< version, and since when
  Problems problems_;
};

/// What lies on chip at every instant, from what is said of transfers and steps.
inline Problems occupancy_problems(const Timeline& line) {
  std::vector<std::tuple<double, std::int64_t>> changes;  // of equal times, what leaves first
  for (std::size_t use = 0; use < line.plan.uses.size(); ++use) {
    const StepResult& step = line.prediction.steps[line.uses.step_of[use]];
    const std::int64_t bytes = line.uses.bytes(use);
    if (!line.is_resident(use)) continue;
    if (!line.stayed_until(use)) {
      const Transfer* load = line.find(TransferKind::load, use);
      changes.emplace_back(load ? load->start_s : step.start_s, bytes);
    }
    if (line.plan.uses[use].stays) continue;
    double leaves_s = step.end_s;
    if (line.options.offload == Offload::on_demand && line.uses.is_read_again(use))
      leaves_s = line.prediction.steps[line.plan.uses[use].leaves_at - 1].end_s;
    if (const Transfer* out = line.find(TransferKind::write_back, use)) {
      if (out->start_s < leaves_s) return {"a write-back begins before its value leaves"};
      leaves_s = out->end_s;
    }
    changes.emplace_back(leaves_s, -bytes);
  }
  for (StepId step = 0; step < line.program.steps.size(); ++step) {
    std::int64_t rows = 0;
    for (const std::size_t use : line.uses.of_step[step]) {
      if (!line.is_resident(use)) rows += line.uses.least(use);
    }
    const Holding holding = holding_of(line.uses, step, line.plan.capacity_bytes);
    if (holding.fits == 3) rows = holding.least_bytes;
    changes.emplace_back(line.prediction.steps[step].start_s, rows);
    changes.emplace_back(line.prediction.steps[step].end_s, -rows);
  }
  std::sort(changes.begin(), changes.end());
  std::int64_t occupied = 0;
  std::int64_t peak = 0;
  for (const auto& [at_s, bytes] : changes) {
    occupied += bytes;
    peak = std::max(peak, occupied);
  }
  Problems problems;
  if (peak > line.hardware.capacity_bytes)
    problems.push_back(fmt::format("{} bytes on chip", peak));
  if (occupied != 0) problems.push_back(fmt::format("{} bytes on chip after the end", occupied));
  if (peak > line.prediction.peak_occupied_bytes)
    problems.push_back(
        fmt::format("a peak of {} is called {}", peak, line.prediction.peak_occupied_bytes));
  return problems;
}

}  // namespace strata::reference
