// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/capture_claims.hpp"

#include "strata/base/error.hpp"
#include "strata/base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace strata {
namespace {

constexpr CaptureClaim claims_of_capture[] = {
    {"broadcast", "broadcast",
     "Broadcasts between the GPUs take about 45 % of their time at batch 4, and less with every "
     "larger batch (share of broadcasts)",
     "broadcast, of GPU time, batch 4 … 64", "about 45 % at 4, falls"},
    {"winograd-k80", "Winograd",
     "The share of Winograd rises to batch 16 and falls beyond (share of Winograd, K80)",
     "Winograd, of kernel time, batch 4 … 64", "rises to 16, then falls"},
    {"winograd-p40", "Winograd",
     "The share of Winograd grows with the batch in ResNet-18 and VGG-16 (share of Winograd, P40)",
     "Winograd, of kernel time, batch 4 … 64", "grows"},
    {"max-pool", "max-pool",
     "Max-pool backward takes a share that grows with the batch (share of max-pool backward)",
     "max-pool backward, of kernel time, batch 4 … 64", "grows with the batch"},
    {"launches", "launches",
     "Launches are about 100 % of the time in calls of the backward part, and less at batch 64 "
     "(calls of the API)",
     "launches, of API time in backward, batch 4 … 64", "about 100 %, less at 64"},
    {"memory", "memory",
     "Training at a small batch is memory-bound: the time in transfers falls as the batch grows "
     "(conclusion)",
     "batch 4 → 64: copies, of device time; GPU without a kernel, of the step", "memory-bound"},
    {"batches", "kernels", "Other kernels run at other batches (kernels)",
     "launches of a step and algorithms of convolutions, batch 4 … 64", "they differ"},
    {"gpus", "kernels", "The K80 and the P40 run different kernels for the same layers (kernels)",
     "convolution kernels in the report's own logs, AlexNet and ResNet-18, batch 64",
     "they differ"},
    {"concurrency", "concurrency",
     "Kernels hardly run at the same time: 675.8 µs of 12.375 s (profiler's advice, AlexNet, batch "
     "64)",
     "kernels at the same time, batch 64", "0.0055 %"},
    {"slow-copies", "copies",
     "Copies of low throughput account for 17.4 % of the time of all copies (profiler's advice, "
     "AlexNet, batch 64)",
     "copies below half of the link's bandwidth, of the time of copies, batch 64", "17.4 %"},
    {"small-copies", "copies", "Copies are small (profiler's advice)",
     "copies below 64 KiB, of all copies, batch 64", "small"},
    {"overlap", "copies", "Copies hardly overlap with kernels (profiler's advice)",
     "copies under a kernel, of the time of copies, batch 64", "low"},
    {"clean-up", "clean-up",
     "Calls that destroy events show in the time of calls (calls of the API, VGG-16, K80)",
     "event destroy, of API time in backward, batch 64", "shows"},
    {"queries", "queries",
     "cuDeviceGetAttribute, cudaGetDeviceProperties and cuDeviceTotalMem take nearly all time in "
     "calls of a whole program (calls of the API, donut, ResNet-18, batch 64)",
     "the same, of API time of the whole program", "34.6 + 32.9 + 29.4 %"},
    {"steady-queries", "queries",
     "Calls that ask about the device and its memory do not vary with the batch (calls of the API)",
     "time in calls that ask, most over least, batch 4 … 64", "do not vary"},
    {"flop", "FLOP", "VGG-16 has the most FLOP of the three networks (FLOP over the batch)",
     "FLOP of an iteration, batch 4 … 64", "VGG-16 has the most"},
};

// Shares of neighbouring batches that differ by less are alike.
constexpr double noise = 0.05;

bool never_falls(std::span<const double> shares) {
  return std::adjacent_find(shares.begin(), shares.end(),
                            [](double a, double b) { return b < a * (1 - noise); }) == shares.end();
}
bool never_rises(std::span<const double> shares) {
  return std::adjacent_find(shares.begin(), shares.end(),
                            [](double a, double b) { return b > a * (1 + noise); }) == shares.end();
}
bool grows(std::span<const double> shares) {
  return never_falls(shares) && shares.back() > 1.1 * shares.front();
}
bool falls_from_45(std::span<const double> shares) {
  return shares.front() >= 0.30 && shares.front() <= 0.60 && never_rises(shares) &&
         shares.back() < 0.9 * shares.front();
}
bool peaks_at_16(std::span<const double> shares) {
  constexpr std::size_t at_16 = 2;
  return never_falls(shares.first(at_16 + 1)) && never_rises(shares.subspan(at_16)) &&
         shares[at_16] > 1.1 * shares.front() && shares[at_16] > 1.1 * shares.back();
}
bool launches_alone(std::span<const double> shares) {
  const std::span<const double> before = shares.first(shares.size() - 1);
  const double least = *std::min_element(before.begin(), before.end());
  return least > 0.9 && shares.back() < least;
}

constexpr FollowedClaim followed_over_batches[] = {
    {"broadcast", "iteration", share_of_collectives, falls_from_45,
     "holds where it is from 30 to 60 % at 4 and falls from batch to batch, by a tenth in all"},
    {"winograd-k80", "iteration", share_of_winograd, peaks_at_16,
     "holds where it rises to 16 and falls from there, by a tenth each; 5 % are noise"},
    {"winograd-p40",
     "iteration",
     share_of_winograd,
     grows,
     "holds where it falls at no batch and 64 has a tenth more than 4; 5 % are noise",
     {{"resnet18", "vgg16"}}},
    {"max-pool", "iteration", share_of_pool_backward, grows,
     "holds where it falls at no batch and 64 has a tenth more than 4; 5 % are noise"},
    {"launches", "backward", share_of_launches, launches_alone,
     "holds above 90 % at 4 to 32 and with less at 64"},
};

}  // namespace

