// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/locked_output.hpp"

#include "strata/base/error.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace strata {
namespace {

bool is_at(const std::filesystem::path& path, int descriptor) {
  struct stat open {};
  struct stat there {};
  return ::fstat(descriptor, &open) == 0 && ::stat(path.c_str(), &there) == 0 &&
         open.st_ino == there.st_ino && open.st_dev == there.st_dev;
}

}  // namespace

LockedOutput::LockedOutput(std::filesystem::path path) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_APPEND, 0666);
  if (descriptor_ < 0) fail_to("write", errno);
  struct stat present {};
  is_regular_ = ::fstat(descriptor_, &present) == 0 && S_ISREG(present.st_mode);
  if (!is_regular_) return;
  const bool is_taken = ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  // Whoever had the lock may have put another file there before it was free.
  if (is_taken || !is_at(path_, descriptor_)) {
    ::close(descriptor_);
    fail(ErrorKind::environment, "{} is being written by another process", path_.string());
  }
}

LockedOutput::~LockedOutput() { ::close(descriptor_); }

void LockedOutput::empty() const {
  if (is_regular_ && ::ftruncate(descriptor_, 0) != 0) fail_to("empty", errno);
}

void LockedOutput::expect_still_there() const {
  if (is_regular_ && !is_at(path_, descriptor_))
    fail(
        ErrorKind::environment,
        "{} was removed or replaced while it was written: its points are lost; run the sweep again",
        path_.string());
}

void LockedOutput::fail_to(std::string_view act, int reason) const {
  const bool is_wrong_path =
      reason == ENOENT || reason == ENOTDIR || reason == EISDIR || reason == ENAMETOOLONG;
  fail(is_wrong_path ? ErrorKind::usage : ErrorKind::environment, "cannot {} {}: {}", act,
       path_.string(), std::generic_category().message(reason));
}

}  // namespace strata
