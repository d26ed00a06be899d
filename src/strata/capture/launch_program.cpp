// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/launch_program.hpp"

#include "strata/base/error.hpp"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

namespace strata {
namespace {

std::atomic<pid_t> watched_pid = 0;

void pass_on_signal(int number) {
  if (const pid_t pid = watched_pid; pid > 0) ::kill(pid, number);
}

/// While a program is watched, signals are its business. As before when this goes.
class SignalsForChild {
 public:
  SignalsForChild() {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      struct sigaction action = {};
      action.sa_handler = is_from_terminal(numbers[i]) ? SIG_IGN : pass_on_signal;
      ::sigaction(numbers[i], &action, &before_[i]);
      // Signals that the parent ignores (nohup) stay ignored, in the program, too.
      if (before_[i].sa_handler == SIG_IGN) ::sigaction(numbers[i], &before_[i], nullptr);
    }
  }
  ~SignalsForChild() {
    watched_pid = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) ::sigaction(numbers[i], &before_[i], nullptr);
  }
  SignalsForChild(const SignalsForChild&) = delete;
  SignalsForChild& operator=(const SignalsForChild&) = delete;

  /// Those that the program must not find ignored only because we ignore them.
  sigset_t to_reset() const {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGPIPE);
    ::sigaddset(&set, SIGXFSZ);
    for (std::size_t i = 0; i < numbers.size(); ++i)
      if (before_[i].sa_handler != SIG_IGN) ::sigaddset(&set, numbers[i]);
    return set;
  }

 private:
  static constexpr std::array<int, 6> numbers = {SIGINT, SIGQUIT, SIGTERM,
                                                 SIGHUP, SIGUSR1, SIGUSR2};
  static bool is_from_terminal(int number) { return number == SIGINT || number == SIGQUIT; }

  std::array<struct sigaction, numbers.size()> before_ = {};
};

std::vector<std::string> environment_with(
    const std::vector<std::pair<std::string, std::string>>& more) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    bool is_replaced = false;
    for (const auto& [key, value] : more) is_replaced = is_replaced || key == name;
    if (!is_replaced) all.emplace_back(text);
  }
  for (const auto& [key, value] : more) all.push_back(key + "=" + value);
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

pid_t spawn(std::vector<std::string> command, std::vector<std::string> environment,
            const sigset_t& reset) {
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setsigdefault(&attributes, &reset);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  const std::vector<char*> words = pointers_to(command);
  const std::vector<char*> variables = pointers_to(environment);
  pid_t pid = 0;
  const int problem = ::posix_spawnp(&pid, command.front().c_str(), nullptr, &attributes,
                                     words.data(), variables.data());
  ::posix_spawnattr_destroy(&attributes);
  if (problem != 0)
    fail(ErrorKind::input, "{}: cannot be run: {}", command.front(), std::strerror(problem));
  return pid;
}

}  // namespace

ProgramEnd run_watched(const std::vector<std::string>& command,
                       const std::vector<std::pair<std::string, std::string>>& environment) {
  STRATA_CHECK(!command.empty(), "there is a program to run");
  const SignalsForChild signals;
  const pid_t pid = spawn(command, environment_with(environment), signals.to_reset());
  watched_pid = pid;
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR)
      fail(ErrorKind::environment, "waiting for {}: {}", command.front(), std::strerror(errno));
  }
  if (WIFSIGNALED(status)) return {.exit_code = 0, .signal = WTERMSIG(status)};
  return {.exit_code = WEXITSTATUS(status), .signal = 0};
}

std::optional<std::filesystem::path> injected_library() {
  std::error_code problem;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", problem);
  if (problem) return std::nullopt;
  const std::filesystem::path folder = program.parent_path();
  for (const char* place :
       {".", "../lib", "../lib64", "../lib/x86_64-linux-gnu", "../lib/aarch64-linux-gnu", ".."}) {
    const std::filesystem::path file = folder / place / "libstrata_inject.so";
    if (std::filesystem::exists(file, problem)) return std::filesystem::canonical(file, problem);
  }
  return std::nullopt;
}

}  // namespace strata
