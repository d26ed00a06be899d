// SPDX-License-Identifier: Apache-2.0
#include "strata/base/units.hpp"
#include "strata/reproduce/claim_counts.hpp"
#include "strata/reproduce/layerwise_claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

namespace strata {
namespace {

std::string number_text(LayerwiseUnit unit, double value) {
  switch (unit) {
    case LayerwiseUnit::share: return whole_percent(value);
    case LayerwiseUnit::bytes: return format_bytes(value);
    case LayerwiseUnit::bytes_per_s: return format_bytes_per_s(value);
    case LayerwiseUnit::factor: break;
  }
  return times_text(value);
}

/// What a claim comes to at one batch.
struct Tested {
  bool holds = false;
  std::string found;
};

/// Tests one claim at every batch, or over them.
class ClaimTest {
 public:
  ClaimTest(const LayerwiseClaim& claim, const std::vector<const LayerwiseCase*>& cases)
      : claim_(claim), has_several_(cases.size() > 1) {
    for (const LayerwiseCase* one : cases) {
      if (!claim.of.needs_counters() || !one->profile.counters.columns.empty())
        layers_.emplace_back(*one);
    }
  }

  void add_to(LayerwiseRows& rows) const {
    switch (claim_.rule) {
      case LayerwiseRule::number:
      case LayerwiseRule::each_layer:
      case LayerwiseRule::most_layers: return at_a_batch(rows);
      case LayerwiseRule::rises: return rises(rows);
      case LayerwiseRule::steady: return steady(rows);
      case LayerwiseRule::steady_layer: return steady_layer(rows);
      case LayerwiseRule::proportional:
      case LayerwiseRule::next_batch: return growth(rows);
    }
  }

 private:
  static std::int64_t batch_of(const CountedLayers& layers) { return layers.profile().batch; }
  std::string what(const std::string& batches) const {
    return fmt::format("{}, batch {}", claim_.what, batches);
  }
  void missing(LayerwiseRows& rows, std::string_view reason) const {
    rows.add_without_verdict(claim_, std::string(claim_.what), "–", reason);
  }
  void judge(LayerwiseRows& rows, std::string what, std::string found, bool holds,
             std::string cause) const {
    rows.add(claim_, std::move(what), std::move(found),
             {.holds = holds, .rule = std::string(claim_.rule_text), .cause = std::move(cause)});
  }
  std::string cause(const CountedLayers& layers) const {
    return claim_.cause == nullptr ? "" : claim_.cause(layers);
  }

  std::optional<Tested> tested(const CountedLayers& layers) const {
    if (claim_.rule == LayerwiseRule::number) return number(layers);
    std::vector<LayerSum> group = layers.group(claim_.of.group, claim_.of.direction);
    Mean values;
    std::size_t within = 0;
    for (const LayerSum& layer : group) {
      auto value = layers.value(claim_.of, layer);
      if (!claim_.others().empty()) {
        const auto other = layers.value(claim_.others().front(), layer);
        value = value && other && *other > 0 ? std::optional(*value / *other) : std::nullopt;
      }
      if (!value) continue;
      values.add(value);
      within += claim_.is_within(*value);
    }
    if (!values.is_there()) return std::nullopt;
    if (claim_.rule == LayerwiseRule::most_layers)
      return Tested{2 * within > values.count(), fmt::format("{} of {}", within, values.count())};
    return Tested{within == values.count(),
                  fmt::format("{} to {}", number_text(claim_.unit, values.least()),
                              number_text(claim_.unit, values.most()))};
  }

  /// The number itself, or its ratio to each of the others.
  std::optional<Tested> number(const CountedLayers& layers) const {
    const auto value = layers.value(claim_.of);
    if (!value) return std::nullopt;
    if (claim_.others().empty())
      return Tested{claim_.is_within(*value), number_text(claim_.unit, *value)};
    bool holds = true;
    std::string ratios, others;
    for (const LayerTerm& term : claim_.others()) {
      const auto other = layers.value(term);
      if (!other || !(*other > 0)) return std::nullopt;
      holds = holds && claim_.is_within(*value / *other);
      ratios += (ratios.empty() ? "" : ", ") + number_text(claim_.unit, *value / *other);
      others += (others.empty() ? "" : ", ") + number_text(claim_.unit, *other);
    }
    const bool is_ratio =
        claim_.unit == LayerwiseUnit::factor ||
        (claim_.unit == LayerwiseUnit::share && claim_.of.measure == LayerMeasure::sum);
    return Tested{
        holds, is_ratio ? ratios : fmt::format("{}; {}", number_text(claim_.unit, *value), others)};
  }

