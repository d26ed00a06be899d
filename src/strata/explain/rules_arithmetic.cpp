// SPDX-License-Identifier: Apache-2.0
// In which types and on which units products are computed.
#include "strata/base/units.hpp"
#include "strata/explain/explain_context.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata {
namespace {

constexpr double noticeable_products = 0.01;  // share of the FLOP of products

bool is_16_bit_or_less(DType dtype) { return is_floating(dtype) && bytes_per_element(dtype) < 4; }

/// FLOP of products that satisfy something, and of all products.
struct ProductShare {
  double flop = 0;
  double all = 0;
  bool is_noticeable() const { return flop > 0 && flop >= noticeable_products * all; }
};

template <class IsMeant>
ProductShare share_of_products(const Profile& profile, const IsMeant& is_meant) {
  ProductShare share;
  for (const ProfileRow& row : profile.rows) {
    if (!is_dense(row)) continue;
    for (const TypedFlop& part : row.arithmetic) {
      share.all += static_cast<double>(part.flop);
      if (is_meant(part)) share.flop += static_cast<double>(part.flop);
    }
  }
  return share;
}

/// What the rows save when `change` is done to the work of products.
template <class ChangePart>
double saved_by(const ExplainContext& context, const ChangePart& change) {
  const std::vector<double> times =
      context.times()->with_work([&](Work& work, const ProfileRow& row) {
        if (!is_dense(row)) return;
        for (TypedFlop& part : work.arithmetic) change(part);
      });
  double saved_s = 0;
  for (std::size_t i = 0; i < times.size(); ++i)
    saved_s += context.profile().rows[i].totals.time_s - times[i];
  return saved_s;
}

bool has_matrix_units(const Machine& machine, DType dtype) {
  return find_peak(machine, dtype, ComputeUnit::matrix) != nullptr;
}

ProductShare products_in(const Profile& profile, DType dtype) {
  return share_of_products(profile, [&](const TypedFlop& part) { return part.dtype == dtype; });
}

/// Whether an fp32 network multiplies TF32 already, as the names of its kernels say.
bool multiplies_tf32(const Profile& profile) {
  return profile.subject.dtype == name_of(DType::fp32) &&
         products_in(profile, DType::tf32).is_noticeable();
}

}  // namespace

void find_vector_products(const ExplainContext& context, Findings& found) {
  if (context.times() == nullptr) return;
  const auto is_meant = [&](const TypedFlop& part) {
    return !part.is_matrix && has_matrix_units(context.machine(), part.dtype);
  };
  const ProductShare share = share_of_products(context.profile(), is_meant);
  if (!share.is_noticeable()) return;
  const double saved_s = saved_by(context, [&](TypedFlop& part) {
    if (is_meant(part)) part.is_matrix = true;
  });
  if (!context.is_noticeable(saved_s)) return;
  ProfileFinding finding = context.finding(FindingCode::vector_products, "", saved_s);
  finding.what = fmt::format(
      "{} of the FLOP of convolutions and products run on vector units in a type for which {} "
      "has matrix units",
      percent_of(share.flop, share.all), context.machine().name);
  finding.evidence = {{"FLOP on vector units", share.flop, Measure::flop},
                      {"FLOP of products", share.all, Measure::flop}};
  finding.advice =
      "allow the library to use the matrix units, and give it channels and layouts that they take";
  finding.what_ifs.push_back(context.computed("they ran on matrix units", saved_s));
  found.push_back(std::move(finding));
}

std::optional<DType> lower_precision(const ExplainContext& context) {
  const auto own = dtype_named(context.profile().subject.dtype);
  if (!own || !is_floating(*own) || is_16_bit_or_less(*own)) return std::nullopt;
  for (const DType lower : {DType::bf16, DType::fp16}) {
    const auto& peaks = context.machine().peaks;
    if (std::any_of(peaks.begin(), peaks.end(),
                    [&](const Peak& peak) { return peak.dtype == lower; }))
      return lower;
  }
  return std::nullopt;
}

bool could_allow_tf32(const ExplainContext& context) {
  const Profile& profile = context.profile();
  if (profile.subject.dtype != name_of(DType::fp32) ||
      !has_matrix_units(context.machine(), DType::tf32))
    return false;
  // Who allowed it for convolutions may not have allowed it for matrix products.
  return !multiplies_tf32(profile) || products_in(profile, DType::fp32).is_noticeable();
}

void find_wide_type(const ExplainContext& context, Findings& found) {
  const auto lower = lower_precision(context);
  if (!lower || context.times() == nullptr) return;
  const DType own = *dtype_named(context.profile().subject.dtype);
  const bool is_tf32 = multiplies_tf32(context.profile());
  const DType multiplied = is_tf32 ? DType::tf32 : own;
  const PeakRoof now = peak_for(context.times()->roofs(), multiplied, true);
  const PeakRoof then = peak_for(context.times()->roofs(), *lower, true);
  ProfileFinding finding = context.finding(FindingCode::wide_type, std::string(name_of(*lower)), 0);
  finding.is_cost_the_gain = true;
  finding.what = fmt::format(
      "the network is in {}{}; {} takes 1/{} of the bytes, and {} multiplies in it at {}",
      name_of(own), is_tf32 ? ", which its kernels multiply as tf32" : "", name_of(*lower),
      bytes_per_element(own) / bytes_per_element(*lower), context.machine().name,
      format_flop_per_s(then.flop_per_s));
  finding.evidence = {
      {fmt::format("{} products", name_of(multiplied)), now.flop_per_s, Measure::flop_per_s},
      {fmt::format("{} products", name_of(*lower)), then.flop_per_s, Measure::flop_per_s}};
  const bool has_tf32 = could_allow_tf32(context);
  finding.advice = fmt::format(
      "{}train in mixed precision: {} with fp32 master weights (--master-weights); watch the loss",
      has_tf32 ? "allow TF32 first: nothing else changes; then " : "", name_of(*lower));
  if (has_tf32) finding.what_ifs.push_back(context.asked(InDType{DType::tf32}));
  finding.what_ifs.push_back(context.asked(InDType{*lower}));
  found.push_back(std::move(finding));
}

void find_wide_products(const ExplainContext& context, Findings& found) {
  const auto own = dtype_named(context.profile().subject.dtype);
  if (!own || !is_16_bit_or_less(*own) || context.times() == nullptr) return;
  const auto is_meant = [](const TypedFlop& part) {
    return is_floating(part.dtype) && !is_16_bit_or_less(part.dtype);
  };
  const ProductShare share = share_of_products(context.profile(), is_meant);
  if (!share.is_noticeable()) return;
  const double saved_s = saved_by(context, [&](TypedFlop& part) {
    if (!is_meant(part)) return;
    part = {*own, has_matrix_units(context.machine(), *own), part.flop};
  });
  if (!context.is_noticeable(saved_s)) return;
  ProfileFinding finding = context.finding(FindingCode::wide_products, "", saved_s);
  finding.what = fmt::format(
      "the network is in {}, but {} of the FLOP of its products are in higher precision",
      name_of(*own), percent_of(share.flop, share.all));
  finding.evidence = {{"FLOP in higher precision", share.flop, Measure::flop},
                      {"FLOP of products", share.all, Measure::flop}};
  finding.advice =
      "another algorithm or a conversion hides there: look at which kernels run for these layers";
  finding.what_ifs.push_back(
      context.computed(fmt::format("they were done in {}", name_of(*own)), saved_s));
  found.push_back(std::move(finding));
}

}  // namespace strata
