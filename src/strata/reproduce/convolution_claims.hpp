// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/reproduce/analytical.hpp"
#include "strata/reproduce/convolution_networks.hpp"
#include "strata/reproduce/convolution_study.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What the rows of the convolution study have in common.
namespace strata {

/// The least and the most of some numbers.
struct ConvExtent {
  double least = 0;
  double most = 0;
  std::size_t count = 0;

  void add(double value) {
    least = count == 0 ? value : std::min(least, value);
    most = count == 0 ? value : std::max(most, value);
    ++count;
  }
};
std::string factors_text(const ConvExtent& extent);         ///< "1.21–2.62×"
std::string shares_text(const ConvExtent& extent);          ///< "80–87 %"
std::string sizes_text(const ConvExtent& extent);           ///< "125 MiB–1.98 GiB"
std::string count_text(std::size_t part, std::size_t all);  ///< "3 of 5"

/// Who is where: "unroll at i = 32, i = 48; direct at i = 32", the first few of each.
class WhoWhere {
 public:
  void add(std::string_view who, std::string_view where);
  bool is_empty() const { return list_.empty(); }
  std::string text() const;

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> list_;
};

/// What the study says, in our words, and where; and the data that are held against it.
struct ConvClaim {
  std::string number;
  std::string where;
  std::string sentence;
  std::string what;
  std::string printed;
};
/// One of the table of claims.
ConvClaim conv_claim(std::string_view number);

class ConvFindings {
 public:
  /// `rule` follows "holds when"; `remark` says more, and of what does not hold always why.
  void judge(const ConvClaim& claim, std::string found, bool holds, std::string_view rule,
             std::string_view remark = "");
  /// Draws what the last row prints as a line into figure 6, in the panel of this counter.
  void drawn_in_efficiencies(std::string_view counter, double y, std::string label);
  /// Seen, but nothing to judge it by.
  void show(const ConvClaim& claim, std::string found, std::string reason);
  void missing(const ConvClaim& claim, std::string reason = "not in these results");
  std::vector<Finding> take() && { return std::move(findings_); }

 private:
  std::vector<Finding> findings_;
};

// Each adds its rows.
void add_speed_rows(const ConvStudy& study, ConvFindings& findings);
void add_unrolling_row(const ConvStudy& study, ConvFindings& findings);
void add_memory_rows(const ConvStudy& study, ConvFindings& findings);
void add_kernel_rows(const ConvStudy& study, ConvFindings& findings);
void add_copy_rows(const ConvStudy& study, ConvFindings& findings);
void add_shape_rows(const ConvStudy& study, ConvFindings& findings);
void add_efficiency_rows(const ConvStudy& study, ConvFindings& findings);
void add_library_rows(const ConvStudy& study, ConvFindings& findings);
void add_network_rows(std::span<const HotLayers> networks, ConvFindings& findings);

/// What somebody takes at a point over what another takes; nothing unless both are measured.
std::optional<double> time_ratio(const ConvStudy& study, const ConvPoint& point,
                                 const ConvContender* over, const ConvContender* under);

/// Of the copy of the input in an iteration of all passes.
std::optional<TransferShares> copy_shares(const ConvTrained& trained);

}  // namespace strata
