// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "cli/program.hpp"
#include "strata/base/error.hpp"
#include "strata/report/text_style.hpp"
#include "strata/sweep/ranks.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <new>
#include <span>
#include <string>
#include <vector>

namespace {

// _exit is one of the few things that a signal handler may call.
void end_interrupted(int) { ::_exit(strata::exit_code::interrupted); }

// A file that is opened where one of the three streams is closed would take its number, and what is
// printed would go into it. The stand-in is opened the wrong way round: using it is an error still.
void keep_stream_numbers() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF)
      ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

// A network file is read where it lies (mmap). Whoever shortens it meanwhile takes the ground away.
void end_shortened(int) {
  constexpr std::string_view message =
      "error: a file that was being read became shorter; run the command again\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, message.data(), message.size());
  ::_exit(strata::exit_code::wrong_input);
}

void prepare_signals() {
  std::signal(SIGBUS, end_shortened);
  std::signal(SIGPIPE,
              SIG_IGN);  // writing fails instead, and print() tells a closed pipe from a full disk
  std::signal(SIGXFSZ, SIG_IGN);  // the same of a file that is larger than the user allows
  const bool is_shielded = std::signal(SIGINT, end_interrupted) == SIG_IGN;
  if (is_shielded) std::signal(SIGINT, SIG_IGN);  // whoever started the program wants it so (nohup)
}

int report(strata::ErrorKind kind, std::string_view message, std::span<const std::string> words) {
  // What is wrong with the command line is wrong on every rank; one says it.
  if (kind == strata::ErrorKind::usage && strata::rank_of_count().rank > 0)
    return strata::exit_code_of(kind);
  const strata::TextStyle style = strata::style_of_stderr("auto");
  strata::print_to_stderr(
      strata::failure_text(kind, message, strata::command_line_of(words), style));
  return strata::exit_code_of(kind);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  keep_stream_numbers();
  prepare_signals();
  try {
    return strata::run_program(words);
  } catch (const strata::ClosedPipe&) {
    return strata::exit_code::done;
  } catch (const strata::Error& error) {
    return report(error.kind(), error.what(), words);
  } catch (const std::bad_alloc&) {
    return report(strata::ErrorKind::environment, "not enough memory", words);
  } catch (const std::exception& error) {
    return report(strata::ErrorKind::internal, error.what(), words);
  }
}
