// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/reproduce/capture_shares.hpp"

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What the report says, as data, and the rows that test it.
namespace strata {

struct CaptureClaim {
  std::string_view id;        ///< "winograd-k80"
  std::string_view about;     ///< "Winograd"
  std::string_view sentence;  ///< what the report says, in our words, and where
  std::string_view what;      ///< the data that are held against it
  std::string_view printed;
};
const CaptureClaim& capture_claim(std::string_view id);

/// A share that the report followed over the batch, and the course that it printed.
struct FollowedClaim {
  std::string_view id;
  std::string_view part;  ///< of the step
  double (*share)(const CaptureCase& one);
  bool (*is_so)(std::span<const double> shares);
  std::string_view rule;
  std::array<std::string_view, 2> networks = {};  ///< none: all
};
std::span<const FollowedClaim> followed_claims();

/// A verdict with the rule behind it, and what explains it.
struct CaptureVerdict {
  bool holds = false;
  std::string rule;
  std::string remark = {};  ///< stands in every row
  std::string cause = {};   ///< stands where it does not hold
};

class CaptureRows {
 public:
  void add(const CaptureClaim& claim, std::string_view network, std::string found,
           CaptureVerdict verdict);
  void add_without_verdict(const CaptureClaim& claim, std::string_view network, std::string found,
                           std::string reason);
  /// A number of ours that the report does not have.
  void add_own(std::string_view about, std::string_view network, std::string what,
               std::string found, std::string note);
  Finding& last() { return findings_.back(); }
  std::vector<Finding>& all() { return findings_; }

 private:
  std::vector<Finding> findings_;
};

// Each adds its rows; `own` has the roofs and links of the device.
void add_followed_shares(const CaptureStudy& study, CaptureRows& rows);
void add_small_batches(const CaptureStudy& study, const RooflineStudy* own, CaptureRows& rows);
void add_calls(const CaptureStudy& study, CaptureRows& rows);
void add_kernels(const CaptureStudy& study, CaptureRows& rows);
void add_copies(const CaptureStudy& study, const RooflineStudy* own, CaptureRows& rows);

/// "12 · 9 · 6 · 4 · 3 %"
std::string in_percent(std::span<const double> values);
/// A share at every batch of the report; nothing when a batch is missing.
std::optional<std::vector<double>> shares_over_batches(const CaptureStudy& study,
                                                       std::string_view network,
                                                       std::string_view part,
                                                       double (*share)(const CaptureCase& one));
/// The calls beside launches that take longest, where the study has calls by name.
std::string other_calls(const CaptureCase& one);

}  // namespace strata
