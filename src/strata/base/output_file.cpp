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

OutputFile::OutputFile(std::filesystem::path path) : place_(std::move(path)) {
  if (place_.is_special()) {
    place_.expect_no_trap();
    descriptor_ = place_.open_special();
  } else {
    make_file();
  }
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlinkat(place_.folder(), temporary_.filename().c_str(), 0);
}

void OutputFile::make_file() {
  for (int tries = 0; tries < 100; ++tries) {
    const std::string name =
        fmt::format(".{}.{}.partial", place_.name().substr(0, 200), unpredictable_word());
    descriptor_ = ::openat(place_.folder(), name.c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (descriptor_ >= 0) {
      temporary_ = place_.folder_path() / name;
      return;
    }
    if (errno != EEXIST) break;
  }
  place_.fail_to_write(errno);
}

// A file of somebody else says nothing about who may use this one, and nobody runs a result: no
// set-user-ID or set-group-ID bit is taken over.
mode_t OutputFile::mode() const {
  const mode_t of_new = mode_of_new_files();
  const auto& before = place_.present();
  struct stat now {};
  if (!before || before->st_uid != ::geteuid() || ::fstat(descriptor_, &now) != 0) return of_new;
  const mode_t kept = before->st_mode & 0777U;
  const bool has_same_group =
      now.st_gid == before->st_gid || ::fchown(descriptor_, ~uid_t{0}, before->st_gid) == 0;
  return has_same_group ? kept : kept & ~(S_IRWXG & ~of_new);
}

const std::filesystem::path& OutputFile::name_meanwhile() const {
  if (temporary_.empty())
    fail(ErrorKind::usage, "cannot write {}: it is a pipe or a device", place_.path().string());
  return temporary_;
}

void OutputFile::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor_, text.data(), text.size());
    if (count < 0 && errno != EINTR) place_.fail_to_write(errno);
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
  }
}

void OutputFile::finish() {
  const bool has_mode = temporary_.empty() || ::fchmod(descriptor_, mode()) == 0;
  if (!has_mode) place_.fail_to_write(errno);
  // Some file systems report a full disk only here.
  const bool is_closed = ::close(std::exchange(descriptor_, -1)) == 0;
  if (!is_closed) place_.fail_to_write(errno);
  if (temporary_.empty()) return;
  if (::renameat(place_.folder(), temporary_.filename().c_str(), place_.folder(),
                 place_.name().c_str()) != 0)
    // A wrong path was found when the file was made: somebody removed it or its folder since.
    fail(ErrorKind::environment, "cannot write {}: {}", place_.path().string(),
         std::generic_category().message(errno));
  temporary_.clear();
}

}  // namespace strata
