// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/recording_window.hpp"

namespace strata {

WindowChange RecordingWindow::begin(std::uint64_t now_ns) { return update(now_ns); }

WindowChange RecordingWindow::profiler(bool is_on, std::uint64_t now_ns) {
  is_profiler_on_ = is_on;
  return update(now_ns);
}

bool RecordingWindow::enters(std::string_view name) {
  if (is_in_match_ || !watches_ranges() || name != options_.range) return false;
  is_in_match_ = true;
  ++seen_;
  is_in_range_ =
      seen_ > options_.skip && (options_.steps == 0 || seen_ - options_.skip <= options_.steps);
  return true;
}

WindowChange RecordingWindow::push(std::uint32_t thread, std::string_view name,
                                   std::uint64_t now_ns) {
  const std::int64_t depth = depths_[thread]++;
  if (!enters(name)) return WindowChange::none;
  range_thread_ = thread;
  range_depth_ = depth;
  return update(now_ns);
}

WindowChange RecordingWindow::pop(std::uint32_t thread, std::uint64_t now_ns) {
  std::int64_t& depth = depths_[thread];
  if (depth > 0) --depth;  // a range that was opened before we came ends unseen
  if (!is_in_match_ || range_thread_ != thread || range_depth_ != depth) return WindowChange::none;
  return leave_range(now_ns);
}

WindowChange RecordingWindow::start(std::uint64_t id, std::string_view name, std::uint64_t now_ns) {
  if (!enters(name)) return WindowChange::none;
  range_depth_ = -1;
  range_id_ = id;
  return update(now_ns);
}

WindowChange RecordingWindow::stop(std::uint64_t id, std::uint64_t now_ns) {
  if (!is_in_match_ || range_depth_ != -1 || range_id_ != id) return WindowChange::none;
  return leave_range(now_ns);
}

WindowChange RecordingWindow::leave_range(std::uint64_t now_ns) {
  is_in_match_ = false;
  is_in_range_ = false;
  const WindowChange change = update(now_ns);
  if (options_.steps == 0 || seen_ - options_.skip < options_.steps || is_finished_) return change;
  is_finished_ = true;
  return WindowChange::finishes;
}

WindowChange RecordingWindow::tick(std::uint64_t now_ns) {
  const auto duration_ns = static_cast<std::uint64_t>(options_.duration_s * 1e9);
  if (is_finished_ || !has_opened_ || duration_ns == 0 || now_ns < opened_ns_ ||
      now_ns - opened_ns_ < duration_ns)
    return WindowChange::none;
  is_finished_ = true;
  is_open_ = false;
  return WindowChange::finishes;
}

WindowChange RecordingWindow::update(std::uint64_t now_ns) {
  const bool is_wanted = !is_finished_ && (!options_.waits_for_profiler || is_profiler_on_) &&
                         (!watches_ranges() || is_in_range_);
  if (is_wanted == is_open_) return WindowChange::none;
  is_open_ = is_wanted;
  if (is_wanted && !has_opened_) {
    has_opened_ = true;
    opened_ns_ = now_ns;
  }
  return is_wanted ? WindowChange::opens : WindowChange::closes;
}

}  // namespace strata
