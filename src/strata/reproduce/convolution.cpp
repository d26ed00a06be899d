// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/convolution.hpp"

#include "strata/base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

namespace strata {
namespace {

using Names = std::function<bool(const ConvStrategyName&)>;

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}
bool is_fft(const ConvStrategyName& each) { return contains(each.name, "fft"); }
bool is_unrolling(const ConvStrategyName& each) {
  return contains(each.name, "unroll") || contains(each.name, "gemm");
}
bool is_direct(const ConvStrategyName& each) { return each.name == "direct"; }
/// Engines of cuDNN's graph may be any algorithm, Fourier's among them.
bool is_any_engine(const ConvStrategyName& each) { return contains(each.name, "cudnn:graph"); }

/// The least and the most of some numbers.
struct Extent {
  double least = 0;
  double most = 0;
  std::size_t count = 0;

  void add(double value) {
    least = count == 0 ? value : std::min(least, value);
    most = count == 0 ? value : std::max(most, value);
    ++count;
  }
};

std::string factors(const Extent& extent) {
  return fmt::format("{:.2f}–{:.2f}×", extent.least, extent.most);
}
std::string shares(const Extent& extent) {
  return fmt::format("{:.0f}–{:.0f} %", 100 * extent.least, 100 * extent.most);
}
std::string sizes(const Extent& extent) {
  return fmt::format("{}–{}", format_capacity(extent.least), format_capacity(extent.most));
}

class ConvolutionStudy {
 public:
  explicit ConvolutionStudy(const ConvResults& results) : results_(results), index_(results) {}

  std::vector<Finding> run() {
    fft_over_all("1", {"b", "i"}, "1.4–9.7×");
    fft_over_all("2", {"f"}, "1.19–5.1×");
    kernels();
    strides();
    memory();
    roles();
    filters();
    kernel_resources();
    copies();
    return std::move(findings_);
  }

 private:
  void add(std::string number, std::string where, std::string what, std::string printed,
           std::string found, bool holds, std::string note = "") {
    findings_.push_back({std::move(number), std::move(where), std::move(what), std::move(printed),
                         std::move(found), true, holds, std::move(note)});
  }
  void add_missing(std::string number, std::string where, std::string what, std::string printed) {
    findings_.push_back({std::move(number), std::move(where), std::move(what), std::move(printed),
                         "–", false, false, "not in these results"});
  }

  /// Calls `look(point)` for the points of a series that can be.
  template <class Look>
  void each_point(std::string_view series, const Look& look) const {
    for (const ConvSeries& each : results_.series) {
      if (each.name != series) continue;
      for (const ConvPoint& point : each.points) {
        if (!refusal_of(point.shape)) look(point);
      }
    }
  }
  /// Calls `look(cell, strategy)` for what was measured at a point among some strategies.
  template <class Look>
  void each_cell(const ConvPoint& point, const Names& names, const Look& look) const {
    for (const ConvStrategyName& strategy : results_.strategies) {
      const ConvCell* cell = index_.find(point.shape, ConvPass::forward, strategy.name);
      if (cell != nullptr && cell->is_measured() && names(strategy)) look(*cell, strategy);
    }
  }
  std::optional<Extent> times(const ConvPoint& point, const Names& names) const {
    Extent extent;
    each_cell(point, names, [&](const ConvCell& cell, const ConvStrategyName&) {
      if (cell.time_s() > 0) extent.add(cell.time_s());
    });
    return extent.count == 0 ? std::nullopt : std::optional(extent);
  }

  void fft_over_all(std::string number, std::initializer_list<std::string_view> series,
                    std::string printed) {
    Extent speedup;
    for (const std::string_view name : series) {
      each_point(name, [&](const ConvPoint& point) {
        const auto fft = times(point, is_fft);
        const auto others =
            times(point, [](const auto& each) { return !is_fft(each) && !is_any_engine(each); });
        if (!fft || !others) return;
        speedup.add(others->least / fft->least);
        speedup.add(others->most / fft->least);
      });
    }
    const std::string where = fmt::format("{} sweep", fmt::join(series, ", "));
    const std::string what = "FFT is the fastest at 11×11; others take";
    if (speedup.count == 0) return add_missing(number, where, what, printed);
    add(number, where, what, printed, factors(speedup), speedup.least > 1);
  }