  /// Tests the claim at the largest batch, or at all of them; the row says where another batch says
  /// otherwise.
  void at_a_batch(LayerwiseRows& rows) const {
    std::optional<Tested> last;
    const CountedLayers* largest = nullptr;
    const CountedLayers* failing = nullptr;
    std::vector<std::pair<std::int64_t, bool>> all;
    std::string found;
    for (const CountedLayers& layers : layers_) {
      auto one = tested(layers);
      if (!one) continue;
      all.emplace_back(batch_of(layers), one->holds);
      found += fmt::format("{}{}", found.empty() ? "" : " · ", one->found);
      if (!one->holds) failing = &layers;
      largest = &layers;
      last = std::move(one);
    }
    if (!last)
      return missing(rows, layers_.empty() ? no_counters_in_profiles
                                           : "these profiles have no such layer or column");
    std::vector<std::int64_t> batches, others;
    for (const auto& [batch, holds] : all) {
      batches.push_back(batch);
      if (holds != last->holds) others.push_back(batch);
    }
    if (claim_.is_of_every_batch) {
      return judge(rows, what(fmt::format("{}", fmt::join(batches, ", "))), std::move(found),
                   failing == nullptr, failing == nullptr ? "" : cause(*failing));
    }
    std::string remark;
    if (!others.empty())
      remark = fmt::format("{} at batch {}", last->holds ? "no" : "yes", fmt::join(others, ", "));
    if (!last->holds) {
      const std::string why = cause(*largest);
      remark = why + (why.empty() || remark.empty() ? "" : "; ") + remark;
    }
    judge(rows, what(fmt::format("{}", batches.back())), last->found, last->holds, remark);
  }

  /// Values at the batches that have one.
  std::vector<std::pair<const CountedLayers*, double>> values() const {
    std::vector<std::pair<const CountedLayers*, double>> list;
    for (const CountedLayers& layers : layers_)
      if (const auto value = layers.value(claim_.of)) list.emplace_back(&layers, *value);
    return list;
  }
  std::string_view why_missing() const {
    return has_several_ ? no_counters_in_profiles : one_batch_only;
  }
  static std::string span_of(const CountedLayers& from, const CountedLayers& to) {
    return fmt::format("{} → {}", batch_of(from), batch_of(to));
  }

  void rises(LayerwiseRows& rows) const {
    const auto list = values();
    if (list.size() < 2) return missing(rows, why_missing());
    const auto falls =
        std::adjacent_find(list.begin(), list.end(),
                           [](const auto& a, const auto& b) { return a.second >= b.second; });
    std::string why;
    if (falls != list.end()) {
      const auto next = falls + 1;
      why = fmt::format("batch {} has {} that of batch {}, where other kernels were chosen",
                        batch_of(*next->first), times_text(next->second / falls->second),
                        batch_of(*falls->first));
    }
    judge(rows, what(span_of(*list.front().first, *list.back().first)),
          times_text(list.back().second / list.front().second), falls == list.end(), why);
  }

  void steady(LayerwiseRows& rows) const {
    const auto list = values();
    if (list.size() < 2) return missing(rows, why_missing());
    Mean all;
    std::string each;
    for (const auto& [layers, value] : list) {
      all.add(value);
      each += fmt::format("{}{}", each.empty() ? "" : " · ", number_text(claim_.unit, value));
    }
    const double ratio = all.most() / all.least();
    judge(rows, what(span_of(*list.front().first, *list.back().first)),
          fmt::format("{} ({})", times_text(ratio), each), claim_.is_within(ratio),
          cause(*list.back().first));
  }

