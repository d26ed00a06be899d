// SPDX-License-Identifier: Apache-2.0
#include "cli/capture_flags.hpp"

#include "strata/base/error.hpp"
#include "strata/base/units.hpp"
#include "strata/capture/launch_program.hpp"
#include "strata/capture/log_path.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdlib>
#include <ctime>

namespace strata {

std::int64_t steps_of(const Arguments& given, const Flag& flag) {
  const auto text = given.value(flag);
  if (!text) return 0;
  return parse_whole_number(*text, fmt::format("--{}", flag.name), 0, 1'000'000'000);
}

CaptureOptions capture_options_of(const Arguments& given) {
  CaptureOptions options;
  if (const auto text = given.value(capture_duration_flag)) {
    const bool is_bare = !text->empty() && text->back() >= '0' && text->back() <= '9';
    options.duration_s = parse_time(is_bare ? fmt::format("{}s", *text) : *text, "--duration");
    if (!(options.duration_s > 0) || options.duration_s > 1e7)
      fail(ErrorKind::usage, "--duration expects seconds, more than 0, got '{}'", *text);
  }
  options.ends_program = given.has(capture_kill_flag);
  options.waits_for_profiler = given.value(capture_start_flag) == "profiler";
  options.range = given.value(capture_range_flag).value_or("");
  if (given.has(capture_range_flag) && options.range.empty())
    fail(ErrorKind::usage, "--range expects the name of an NVTX range");
  if (!options.range.empty()) {
    options.skip = steps_of(given, capture_skip_flag);
    options.steps = steps_of(given, capture_steps_flag);
  }
  if (given.has(capture_light_flag) && given.has(capture_calls_flag))
    fail(ErrorKind::usage, "--calls and --no-calls exclude each other");
  options.traces_calls = options.traces_memory = !given.has(capture_light_flag);
  options.may_drop_calls = options.traces_calls && !given.has(capture_calls_flag);
  const bool has_end = options.duration_s > 0 || options.steps > 0;
  if (options.ends_program && !has_end)
    fail(ErrorKind::usage,
         "--kill needs an end of the recording: --duration S, or --range NAME --steps N");
  return options;
}

std::filesystem::path capture_file_of(const Arguments& given) {
  if (const auto path = given.value(capture_out_flag)) return expanded_path(*path);
  const std::int64_t rank = rank_of_process();
  return fmt::format("strata-capture-{:%Y%m%d-%H%M%S}{}.sqlite", fmt::localtime(std::time(nullptr)),
                     rank < 0 ? "" : fmt::format("-rank{}", rank));
}

std::filesystem::path library_to_inject() {
  if (const char* const path = std::getenv("STRATA_INJECT_LIBRARY")) {
    if (std::filesystem::exists(path)) return std::filesystem::absolute(path);
    fail(ErrorKind::environment, "STRATA_INJECT_LIBRARY: {} is not there", path);
  }
  if (const auto library = injected_library()) return *library;
  fail(ErrorKind::environment,
       "this build cannot watch programs: libstrata_inject.so is not beside strata nor in ../lib; "
       "it is built where CUPTI's headers are (CUDA toolkit 13; see strata doctor)");
}

}  // namespace strata
