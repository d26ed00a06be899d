// SPDX-License-Identifier: Apache-2.0
// A program that is watched, for computers without a GPU: it makes up records at a rate and hands
// them over as the injected library does, through the same session and the same log. What CUPTI
// still holds when a program is killed is lost there; here it is what was made since the last
// flush.
//
//   fake_program [--rate N] [--seconds S] [--steps N] [--then
//   exit=N|abort|segv|_exit|hang|fork|quiet]
#include "strata/capture/capture_session.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>

namespace {

using strata::LogKind;

class FakeSource final : public strata::ActivitySource {
 public:
  strata::LogWriter* log = nullptr;

  std::uint64_t now_ns() override {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  }
  void start_recording() override { is_on = true; }
  void stop_recording() override { is_on = false; }
  void flush(bool) override {}

  void launch(std::string_view name, std::uint32_t grid) {
    if (!is_on) return;
    const std::uint64_t now = now_ns();
    const std::uint32_t correlation = ++correlation_;
    strata::LogCall call;
    call.head =
        strata::log_head<strata::LogCall>(LogKind::runtime, log->name_id("cudaLaunchKernel_v7000"));
    call.start_ns = now;
    call.end_ns = now + 2000;
    call.correlation = correlation;
    call.thread = 1;
    log->append(call);
    strata::LogKernel kernel;
    kernel.head = strata::log_head<strata::LogKernel>(LogKind::kernel, log->name_id(name));
    kernel.start_ns = now + 3000;
    kernel.end_ns = now + 5000;
    kernel.correlation = correlation;
    kernel.stream = 7;
    kernel.grid = {grid, 1, 1};
    kernel.block = {256, 1, 1};
    log->append(kernel);
  }
  void mark(strata::MarkerPart part, std::uint32_t id, std::string_view name) {
    if (!is_on) return;
    strata::LogMarker marker;
    const std::uint32_t number = part == strata::MarkerPart::end ? 0 : log->name_id(name);
    marker.head = strata::log_head<strata::LogMarker>(LogKind::marker, number);
    marker.at_ns = now_ns();
    marker.id = id;
    marker.thread = 1;
    marker.part = part;
    log->append(marker);
  }

 private:
  std::atomic<bool> is_on = false;
  std::uint32_t correlation_ = 0;
};

strata::CaptureSession* session = nullptr;
FakeSource source;

void begin_injection() {
  const char* const variable = std::getenv(strata::capture_variable);
  strata::CaptureOptions options;
  if (variable == nullptr || !strata::read_variable(variable, options)) return;
  strata::LogPage page;
  page.recorder_ns = page.unix_ns = source.now_ns();
  session = new strata::CaptureSession(options, page, source, [](strata::LogWriter& log) {
    log.append_text(LogKind::info, static_cast<std::uint32_t>(strata::LogInfo::command), "fake");
  });
  source.log = &session->log();
  if (!session->begin()) return;
  std::atexit([] { session->end_of_program(); });
}

/// Kernels of one iteration: names and sizes that come again in each.
void one_step(std::uint32_t step) {
  if (session == nullptr) return;
  session->push(1, "step");
  source.mark(strata::MarkerPart::begin, step + 1, "step");
  source.launch("_Z4convPf", 64);
  source.launch("_Z4relui", 8);
  source.launch("_Z4convPf", 32);
  source.launch("_Z4relui", 8);
  source.launch("_Z3sgdv", 1);
  source.mark(strata::MarkerPart::end, step + 1, {});
  session->pop(1);
}

int leave(const std::string& then) {
  if (then == "abort") std::abort();
  if (then == "segv") ::raise(SIGSEGV);
  if (then == "_exit") ::_exit(5);
  if (then == "hang") std::this_thread::sleep_for(std::chrono::seconds(60));
  if (then == "fork") {
    const pid_t child = ::fork();
    for (std::uint32_t i = 0; i < 100; ++i) one_step(1000 + i);
    if (child == 0) return 0;
    int status = 0;
    ::waitpid(child, &status, 0);
  }
  return then.starts_with("exit=") ? std::atoi(then.c_str() + 5) : 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::string> options = {
      {"--rate", "0"}, {"--seconds", "0"}, {"--steps", "0"}, {"--then", "exit=0"}};
  for (int i = 1; i + 1 < argc; i += 2) options[argv[i]] = argv[i + 1];
  const std::string then = options["--then"];
  if (then != "quiet") begin_injection();
  const double seconds = std::atof(options["--seconds"].c_str());
  const double rate = std::atof(options["--rate"].c_str());
  const auto begin = std::chrono::steady_clock::now();
  std::uint32_t steps = static_cast<std::uint32_t>(std::atoi(options["--steps"].c_str()));
  for (std::uint32_t i = 0; i < steps; ++i) one_step(i);
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() <
         seconds) {
    one_step(steps++);
    if (rate > 0) std::this_thread::sleep_for(std::chrono::duration<double>(5 / rate));
  }
  std::printf("%u steps\n", steps);
  std::fflush(stdout);
  return leave(then);
}
