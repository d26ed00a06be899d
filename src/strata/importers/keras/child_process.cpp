// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/keras/child_process.hpp"

#include "strata/base/error.hpp"
#include "strata/importers/keras/document.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <new>

namespace strata::keras {
namespace {

/// What the child says first; its text follows.
struct Header {
  std::uint64_t bytes = 0;
  ErrorKind kind = ErrorKind::input;
  bool is_error = false;
};

constexpr std::size_t longest_answer = most_bytes + 4096;

// ---- the child ----------------------------------------------------------------------------------

void limit(decltype(RLIMIT_AS) resource, rlim_t most) {
  // One beyond the soft limit, where signals that say why come from.
  const rlimit bound{most, most + 1};
  static_cast<void>(setrlimit(resource, &bound));
}

// Pages of address space that this process has now: sanitizers reserve a lot of it.
std::size_t address_space_bytes() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

void restrict_child(const ChildLimits& limits) {
  const int nowhere = open("/dev/null", O_RDWR);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    static_cast<void>(dup2(nowhere, stream));
  }
  limit(RLIMIT_AS, address_space_bytes() + limits.memory_bytes);
  limit(RLIMIT_CPU, static_cast<rlim_t>(limits.processor_s));
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_CORE, 0);
}

bool send(int pipe, const void* data, std::size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t sent = write(pipe, at, bytes);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    bytes -= static_cast<std::size_t>(sent);
  }
  return true;
}

// Never returns to the parent's code: the child ends itself as hard as one can, so that nothing the
// parent has registered runs twice.
void run_child(int end, const std::function<std::string()>& work, const ChildLimits& limits) {
  // Where the parent has no standard streams the pipe has the number of one, which goes elsewhere.
  const int pipe = fcntl(end, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  restrict_child(limits);
  Header header;
  std::string text;
  try {
    text = work();
  } catch (const Error& error) {
    header.is_error = true;
    header.kind = error.kind();
    text = error.what();
  } catch (const std::bad_alloc&) {
    header.is_error = true;
    text = "needs more memory than a file of its kind may take";
  } catch (...) {
    header.is_error = true;
    text = "cannot be read";
  }
  header.bytes = text.size();
  if (send(pipe, &header, sizeof header)) send(pipe, text.data(), text.size());
  close(pipe);
  for (;;) kill(getpid(), SIGKILL);
}

// ---- the parent ---------------------------------------------------------------------------------

/// Reads what comes through a pipe until its end, or the deadline.
class Listener {
 public:
  Listener(int pipe, int wall_s)
      : pipe_(pipe), deadline_(std::chrono::steady_clock::now() + std::chrono::seconds(wall_s)) {}

  /// False when it took too long.
  bool listen() {
    while (true) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          deadline_ - std::chrono::steady_clock::now());
      if (left.count() <= 0) return false;
      pollfd waiting{pipe_, POLLIN, 0};
      const int ready = poll(&waiting, 1, static_cast<int>(left.count()));
      if (ready < 0 && errno != EINTR) return true;
      if (ready > 0 && !take()) return true;
    }
  }

  std::string heard;

 private:
  bool take() {
    std::array<char, 1 << 16> chunk;
    const ssize_t count = read(pipe_, chunk.data(), chunk.size());
    if (count < 0) return errno == EINTR;
    if (count == 0 || heard.size() > longest_answer) return false;
    heard.append(chunk.data(), static_cast<std::size_t>(count));
    return true;
  }

  int pipe_;
  std::chrono::steady_clock::time_point deadline_;
};

std::string reason_of_death(int status, const ChildLimits& limits) {
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) {
    return fmt::format("took more than {} s", limits.processor_s);
  }
  if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL) {
    return fmt::format("crashed (signal {})", WTERMSIG(status));
  }
  return "did not come to an end";
}

std::string answer_in(const std::string& heard, std::string_view library, int status,
                      const ChildLimits& limits) {
  Header header;
  if (heard.size() >= sizeof header) std::memcpy(&header, heard.data(), sizeof header);
  if (heard.size() < sizeof header || heard.size() - sizeof header != header.bytes) {
    fail(ErrorKind::input, "the file is damaged: {} {} reading it", library,
         reason_of_death(status, limits));
  }
  std::string text = heard.substr(sizeof header);
  if (header.is_error) throw Error(header.kind, std::move(text));
  return text;
}

}  // namespace

std::string run_in_child(std::string_view library, const std::function<std::string()>& work,
                         const ChildLimits& limits) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    fail(ErrorKind::environment, "no pipe to a child process: {}", std::strerror(errno));
  }
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    run_child(ends[1], work, limits);
  }
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    fail(ErrorKind::environment, "no child process: {}", std::strerror(errno));
  }
  Listener listener(ends[0], limits.wall_s);
  const bool is_in_time = listener.listen();
  close(ends[0]);
  if (!is_in_time) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!is_in_time) {
    fail(ErrorKind::input, "the file is damaged: {} took more than {} s reading it", library,
         limits.wall_s);
  }
  return answer_in(listener.heard, library, status, limits);
}

}  // namespace strata::keras
