// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/temporary_folder_test.hpp"

#include <fcntl.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// Runs the built program as a user does, so that tests see what a user sees: exit code, standard
/// output and standard error apart.
namespace strata::test {

struct Outcome {
  int exit_code = -1;  ///< -signal when a signal ended it
  std::string out;
  std::string err;
};

struct Surroundings {
  std::filesystem::path folder = {};  ///< where it runs; empty: here
  std::vector<std::string> environment =
      {};                               ///< "NAME=value", on top of a clean environment in UTF-8
  unsigned short terminal_columns = 0;  ///< standard output is a terminal of that width; 0: a file
};

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
inline File temporary_file() { return {std::tmpfile(), std::fclose}; }

inline std::string content_of(int descriptor) {
  std::string text;
  char buffer[4096];
  for (ssize_t count = 0; (count = ::read(descriptor, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(count));
  }
  return text;
}

/// Becomes the program; only for the child of a fork.
[[noreturn]] inline void become(const std::vector<std::string>& words, const Surroundings& where) {
  std::vector<std::string> environment = {"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", "TERM=xterm"};
  environment.insert(environment.end(), where.environment.begin(), where.environment.end());
  if (!where.folder.empty() && ::chdir(where.folder.c_str()) != 0) ::_exit(127);
  ::clearenv();
  for (std::string& variable : environment) ::putenv(variable.data());
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

inline int exit_code_of_child(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// Starts the words as a process; standard output and standard error go to the descriptors given.
inline pid_t start_words(const std::vector<std::string>& words, const Surroundings& where, int out,
                         int err) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  become(words, where);
}

inline Outcome run_words(const std::vector<std::string>& words, const Surroundings& where = {}) {
  const File err = temporary_file();
  Outcome outcome;
  if (where.terminal_columns == 0) {
    const File out = temporary_file();
    outcome.exit_code =
        exit_code_of_child(start_words(words, where, ::fileno(out.get()), ::fileno(err.get())));
    ::lseek(::fileno(out.get()), 0, SEEK_SET);
    outcome.out = content_of(::fileno(out.get()));
  } else {
    winsize size{.ws_row = 24, .ws_col = where.terminal_columns, .ws_xpixel = 0, .ws_ypixel = 0};
    int ours = -1;
    int theirs = -1;
    if (::openpty(&ours, &theirs, nullptr, nullptr, &size) != 0)
      throw std::runtime_error("no pseudo-terminal");
    const pid_t child = start_words(words, where, theirs, ::fileno(err.get()));
    ::close(theirs);
    outcome.out = content_of(ours);  // ends when the child has closed its side
    ::close(ours);
    outcome.exit_code = exit_code_of_child(child);
    std::erase(outcome.out, '\r');
  }
  ::lseek(::fileno(err.get()), 0, SEEK_SET);
  outcome.err = content_of(::fileno(err.get()));
  return outcome;
}

/// Runs strata with these arguments.
inline Outcome run(std::vector<std::string> arguments, const Surroundings& where = {}) {
  arguments.insert(arguments.begin(), STRATA_BINARY);
  return run_words(arguments, where);
}

/// Runs a line of shell in which `strata` is the built program.
inline Outcome run_shell(const std::string& line, const Surroundings& where = {}) {
  const std::string function = std::string("strata() { '") + STRATA_BINARY + "' \"$@\"; }; ";
  return run_words({"bash", "-c", function + line}, where);
}

}  // namespace strata::test