const CaptureClaim& capture_claim(std::string_view id) {
  const auto* const found = std::find_if(std::begin(claims_of_capture), std::end(claims_of_capture),
                                         [&](const CaptureClaim& claim) { return claim.id == id; });
  STRATA_CHECK(found != std::end(claims_of_capture), "every row is of a claim");
  return *found;
}

std::span<const FollowedClaim> followed_claims() { return followed_over_batches; }

void CaptureRows::add(const CaptureClaim& claim, std::string_view network, std::string found,
                      CaptureVerdict verdict) {
  std::string note = std::move(verdict.rule);
  for (const std::string& more : {verdict.remark, verdict.holds ? std::string() : verdict.cause})
    if (!more.empty()) note += "; " + more;
  findings_.push_back({.observation = std::string(claim.about),
                       .network = std::string(network),
                       .what = std::string(claim.what),
                       .printed = std::string(claim.printed),
                       .found = std::move(found),
                       .is_printed = true,
                       .holds = verdict.holds,
                       .note = std::move(note),
                       .sentence = std::string(claim.sentence)});
}

void CaptureRows::add_without_verdict(const CaptureClaim& claim, std::string_view network,
                                      std::string found, std::string reason) {
  add(claim, network, std::move(found), {.holds = false, .rule = std::move(reason)});
  findings_.back().is_printed = false;
}

void CaptureRows::add_own(std::string_view about, std::string_view network, std::string what,
                          std::string found, std::string note) {
  findings_.push_back({.observation = std::string(about),
                       .network = std::string(network),
                       .what = std::move(what),
                       .printed = {},
                       .found = std::move(found),
                       .is_printed = false,
                       .holds = false,
                       .note = std::move(note)});
}

std::string in_percent(std::span<const double> values) {
  std::string text;
  for (const double value : values)
    text += fmt::format("{}{:.3g}", text.empty() ? "" : " · ", 100 * value);
  return text + " %";
}

std::optional<std::vector<double>> shares_over_batches(const CaptureStudy& study,
                                                       std::string_view network,
                                                       std::string_view part,
                                                       double (*share)(const CaptureCase& one)) {
  std::vector<double> values;
  for (const std::int64_t batch : captured_batches) {
    const CaptureCase* const one = find_case(study, "pytorch", network, batch, part);
    if (one == nullptr) return std::nullopt;
    values.push_back(share(*one));
  }
  return values;
}

std::string other_calls(const CaptureCase& one) {
  std::vector<std::pair<std::string, double>> calls;
  for (const auto& [name, seconds] : one.call_s) {
    if (name.find("Launch") == std::string::npos) calls.emplace_back(name, seconds);
  }
  if (calls.empty()) {
    return fmt::format(
        "other calls take {} of {} at batch {}; these results do not name them (strata plot --kind "
        "api-donut of a capture does)",
        format_time(one.api_s - one.launch_api_s), format_time(one.api_s), one.batch);
  }
  std::stable_sort(calls.begin(), calls.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  calls.resize(std::min<std::size_t>(calls.size(), 3));
  std::string text;
  for (const auto& [name, seconds] : calls) {
    text += fmt::format("{}{} {:.3g} %", text.empty() ? "" : ", ", name,
                        100 * part_of_whole(seconds, one.api_s));
  }
  return fmt::format("at batch {} also {}", one.batch, text);
}

}  // namespace strata
