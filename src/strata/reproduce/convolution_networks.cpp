// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/convolution_networks.hpp"

#include "strata/base/embedded.hpp"
#include "strata/base/error.hpp"
#include "strata/capture/kernel_class.hpp"
#include "strata/profile/read_profile.hpp"
#include "strata/report/measured_kernels.hpp"
#include "strata/reproduce/convolution_claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace strata {
namespace {

constexpr std::string_view convolution_op = "convolution";

constexpr HotNetwork networks_of_the_study[] = {
    {"googlenet", "GoogLeNet", 0.86,
     "this GoogLeNet normalises after every convolution, the study's does not"},
    {"vgg16", "VGG-16", 0.89, "the study's is VGG-19"},
    {"overfeat", "OverFeat", 0.90, ""},
    {"alexnet_caffe", "AlexNet", 0.94, ""}};

std::vector<std::pair<std::string, double>> time_by_type(const Profile& profile) {
  std::map<std::string, double> times;
  double all_s = 0;
  for (const ProfileRow& row : profile.rows) {
    times[row.op] += row.totals.time_s;
    all_s += row.totals.time_s;
  }
  std::vector<std::pair<std::string, double>> types(times.begin(), times.end());
  for (auto& [op, share] : types) share = all_s > 0 ? share / all_s : 0;
  std::stable_sort(types.begin(), types.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return types;
}

/// "batch_norm 15 %, max_pool 13 %": what takes longest besides convolution.
std::string next_types_text(const HotLayers& network) {
  std::string text;
  std::size_t shown = 0;
  for (const auto& [op, share] : network.types) {
    if (op == convolution_op) continue;
    text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ", op, 100 * share);
    if (++shown == 2) break;
  }
  return text;
}

double batch_distance(const HotLayers& network) {
  constexpr double batch_of_the_study = 128;
  return std::abs(std::log(static_cast<double>(network.batch) / batch_of_the_study));
}

/// What the library's kernels for the convolutions of these networks do, all passes together. The
/// study names them and prints no share.
void add_library_kernels(std::span<const HotLayers> networks, ConvFindings& findings) {
  const ConvClaim claim = conv_claim("30");
  std::map<std::string, double> roles;
  double all_s = 0;
  for (const HotLayers& network : networks) {
    for (const auto& [pass, by_role] : network.roles) {
      for (const auto& [role, seconds] : by_role) {
        roles[role] += seconds;
        all_s += seconds;
      }
    }
  }
  if (!(all_s > 0)) return findings.missing(claim, "no kernels in the profiles");
  std::vector<std::pair<double, std::string>> sorted;
  for (const auto& [role, seconds] : roles) sorted.emplace_back(seconds / all_s, role);
  std::sort(sorted.rbegin(), sorted.rend());
  std::string others;
  constexpr double least_shown = 0.005;
  for (const auto& [share, role] : sorted) {
    if (role != "gemm" && share >= least_shown)
      others += fmt::format("{}{} {:.0f} %", others.empty() ? "" : ", ", role, 100 * share);
  }
  findings.show(
      claim, fmt::format("{:.0f} %", 100 * roles["gemm"] / all_s),
      "no number is printed; by names of kernels in the networks of figure 2; others: " + others);
}

}  // namespace

std::span<const HotNetwork> hot_networks() { return networks_of_the_study; }

double HotLayers::convolution_share() const {
  for (const auto& [op, share] : types) {
    if (op == convolution_op) return share;
  }
  return 0;
}

HotLayers read_hot_layers(std::string_view json_text) {
  const Profile profile = read_profile(json_text);
  const MeasuredKernels measured = measured_kernels_in(json_text);
  HotLayers found{.network = profile.subject.network,
                  .title = profile.subject.title,
                  .device = profile.subject.machine_title,
                  .types = time_by_type(profile)};
  for (const Dimension& dim : measured.dims)
    if (dim.name == "batch") found.batch = dim.value;
  if (profile.evidence != Evidence::measured || found.batch <= 0)
    fail(ErrorKind::input, "not a profile of `strata measure` with a batch");
  std::set<std::pair<std::string, std::string>> convolutions;
  double all_s = 0, fewer_s = 0;
  for (const ProfileRow& row : profile.rows) {
    if (row.op != convolution_op) continue;
    convolutions.emplace(row.layer, row.pass);
    all_s += row.totals.time_s;
    if (does_fewer_operations(row.implementation)) fewer_s += row.totals.time_s;
  }
  if (all_s > 0) found.fewer_operations_share = fewer_s / all_s;
  for (const MeasuredKernel& kernel : measured.kernels) {
    if (convolutions.contains({kernel.layer, kernel.pass}))
      found.roles[kernel.pass][std::string(role_of_kernel(kernel.name))] += kernel.time_s;
  }
  return found;
}

std::vector<HotLayers> shipped_hot_layers(std::string_view device) {
  std::vector<HotLayers> found;
  for (const HotNetwork& network : hot_networks()) {
    std::optional<HotLayers> nearest;
    std::vector<std::pair<std::int64_t, double>> others;
    const auto look_at = [&](std::span<const EmbeddedFile> files) {
      for (const EmbeddedFile& file : files) {
        if (!file.name.starts_with(fmt::format("{}-b", network.network))) continue;
        HotLayers one = read_hot_layers(file.text);
        if (one.device != device) continue;
        others.emplace_back(one.batch, one.convolution_share());
        if (!nearest || batch_distance(one) < batch_distance(*nearest)) nearest = std::move(one);
      }
    };
    look_at(embedded_training_profiles());
    look_at(embedded_hot_layer_profiles());
    if (!nearest) continue;
    std::erase_if(others, [&](const auto& other) { return other.first == nearest->batch; });
    std::sort(others.begin(), others.end());
    nearest->other_batches = std::move(others);
    found.push_back(std::move(*nearest));
  }
  return found;
}

void add_network_rows(std::span<const HotLayers> networks, ConvFindings& findings) {
  constexpr double tolerance = 0.10;
  std::size_t number = 26;
  for (const HotNetwork& network : hot_networks()) {
    const ConvClaim share_claim{fmt::format("{}", number),
                                fmt::format("figure 2; {}", network.title),
                                "Convolution takes 86 % of the training time of GoogLeNet, 89 % of "
                                "VGG-19, 90 % of OverFeat and 94 % of AlexNet",
                                "convolution layers' share of training time",
                                fmt::format("{:.0f} %", 100 * network.convolution_share)};
    const ConvClaim bulk_claim{fmt::format("{}", 42 + number - 26), share_claim.where,
                               "Convolution layers take the bulk of the total run time",
                               share_claim.what, "the bulk"};
    ++number;
    const auto found = std::find_if(networks.begin(), networks.end(), [&](const HotLayers& each) {
      return each.network == network.network;
    });
    if (found == networks.end()) {
      findings.missing(share_claim, "no profile of its training on this device ships");
      findings.missing(bulk_claim, "no profile of its training on this device ships");
      continue;
    }
    const double share = found->convolution_share();
    const bool holds = std::abs(share - network.convolution_share) <= tolerance;
    std::string remark = fmt::format("batch {}; next: {}", found->batch, next_types_text(*found));
    for (const auto& [batch, other] : found->other_batches) {
      remark +=
          fmt::format("; batch {}: {:.0f} %, {}", batch, 100 * other,
                      std::abs(other - network.convolution_share) <= tolerance ? "yes" : "no");
    }
    if (found->fewer_operations_share > 0) {
      remark += fmt::format("; {:.0f} % of the convolutions' time is FFT's or Winograd's",
                            100 * found->fewer_operations_share);
    }
    if (!network.difference.empty()) remark += fmt::format("; {}", network.difference);
    const std::string text = fmt::format("{:.0f} %", 100 * share);
    findings.judge(share_claim, text, holds, "within 10 points of the printed share", remark);
    findings.judge(bulk_claim, text, share > 0.5, "it is more than half",
                   fmt::format("batch {}", found->batch));
  }
  add_library_kernels(networks, findings);
}

}  // namespace strata
