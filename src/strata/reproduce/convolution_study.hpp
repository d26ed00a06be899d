// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/lab/result.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Results of the convolution lab as the study looks at them: the time of a layer in training,
/// which is all its passes together, and who competes for it.
namespace strata {

/// A strategy; or the library's algorithms by matrix products together, whose names differ from
/// pass to pass, the fastest of them in each.
struct ConvContender {
  std::string name;  ///< "fft", "cudnn GEMM"
  std::vector<std::string> strategies;
  bool is_vendor = false;
  bool is_default = false;  ///< the library's own choice, by whatever algorithm

  bool is_fft() const;
  bool is_gemm() const { return strategies.size() > 1 || name.ends_with("GEMM"); }
};

/// What a contender takes at one point: a cell for each pass that the results have.
struct ConvTrained {
  std::vector<const ConvCell*> cells;

  double time_s() const;            ///< all passes together
  std::int64_t peak_bytes() const;  ///< the most of any pass
  std::int64_t tensor_bytes() const;
  double role_s(std::optional<KernelRole> role) const;  ///< nothing: of all roles
};

/// Refers to the results.
class ConvStudy {
 public:
  explicit ConvStudy(const ConvResults& results);

  const ConvResults& results() const { return results_; }
  const std::vector<ConvContender>& contenders() const { return contenders_; }
  /// Points of series that can be, in order; those that several series share come several times.
  std::vector<const ConvPoint*> points(std::initializer_list<std::string_view> series) const;
  /// Nothing unless every pass is measured.
  std::optional<ConvTrained> trained(const ConvPoint& point, const ConvContender& who) const;

  /// Null where the results have none of this kind.
  const ConvContender* named(std::string_view name) const;
  /// The FFT that every row about FFT is of: the one that is measured at most points of the sweeps,
  /// of equals the fastest.
  const ConvContender* fft() const { return fft_ == none ? nullptr : &contenders_[fft_]; }
  /// An FFT of the library.
  const ConvContender* vendor_fft() const;
  const ConvContender* vendor_gemm() const;
  const ConvContender* vendor_default() const;
  /// Which algorithm the library's own choice was at a point: the one that takes as much scratch
  /// memory and as long, within a tenth. Empty: none is.
  std::string picked(const ConvPoint& point, ConvPass pass) const;

 private:
  static constexpr std::size_t none = ~std::size_t{0};
  const ConvCell* measured(const ConvPoint& point, ConvPass pass, std::string_view strategy) const;
  void choose_fft();

  const ConvResults& results_;
  const ConvIndex index_;
  std::vector<ConvContender> contenders_;
  std::size_t fft_ = none;
};

/// Strategies of cuDNN's graph interface: each may be any algorithm, and another at each point.
bool is_any_engine(const ConvStrategyName& strategy);

}  // namespace strata
