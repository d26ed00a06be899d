// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/analytical.hpp"

#include "strata/base/units.hpp"
#include "strata/graph/operator_names.hpp"
#include "strata/report/prediction_reuse.hpp"
#include "strata/reproduce/thesis_policies.hpp"
#include "strata/reproduce/thesis_words.hpp"
#include "strata/training/reuse_frequency.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace strata {
namespace {

/// Reuse frequencies of the forward layers of a class, rising.
std::vector<double> frequencies_of(const ThesisNetwork& network, LayerClass layer_class) {
  std::vector<double> frequencies;
  for (const StepReuse& reuse : reuse_frequencies(network.program(), CountMac::as_one)) {
    const Step& step = network.program().steps[reuse.step];
    if (step.pass == Pass::forward && step.layer_class == layer_class && reuse.operations > 0)
      frequencies.push_back(reuse.frequency());
  }
  std::sort(frequencies.begin(), frequencies.end());
  return frequencies;
}

/// Bytes of the smallest and the largest feature map that a convolution makes.
std::pair<std::int64_t, std::int64_t> map_bytes(const Program& program) {
  std::pair<std::int64_t, std::int64_t> range(INT64_MAX, 0);
  for (StepId id = 0; id < program.steps.size(); ++id) {
    const Step& step = program.steps[id];
    if (step.pass != Pass::forward || step.node == no_node ||
        name_of(program.bound->graph->nodes[step.node].op) != "convolution")
      continue;
    range.first = std::min(range.first, program.write_bytes(id));
    range.second = std::max(range.second, program.write_bytes(id));
  }
  return range;
}

double median(const std::vector<double>& sorted) { return sorted[sorted.size() / 2]; }

void add_reuse_frequency(const ThesisNetwork& network, bool is_compute, ThesisRows& rows) {
  const double ridge = thesis_flop_per_s / thesis_bytes_per_s;
  const std::vector<double> first = frequencies_of(network, LayerClass::dense);
  const std::vector<double> second = frequencies_of(network, LayerClass::pointwise);
  const double spread =
      std::max(first.back(), second.back()) / std::min(first.front(), second.front());
  rows.add(
      {"1", network.name(), "reuse frequency, most against least", "10² to 10⁴×",
       fmt::format("{:.0f}×", spread), fmt::format("10^{:.2f}", std::log10(spread)),
       "Reuse frequency differs by 10² to 10⁴ times among the layers of a network (observation 1)"},
      between(spread, 1e2, 1e4, "10² to 10⁴×, not rounded"));
  rows.add({"1", network.name(), "two clusters: median of type I over type II", "apart",
            fmt::format("{:.0f}×", median(first) / median(second)), "",
            "Layers form two clusters, type I above type II (observation 1)"},
           {first[first.size() / 4] > second[3 * second.size() / 4],
            "a quarter of type I is above three quarters of type II"});
  const auto above = first.end() - std::lower_bound(first.begin(), first.end(), ridge);
  const double part = static_cast<double>(above) / static_cast<double>(first.size());
  rows.add({"2", network.name(), "type-I layers above the ridge point",
            is_compute ? "most: compute-bound" : "few: memory-bound",
            fmt::format("{:.0f} %", 100 * part), "",
            "ResNet-50 and the Transformer lean to compute-bound, MobileNet v2 and GNMT have fewer "
            "compute-bound layers (observation 2)"},
           {is_compute == (part > 0.5), is_compute ? "more than half" : "at most half"});
  const double needed = thesis_flop_per_s / second.front();
  rows.add({"1", network.name(), "bandwidth at which every type-II layer computes at peak",
            "10⁵ GB/s", fmt::format("{:.1f} · 10⁵ GB/s", needed / 1e14), "",
            "Type-II layers would need about 10⁵ GB/s to compute at the peak (observation 1)"},
           same_order(1e14, needed));
}

void add_map_sizes(const ThesisNetwork& resnet, ThesisRows& rows) {
  const auto [smallest, largest] = map_bytes(resnet.program());
  const auto text = [](std::int64_t bytes) { return format_capacity(static_cast<double>(bytes)); };
  const std::string sizes = "ResNet-50's feature maps range from 6 to 98 MB (observation 3)";
  rows.add({"3", resnet.name(), "largest feature map of a convolution", "98 MB", text(largest), "",
            sizes},
           rounds_to(98, largest));
  rows.add({"3", resnet.name(), "smallest feature map of a convolution", "6 MB", text(smallest),
            "7 × 7 × 512 numbers in fp32, 32 times, are half of what is printed", sizes},
           rounds_to(6, smallest));
}

/// The thesis's sentence is about both scopes together. Beside what stays on chip stands what fits
/// by the formulas of its section 3.3, whatever else is kept beside it.
void add_reuse_scopes(const ThesisNetwork& transformer, ThesisRows& rows) {
  const ThesisPoint point{.capacity_mib = 180};
  const Decision decision = decide(transformer.list(), point.hardware(), point.options());
  const auto fits = reuse_that_fits(transformer.program(), point.hardware().capacity_bytes);
  double offered = 0, captured = 0, fitting = 0;
  std::string shares;
  for (const ScopeReuse& scope : reuse_by_scope(transformer.program(), decision.plan)) {
    const bool is_adjacent = scope.scope == name_of(ReuseScope::adjacent);
    if (!is_adjacent && scope.scope != name_of(ReuseScope::block)) continue;
    const auto whole = static_cast<double>(scope.offered_bytes);
    const auto stays = static_cast<double>(scope.captured_bytes);
    offered += whole;
    captured += stays;
    fitting += static_cast<double>(
        fits[static_cast<std::size_t>(is_adjacent ? ReuseScope::adjacent : ReuseScope::block)]);
    shares +=
        fmt::format("{}{} {:.0f} %", shares.empty() ? "" : ", ", scope.scope, 100 * stays / whole);
  }
  rows.add({"3", transformer.name(), "adjacent and block reuse captured at 180 MiB", "almost all",
            fmt::format("{:.0f} % ({}; by the formulas of 3.3 {:.0f} % fit)",
                        100 * captured / offered, shares, 100 * fitting / offered),
            "",
            "Almost all adjacent and block reuse of the Transformer is captured by 180 MB "
            "(observation 3)"},
           at_least(captured / offered, 0.9, "90 % of both together"));
}

void add_printed_numbers(const ThesisNetworks& networks, ThesisRows& rows) {
  for (const PrintedNumber& number : printed_numbers()) {
    const ThesisNetwork& network = networks.all()[number.network];
    const double found = number.found(network, {});
    const std::string what(number.what);
    rows.add({std::string(number.observation), network.name(), what, number.printed_text(),
              number.text(found), std::string(number.why_not), std::string(number.sentence)},
             number.verdict(found));
    if (number.drawn_in.empty()) continue;
    // A change is printed against the time at 24 MiB, so that it stands below ours there.
    const bool is_change = number.form != ThesisForm::factor;
    rows.last().drawn.push_back(
        {.figure = "figure-5.3-time",
         .panel = fmt::format("{}: {}", thesis_networks[number.network].title, number.drawn_in),
         .x = static_cast<double>(number.drawn_at_mib << 20),
         .y = is_change ? network.at({}).time_s * (1 + number.printed) : number.printed,
         .label = fmt::format("{}: {}", what, number.printed_text())});
  }
}

void add_worded_claims(const ThesisNetworks& networks, ThesisRows& rows) {
  for (const WordedClaim& claim : worded_claims()) {
    const ThesisNetwork& network = networks.all()[claim.network];
    const double found = claim.found(network);
    rows.add({std::string(claim.observation), network.name(), std::string(claim.what),
              std::string(claim.printed), claim.text(found), std::string(claim.why_not),
              std::string(claim.sentence)},
             claim.verdict(found));
  }
}

/// The networks as published, whose layers do not fit into 24 MiB: numbers without a claim.
void add_published(ThesisRows& rows) {
  struct Published {
    std::string_view name;
    std::string_view speed_up;
    std::string_view time;
  };
  for (const auto& [name, speed_up, time] : {Published{"transformer_big", "1.40×", "−26.5 %"},
                                             Published{"gnmt", "under 1.10×", "−81.1 %"}}) {
    const ThesisNetwork network(name);
    const ThesisPoint small{.may_slice = true};
    const ThesisPoint large{.capacity_mib = 500, .may_slice = true};
    rows.beside({"5", network.name(),
                 fmt::format("13.45 → 23.04 TFLOP/s at 24 MiB (the thesis: {})", speed_up), "",
                 thesis_times(thesis_speed_up(network, small))},
                "as published; the thesis's network is inferred");
    rows.beside({"8", network.name(), fmt::format("time, 24 → 500 MiB (the thesis: {})", time), "",
                 thesis_percent(network.at(large).time_s / network.at(small).time_s - 1)},
                "as published; the printed number is met by the inferred network only");
  }
}

}  // namespace

std::vector<Finding> reproduce_analytical(const std::function<void(double)>& progress) {
  const ThesisNetworks networks;
  ThesisRows rows;
  const std::function<void()> parts[] = {
      [&] {
        for (const ThesisNetwork& network : networks.all())
          add_reuse_frequency(
              network, &network == &networks.resnet() || &network == &networks.transformer(), rows);
      },
      [&] { add_map_sizes(networks.resnet(), rows); },
      [&] { add_reuse_scopes(networks.transformer(), rows); },
      [&] { add_printed_numbers(networks, rows); },
      [&] { add_worded_claims(networks, rows); },
      [&] { add_published(rows); },
      [&] { add_policy_rows(networks, rows); },
      [&] { add_readings(networks, rows); }};
  double done = 0;
  for (const auto& part : parts) {
    if (progress) progress(done / static_cast<double>(std::size(parts)));
    part();
    ++done;
  }
  if (progress) progress(1);
  return std::move(rows).sorted();
}

}  // namespace strata
