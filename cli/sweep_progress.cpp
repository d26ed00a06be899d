// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep_progress.hpp"

#include "cli/progress.hpp"
#include "strata/base/units.hpp"

#include <fmt/format.h>

#include <cmath>

namespace strata {
namespace {

constexpr auto between_rates = std::chrono::milliseconds(200);

}  // namespace

std::string waiting_time(double seconds) {
  if (!(seconds < 3600.0 * 24 * 365 * 100)) return "centuries";
  const auto whole = static_cast<std::int64_t>(std::ceil(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02} min", whole / 60, whole % 60);
  if (whole < 3600 * 48) return fmt::format("{}:{:02} h", whole / 3600, whole / 60 % 60);
  return fmt::format("{} days", whole / (3600 * 24));
}

ProgressLine::ProgressLine(std::int64_t done, std::int64_t total)
    : done_before_(done), total_(total) {}

ProgressLine::~ProgressLine() { clear_progress(); }

void ProgressLine::show(std::int64_t done) {
  const Clock::time_point now = Clock::now();
  if (now - last_ < between_rates) return;
  last_ = now;
  const double elapsed_s = std::chrono::duration<double>(now - begin_).count();
  const double rate = static_cast<double>(done - done_before_) / elapsed_s;
  const double left_s = static_cast<double>(total_ - done) / rate;
  show_progress(fmt::format(
      "{} of {} points  {:.0f} %  {} points/s  {} left", format_exact(done), format_exact(total_),
      100.0 * static_cast<double>(done) / static_cast<double>(total_),
      format_exact(std::llround(rate)), rate > 0 ? waiting_time(left_s) : "?"));
}

}  // namespace strata