  /// Tests how values grow from the first batch to the last, or to the second.
  void growth(LayerwiseRows& rows) const {
    const auto list = values();
    if (list.size() < 2 || !(list.front().second > 0)) return missing(rows, why_missing());
    const bool is_next = claim_.rule == LayerwiseRule::next_batch;
    const auto& [from, first] = list.front();
    const auto& [to, last] = is_next ? list[1] : list.back();
    const double factor = last / first;
    const double batches =
        static_cast<double>(batch_of(*to)) / static_cast<double>(batch_of(*from));
    const std::string found = fmt::format("{} → {}, {}{}", number_text(claim_.unit, first),
                                          number_text(claim_.unit, last), times_text(factor),
                                          is_next ? "" : fmt::format(" for {:.3g}×", batches));
    judge(rows, what(span_of(*from, *to)), found,
          claim_.is_within(is_next ? factor : factor / batches),
          is_next ? kernels_of(*from, *to) : cause(*to));
  }

  std::string kernels_of(const CountedLayers& from, const CountedLayers& to) const {
    const auto by = [&](const CountedLayers& layers) {
      std::set<std::string> names;
      for (const LayerSum& layer : layers.group(claim_.of.group, LayerDirection::forward))
        names.insert(layer.implementation);
      return fmt::format("{}", fmt::join(names, ", "));
    };
    const std::string before = by(from), after = by(to);
    return before == after ? fmt::format("the same kernels at both: {}", before)
                           : fmt::format("{} became {}", before, after);
  }

  /// Tests the widest difference that any layer has over the batches.
  void steady_layer(LayerwiseRows& rows) const {
    struct Seen {
      double value = 0;
      std::string where;
    };
    std::map<std::string, std::pair<Seen, Seen>> extremes;  // least and most of each layer
    for (const CountedLayers& layers : layers_) {
      for (const LayerSum& layer : layers.group(claim_.of.group)) {
        const auto value = layers.value(claim_.of, layer);
        if (!value) continue;
        const std::string ran = algorithms_text({layer});
        const Seen now{*value, fmt::format("{}{}at batch {}", ran.empty() ? "" : "with " + ran,
                                           ran.empty() ? "" : " ", batch_of(layers))};
        auto& [least, most] = extremes.try_emplace(layer.title(), now, now).first->second;
        if (now.value < least.value) least = now;
        if (now.value > most.value) most = now;
      }
    }
    if (layers_.size() < 2 || extremes.empty()) return missing(rows, why_missing());
    const auto widest =
        std::max_element(extremes.begin(), extremes.end(), [](const auto& a, const auto& b) {
          return a.second.second.value - a.second.first.value <
                 b.second.second.value - b.second.first.value;
        });
    const auto& [least, most] = widest->second;
    const double difference = most.value - least.value;
    judge(rows, what(span_of(layers_.front(), layers_.back())),
          fmt::format("{:.0f} points", 100 * difference), claim_.is_within(difference),
          fmt::format("{}: {} {}, {} {}", widest->first, whole_percent(least.value), least.where,
                      whole_percent(most.value), most.where));
  }

