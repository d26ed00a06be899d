// SPDX-License-Identifier: Apache-2.0
// What the driver and NVTX call when they load this library into a program that is to be watched
// (CUDA_INJECTION64_PATH, NVTX_INJECTION64_PATH). Whatever goes wrong in here, the program goes on.
#include "strata/capture/inject/callbacks.cuh"
#include "strata/capture/inject/cupti_source.cuh"
#include "strata/capture/inject/kernel_counters.cuh"
#include "strata/capture/log_path.hpp"

#include <dlfcn.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <mutex>

namespace strata::inject {
namespace {

std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  while (!text.empty() && text.back() == '\0') text.pop_back();
  for (char& c : text)
    if (c == '\0') c = ' ';
  return text;
}

std::uint32_t driver_version() {
  void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  const auto ask =
      driver == nullptr
          ? nullptr
          : reinterpret_cast<decltype(&cuDriverGetVersion)>(::dlsym(driver, "cuDriverGetVersion"));
  int version = 0;
  if (ask == nullptr || ask(&version) != CUDA_SUCCESS) return 0;
  return static_cast<std::uint32_t>(version);
}

LogPage first_page(ActivitySource& source) {
  LogPage page;
  page.cupti_version = cupti().number;
  page.driver_version = driver_version();
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  page.unix_ns =
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  page.recorder_ns = cupti().problem.empty() ? source.now_ns() : page.unix_ns;
  return page;
}

void write_beginning(LogWriter& log, const CaptureOptions& options) {
  const auto info = [&](LogInfo what, std::string_view text) {
    log.append_text(LogKind::info, static_cast<std::uint32_t>(what), text);
  };
  info(LogInfo::command, command_line());
  info(LogInfo::host, host_name());
  std::string metrics;
  for (const std::string& metric : options.metrics) metrics.append(metric).append("\n");
  if (!metrics.empty()) info(LogInfo::counters, metrics);
}

/// Everything of a recording. Never destroyed: threads and callbacks outlive main().
struct Injection {
  CaptureOptions options;
  CuptiSource source;
  CaptureSession session;
  KernelCounters counters;
  Callbacks callbacks;

  explicit Injection(CaptureOptions wanted)
      : options(std::move(wanted)),
        source(options),
        session(options, first_page(source), source,
                [this](LogWriter& log) { write_beginning(log, options); }),
        counters(options.metrics, session.log()) {}

  std::string begin() {
    if (!cupti().problem.empty()) return cupti().problem;
    callbacks = {&session, options.metrics.empty() ? nullptr : &counters};
    std::string problem = callbacks.begin();
    if (problem.empty() && callbacks.counters != nullptr) problem = counters.begin();
    // Kernels that are replayed have no times, and both at once crashed PyTorch (measured).
    if (problem.empty() && callbacks.counters == nullptr) problem = source.begin(session.log());
    return problem;
  }
};

Injection* the_injection = nullptr;

void end_injection() {
  if (the_injection->callbacks.counters != nullptr) the_injection->counters.end();
  the_injection->session.end_of_program();
}

void begin_injection() {
  const char* const variable = std::getenv(capture_variable);
  CaptureOptions options;
  if (variable == nullptr || !read_variable(variable, options)) return;
  the_injection = new Injection(std::move(options));
  if (!the_injection->session.log().open()) {
    tell_on_stderr("nothing is recorded: " + the_injection->session.log().problem());
    return;
  }
  if (const std::string problem = the_injection->begin(); !problem.empty()) {
    tell_on_stderr("nothing is recorded: " + problem);
    the_injection->session.log().end(LogState::failed, problem);
    return;
  }
  std::atexit(end_injection);
  the_injection->session.begin();
}

}  // namespace
}  // namespace strata::inject

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  static std::once_flag once;
  std::call_once(once, strata::inject::begin_injection);
  return 1;
}

/// NVTX hands its functions over to CUPTI, which turns ranges into records and callbacks.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(void* export_table) {
  const strata::inject::CuptiCalls& calls = strata::inject::cupti();
  // CUPTI 13.0.0 crashes in NVTX (NVIDIA/NVTX#125).
  if (calls.library == nullptr || calls.number == 130000) return 0;
  const auto initialize =
      reinterpret_cast<int (*)(void*)>(::dlsym(calls.library, "InitializeInjectionNvtx2"));
  return initialize == nullptr ? 0 : initialize(export_table);
}
