// SPDX-License-Identifier: Apache-2.0
#include "cli/output.hpp"

#include "cli/guest.hpp"
#include "cli/progress.hpp"
#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/base/text.hpp"
#include "strata/report/write_file.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

namespace strata {
namespace {

/// 0, or why not all of it was written.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count < 0 && errno != EINTR) return errno;
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

std::string_view environment(const char* name) {
  const char* value =
      std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing changes the environment
  return value == nullptr ? std::string_view() : std::string_view(value);
}

bool wants_color(int descriptor, std::string_view color) {
  if (color != "auto") return color == "always";
  const std::string_view terminal = environment("TERM");
  const bool is_plain = !environment("NO_COLOR").empty() || terminal.empty() || terminal == "dumb";
  return !is_plain && ::isatty(descriptor) == 1;
}

// The first of these that is set decides, as in the C library.
bool has_unicode() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string locale = lower_case(environment(name));
    if (locale.empty()) continue;
    return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  }
  return false;
}

std::size_t columns_of(int descriptor) {
  winsize size{};
  return ::isatty(descriptor) == 1 && ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

TextStyle style_of(int descriptor, std::string_view color) {
  return {.columns = columns_of(descriptor),
          .has_color = wants_color(descriptor, color),
          .has_unicode = has_unicode()};
}

}  // namespace

void print(std::string_view text) { print_bytes(printable_lines(text)); }

void print_bytes(std::string_view text) {
  if (Guest* const guest = this_guest()) {
    guest->output += text;
    return;
  }
  clear_progress();
  const int reason = write_all(STDOUT_FILENO, text);
  if (reason == EPIPE) throw ClosedPipe{};
  if (reason != 0) {
    fail(ErrorKind::environment, "cannot write to standard output: {}",
         std::generic_category().message(reason));
  }
}

void print_to_stderr(std::string_view text) {
  Guest* const guest = this_guest();
  const bool is_progress = text.starts_with('\r');  // written only where there is a terminal
  const std::string shown = is_progress ? std::string(text) : printable_lines(text);
  if (guest != nullptr && !is_progress) {
    guest->messages += shown;
  } else {
    clear_progress();
    static_cast<void>(write_all(STDERR_FILENO, shown));
  }
}

void warn(std::span<const Warning> warnings) {
  for (const Warning& warning : warnings) {
    print_to_stderr(
        fmt::format("warning: {} [{}]\n", printable(warning.message), name_of(warning.code)));
  }
}

TextStyle style_of_stdout(std::string_view color) { return style_of(STDOUT_FILENO, color); }
TextStyle style_of_stderr(std::string_view color) { return style_of(STDERR_FILENO, color); }

void write_output(std::string_view path, std::string_view text) {
  if (path == "-") {
    print_bytes(text);
  } else {
    write_file(path, text);
  }
}

}  // namespace strata