  void kernels() {
    Extent vendor_ahead;
    Extent fft_ahead;
    Extent fft_times;
    each_point("k", [&](const ConvPoint& point) {
      const auto fft = times(point, is_fft);
      const auto vendor = times(point, is_vendor_default);
      const auto own_fft =
          times(point, [](const auto& each) { return is_fft(each) && !each.is_vendor; });
      if (own_fft) fft_times.add(own_fft->least);
      if (!fft || !vendor) return;
      if (*point.at < 7) vendor_ahead.add(fft->least / vendor->least);
      if (*point.at > 7) fft_ahead.add(vendor->least / fft->least);
    });
    const std::string small = "k < 7: the library is the fastest; FFT takes";
    const std::string large = "k > 7: FFT is faster; the library takes";
    const std::string flat = "FFT time is nearly constant in k; most over least";
    if (vendor_ahead.count == 0) {
      add_missing("3", "k sweep", small, "1.21–2.62×");
    } else {
      add("3", "k sweep", small, "1.21–2.62×", factors(vendor_ahead), vendor_ahead.least > 1);
    }
    if (fft_ahead.count == 0) {
      add_missing("4", "k sweep", large, "1.15–19×");
    } else {
      add("4", "k sweep", large, "1.15–19×", factors(fft_ahead), fft_ahead.least > 1);
    }
    if (fft_times.count == 0) return add_missing("5", "k sweep", flat, "nearly constant");
    const double spread = fft_times.most / fft_times.least;
    add("5", "k sweep", flat, "nearly constant", fmt::format("{:.2f}×", spread), spread < 1.5);
  }

  void strides() {
    std::size_t points = 0;
    std::size_t vendor_first = 0;
    std::size_t fft_can = 0;
    each_point("s", [&](const ConvPoint& point) {
      if (*point.at < 2) return;
      const auto vendor = times(point, [](const auto& each) { return each.is_vendor; });
      const auto own = times(point, [](const auto& each) { return !each.is_vendor; });
      if (times(point, is_fft)) ++fft_can;
      if (!vendor || !own) return;
      ++points;
      if (vendor->least < own->least) ++vendor_first;
    });
    const std::string what = "s > 1: the library is the fastest";
    if (points == 0) return add_missing("6", "s sweep", what, "all");
    add("6", "s sweep", what, "all", fmt::format("{} of {}", vendor_first, points),
        vendor_first == points);
    add("7", "s sweep", "FFT is for stride 1 only; beyond it runs at", "none",
        fmt::format("{} of {}", fft_can, points), fft_can == 0);
  }

  void memory() {
    Extent direct;
    Extent fft;
    std::size_t points = 0;
    std::size_t direct_least = 0;
    std::size_t fft_most = 0;
    for (const std::string_view series : {"b", "i", "f", "k"}) {
      each_point(series, [&](const ConvPoint& point) {
        const auto peaks = [&](const Names& names) {
          Extent extent;
          each_cell(point, names, [&](const ConvCell& cell, const ConvStrategyName&) {
            extent.add(static_cast<double>(cell.peak_bytes()));
          });
          return extent;
        };
        const Extent of_direct = peaks(is_direct);
        const Extent of_fft = peaks(is_fft);
        const Extent of_all = peaks([](const auto&) { return true; });
        if (of_direct.count == 0 || of_fft.count == 0) return;
        ++points;
        direct.add(of_direct.most);
        fft.add(of_fft.most);
        if (of_direct.most <= of_all.least) ++direct_least;
        if (of_fft.most >= of_all.most) ++fft_most;
      });
    }
    const std::string least = "direct needs the least memory";
    const std::string most = "FFT needs the most memory";
    if (points == 0) {
      add_missing("8", "sweeps", least, "125–2076 MB");
      return add_missing("9", "sweeps", most, "1.6–10.9 GB");
    }
    const auto at = [&](std::size_t count) {
      return fmt::format("at {} of {} points", count, points);
    };
    add("8", "sweeps", least, "125–2076 MB", sizes(direct), direct_least == points,
        at(direct_least));
    add("9", "sweeps", most, "1.6–10.9 GB", sizes(fft), 2 * fft_most > points, at(fft_most));
  }

