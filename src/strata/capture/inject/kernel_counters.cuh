// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/inject/cupti_calls.cuh"
#include "strata/capture/log_writer.hpp"

#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace strata::inject {

/// Counters of every kernel, by replaying each launch until all of them are read. The profiler
/// numbers launches and knows no names; names come from the calls, in the same order. Where the two
/// do not agree, nothing is written down.
///
/// A graph that is launched while the profiler replays does not run at all (measured, no error), so
/// the profiler stops around launches and recordings of graphs, whose kernels are not counted.
class KernelCounters {
 public:
  KernelCounters(const std::vector<std::string>& metrics, LogWriter& log)
      : metrics_(metrics), log_(log) {}

  static std::span<const CUpti_CallbackId> watched_calls();

  /// Empty, or why counters cannot be read.
  std::string begin();
  void see_call(CUpti_CallbackId call, const CUpti_CallbackData& data, bool is_wanted);
  void end();

 private:
  static constexpr std::size_t ranges_per_image = 64;

  void see_launch(const CUpti_CallbackData& data, bool is_wanted);
  std::string set_up(CUcontext context);
  std::string make_images();
  std::string configure();
  std::string start();
  std::string stop();
  std::string collect();
  void write_down(std::size_t range);
  void give_up(const std::string& problem);
  void note(const std::string& text);

  const std::vector<std::string>& metrics_;
  LogWriter& log_;
  std::mutex mutex_;
  bool has_failed_ = false;
  bool is_on_ = false;
  int graphs_in_work_ = 0;  ///< recorded or launched at this moment
  std::uint64_t graph_launches_ = 0;
  std::uint64_t other_contexts_ = 0;
  CUcontext context_ = nullptr;
  CUpti_Profiler_Host_Object* host_ = nullptr;
  CUpti_RangeProfiler_Object* profiler_ = nullptr;
  std::vector<const char*> metric_names_;
  std::vector<std::uint8_t> config_;
  std::vector<std::uint8_t> counters_;
  std::vector<std::string> waiting_;  ///< names of launches whose counters are not written yet
  std::uint64_t launches_ = 0;
};

}  // namespace strata::inject