  const LayerwiseClaim& claim_;
  bool has_several_;
  std::vector<CountedLayers> layers_;  ///< of the cases that have what the claim needs
};

// Only where both networks are there.
void add_deeper_backward(const LayerwiseStudy& study, std::vector<Finding>& findings) {
  static const LayerwiseClaim claim{
      .about = "backward",
      .sentence = "Backward over forward is larger in VGG-16 than in AlexNet (figure 2d, 2e)",
      .printed = "VGG-16 > AlexNet"};
  const auto ratio = [](const LayerwiseCase& one) {
    const auto [forward_s, backward_s] = directions(one);
    return forward_s > 0 ? backward_s / forward_s : 0;
  };
  const auto alexnet = study.of("alexnet_caffe"), vgg = study.of("vgg16");
  for (auto large = vgg.rbegin(); large != vgg.rend(); ++large) {
    const auto small = std::find_if(alexnet.begin(), alexnet.end(), [&](const LayerwiseCase* one) {
      return one->batch == (*large)->batch;
    });
    if (small == alexnet.end()) continue;
    const double of_alexnet = ratio(**small), of_vgg = ratio(**large);
    LayerwiseRows("all", false, findings)
        .add(claim,
             fmt::format("time of backward over forward: VGG-16, AlexNet, batch {}",
                         (*large)->batch),
             fmt::format("{}, {}", times_text(of_vgg), times_text(of_alexnet)),
             {.holds = of_vgg > of_alexnet,
              .rule = "holds where VGG-16's ratio is the larger",
              .cause = ran_as("VGG-16's convolutions forward",
                              CountedLayers(**large).group(LayerGroup::convolutions,
                                                           LayerDirection::forward))});
    return;
  }
}

}  // namespace

void LayerwiseRows::add(const LayerwiseClaim& claim, std::string what, std::string found,
                        LayerwiseVerdict verdict) {
  std::string note = std::move(verdict.rule);
  if (!verdict.cause.empty()) note += "; " + verdict.cause;
  findings_.push_back({.observation = std::string(claim.about),
                       .network = network_,
                       .what = std::move(what),
                       .printed = std::string(claim.printed),
                       .found = std::move(found),
                       .is_printed = true,
                       .holds = verdict.holds,
                       .note = std::move(note),
                       .sentence = std::string(claim.sentence),
                       .apart = is_own_ ? std::string(own_kernels) : ""});
  if (claim.drawn.empty()) return;
  findings_.back().drawn.push_back({.figure = fmt::format("layerwise-{}-{}", network_, claim.drawn),
                                    .x = {},
                                    .y = claim.drawn_at,
                                    .label = fmt::format("{}, {}", claim.printed, claim.what)});
}

void LayerwiseRows::add_without_verdict(const LayerwiseClaim& claim, std::string what,
                                        std::string found, std::string_view reason) {
  add(claim, std::move(what), std::move(found),
      {.holds = false, .rule = std::string(reason), .cause = {}});
  findings_.back().is_printed = false;
}

void add_claim(const LayerwiseClaim& claim, const std::vector<const LayerwiseCase*>& cases,
               LayerwiseRows& rows) {
  // A claim about convolutions is none about a network without any.
  if (CountedLayers(*cases.back()).group(claim.of.group).empty()) return;
  ClaimTest(claim, cases).add_to(rows);
}

std::vector<Finding> layerwise_findings(const LayerwiseStudy& study) {
  std::vector<Finding> findings;
  for (const std::string& network : study.networks()) {
    const std::vector<const LayerwiseCase*> cases = study.of(network);
    LayerwiseRows rows(network, cases.front()->is_own(), findings);
    for (const LayerwiseClaim& claim : layerwise_claims()) add_claim(claim, cases, rows);
    add_claims_of_kernels(cases, rows);
    add_interconnect(cases, rows);
  }
  add_deeper_backward(study, findings);
  group_by_sentence(findings);  // networks side by side
  return findings;
}

std::string layerwise_notes(const LayerwiseStudy& study) {
  std::set<std::string> libraries;
  bool has_own = false;
  for (const LayerwiseCase& one : study.cases()) {
    has_own = has_own || one.is_own();
    for (std::size_t i = 0; i < one.implementations.size() && i < one.profile.rows.size(); ++i) {
      const std::string& op = one.profile.rows[i].op;
      const std::string& by = one.implementations[i];
      if (op != "convolution" && op != "linear") continue;
      const std::size_t version = by.find(' ');  // "cuDNN 9.14.0 engine 1"
      if (!by.empty()) libraries.insert(by.substr(0, by.find(' ', version + 1)));
    }
  }
  std::string text = fmt::format(
      "convolutions and fully connected layers by {}; synthetic data of the real shapes (the study "
      "had ImageNet, Caffe and 100 iterations)\n",
      libraries.empty() ? "kernels that the profiles do not name"
                        : fmt::format("{}", fmt::join(libraries, ", ")));
  text +=
      has_own
          ? "rows of a network with \"-own\" are of convolutions by Strata's own strategies and "
            "stand apart\n"
          : "convolutions by Strata's own strategies are not among these profiles; strata "
            "measure --conv NAME --metrics paper --json makes them, --from DIR shows both\n";
  return text +
         "paper's machine: GTX 1080 Ti; its table gives 24 KB of L1 and 4096 KB of L2, the "
         "GPU's data sheet (strata machine show gtx-1080-ti) 48 KB and 2816 KB\n";
}

}  // namespace strata
