// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/text.hpp"
#include "strata/predict/predict.hpp"

#include <array>
#include <string_view>

/// What the choices of a prediction are called on the command line, in JSON and in Python, in the
/// order of their enumerators.
namespace strata {

inline constexpr std::array<std::string_view, 4> policy_names = {"best", "thesis", "belady",
                                                                 "exact"};
inline constexpr std::array<std::string_view, 5> prefetch_names = {"none", "next-layer", "listing",
                                                                   "soonest", "listing-printed"};
inline constexpr std::array<std::string_view, 2> offload_names = {"on-demand", "look-ahead"};
inline constexpr std::array<std::string_view, 2> channel_names = {"loads-first", "offload-first"};
inline constexpr std::array<std::string_view, 2> objective_names = {"time", "traffic"};
inline constexpr std::array<std::string_view, 4> optimizer_names = {"none", "sgd", "momentum",
                                                                    "adam"};
inline constexpr std::array<std::string_view, 3> recompute_names = {"none", "all", "blocks"};
inline constexpr std::array<std::string_view, 3> loss_names = {"auto", "none", "mse"};

[[noreturn]] void fail_unknown_choice(std::string_view what, std::string_view name,
                                      const std::string_view* first, std::size_t count);

/// The enumerator of a name that is one of `names`; errors (usage) list them. `what` is the flag.
template <class Enum, std::size_t count>
Enum named(const std::array<std::string_view, count>& names, std::string_view name,
           std::string_view what) {
  for (std::size_t i = 0; i < count; ++i) {
    if (same_name(names[i], name)) return static_cast<Enum>(i);
  }
  fail_unknown_choice(what, name, names.data(), count);
}

inline std::string_view name_of(Policy policy) {
  return policy_names[static_cast<std::size_t>(policy)];
}
inline std::string_view name_of(Prefetch prefetch) {
  return prefetch_names[static_cast<std::size_t>(prefetch)];
}
inline std::string_view name_of(Offload offload) {
  return offload_names[static_cast<std::size_t>(offload)];
}
inline std::string_view name_of(ChannelOrder channel) {
  return channel_names[static_cast<std::size_t>(channel)];
}
inline std::string_view name_of(Objective objective) {
  return objective_names[static_cast<std::size_t>(objective)];
}
inline std::string_view name_of(Recompute recompute) {
  return recompute_names[static_cast<std::size_t>(recompute)];
}
inline std::string_view name_of(Loss loss) { return loss_names[static_cast<std::size_t>(loss)]; }

}  // namespace strata