  void roles() {
    Extent gemm;
    each_point("layers", [&](const ConvPoint& point) {
      each_cell(
          point, [](const auto& each) { return each.name == "unroll"; },
          [&](const ConvCell& cell, const ConvStrategyName&) {
            double all_s = 0;
            double gemm_s = 0;
            for (const RoleTime& role : cell.roles) {
              all_s += role.seconds;
              gemm_s += role.role == KernelRole::gemm ? role.seconds : 0;
            }
            if (all_s > 0) gemm.add(gemm_s / all_s);
          });
    });
    const std::string what = "share of GEMM in an unrolled convolution";
    if (gemm.count == 0) return add_missing("10", "layers", what, "80–87 %");
    const double middle = (gemm.least + gemm.most) / 2;
    add("10", "layers", what, "80–87 %", shares(gemm), middle >= 0.75 && middle <= 0.92,
        "holds when the middle is within 5 points");
  }

  void filters() {
    std::size_t points = 0;
    std::size_t unrolling = 0;
    each_point("f", [&](const ConvPoint& point) {
      if (*point.at <= 160) return;
      const auto all = times(point, [](const auto& each) { return !is_any_engine(each); });
      const auto gemm = times(point, is_unrolling);
      if (!all || !gemm) return;
      ++points;
      if (gemm->least <= all->least) ++unrolling;
    });
    const std::string what = "f > 160: unrolling is the fastest but for FFT";
    if (points == 0) return add_missing("11", "f sweep", what, "one is");
    std::size_t ahead = 0;
    each_point("f", [&](const ConvPoint& point) {
      const auto rest = times(point, [](const auto& each) {
        return !is_fft(each) && !is_unrolling(each) && !is_vendor_default(each) &&
               !is_any_engine(each);
      });
      const auto gemm = times(point, is_unrolling);
      if (*point.at > 160 && gemm && (!rest || gemm->least <= rest->least)) ++ahead;
    });
    add("11", "f sweep", what, "one is", fmt::format("{} of {}", ahead, points), ahead == points,
        fmt::format("the fastest of all at {}", unrolling));
  }

  void kernel_resources() {
    Extent registers;
    Extent shared;
    each_point("layers", [&](const ConvPoint& point) {
      each_cell(
          point, [](const auto& each) { return !each.is_vendor; },
          [&](const ConvCell& cell, const ConvStrategyName&) {
            for (const KernelFacts& kernel : cell.kernels) {
              registers.add(kernel.registers_per_thread);
              if (kernel.shared_bytes_per_block > 0) shared.add(kernel.shared_bytes_per_block);
            }
          });
    });
    const std::string what = "registers per thread of the main kernels";
    if (registers.count == 0) return add_missing("12", "layers", what, "72–116");
    add("12", "layers", what, "72–116",
        fmt::format("{:.0f}–{:.0f}", registers.least, registers.most),
        registers.least >= 72 && registers.most <= 116);
    if (shared.count == 0) return;
    add("13", "layers", "shared memory per block of the main kernels", "4.5–16 KB", sizes(shared),
        shared.least >= 4.5 * 1024 && shared.most <= 16 * 1024);
  }

  void copies() {
    Extent pinned;
    Extent pageable;
    each_point("layers", [&](const ConvPoint& point) {
      each_cell(
          point, [](const auto&) { return true; },
          [&](const ConvCell& cell, const ConvStrategyName&) {
            if (const auto found = transfer_shares(cell)) {
              pinned.add(found->pinned);
              pageable.add(found->pageable);
            }
          });
    });
    const std::string what = "share of time in copies of the input, page-locked and asynchronous";
    if (pinned.count == 0) return add_missing("14", "layers", what, "0–15 %");
    add("14", "layers", what, "0–15 %", shares(pinned), pinned.most <= 0.15);
    add("15", "layers", "the same from ordinary memory, while nothing runs", "up to 60 %",
        shares(pageable), pageable.most > 0.15);
  }

  const ConvResults& results_;
  const ConvIndex index_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> reproduce_convolution(const ConvResults& results) {
  return ConvolutionStudy(results).run();
}

}  // namespace strata
