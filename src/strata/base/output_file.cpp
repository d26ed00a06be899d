// SPDX-License-Identifier: Apache-2.0
#include "strata/base/output_file.hpp"

#include "strata/base/error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

namespace strata {
namespace {

/// 64 bits that nobody can guess.
std::string unpredictable_word() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number)
    fail(ErrorKind::environment, "the system has no random numbers");
  return fmt::format("{:016x}", number);
}

/// What a new file may be used for. Asking by umask() would change it for other threads meanwhile.
mode_t mode_of_new_files() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Umask:"))
      return static_cast<mode_t>(0666U & ~std::strtoul(line.c_str() + 6, nullptr, 8));
  }
  return 0600;
}

}  // namespace

OutputFile::OutputFile(std::filesystem::path path) : path_(std::move(path)), target_(path_) {
  struct stat present {};
  const bool exists = ::stat(path_.c_str(), &present) == 0;
  if (!exists && errno != ENOENT) fail_to_write(errno);
  if (exists && S_ISDIR(present.st_mode)) fail_to_write(EISDIR);
  if (exists && !S_ISREG(present.st_mode)) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor_ < 0) fail_to_write(errno);
    return;
  }
  std::error_code ignored;  // of a path that cannot be resolved; writing will then say why
  if (exists) target_ = std::filesystem::canonical(path_, ignored);
  if (target_.empty()) target_ = path_;
  mode_ = exists ? present.st_mode & 07777U : mode_of_new_files();
  make_file();
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::make_file() {
  for (int tries = 0; tries < 100; ++tries) {
    const std::filesystem::path name =
        target_.parent_path() / fmt::format(".{}.{}.partial",
                                            target_.filename().string().substr(0, 200),
                                            unpredictable_word());
    descriptor_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (descriptor_ >= 0) {
      temporary_ = name;
      return;
    }
    if (errno != EEXIST) break;
  }
  fail_to_write(errno);
}

const std::filesystem::path& OutputFile::name_meanwhile() const {
  if (temporary_.empty())
    fail(ErrorKind::usage, "cannot write {}: it is a pipe or a device", path_.string());
  return temporary_;
}

void OutputFile::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor_, text.data(), text.size());
    if (count < 0 && errno != EINTR) fail_to_write(errno);
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
  }
}

void OutputFile::finish() {
  const bool has_mode = temporary_.empty() || ::fchmod(descriptor_, mode_) == 0;
  if (!has_mode) fail_to_write(errno);
  // Some file systems report a full disk only here.
  const bool is_closed = ::close(std::exchange(descriptor_, -1)) == 0;
  if (!is_closed) fail_to_write(errno);
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0)
    // A wrong path was found when the file was made: somebody removed it or its folder since.
    fail(ErrorKind::environment, "cannot write {}: {}", path_.string(),
         std::generic_category().message(errno));
  temporary_.clear();
}

// A wrong path is a slip of whoever typed it; a full disk or a missing permission is the machine's
// state.
void OutputFile::fail_to_write(int reason) const {
  const bool is_wrong_path =
      reason == ENOENT || reason == ENOTDIR || reason == EISDIR || reason == ENAMETOOLONG;
  fail(is_wrong_path ? ErrorKind::usage : ErrorKind::environment, "cannot write {}: {}",
       path_.string(), std::generic_category().message(reason));
}

}  // namespace strata
