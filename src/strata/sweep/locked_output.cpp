// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/locked_output.hpp"

#include "strata/base/error.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
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

LockedOutput::LockedOutput(std::filesystem::path file) : place_(std::move(file)) {
  place_.expect_no_trap();
  if (place_.is_special()) {
    descriptor_ = place_.open_special();
    return;
  }
  constexpr int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_APPEND;
  descriptor_ = ::openat(place_.folder(), place_.name().c_str(), flags, 0666);
  if (descriptor_ < 0) place_.fail_to_write(errno);
  struct stat present {};
  is_regular_ = ::fstat(descriptor_, &present) == 0 && S_ISREG(present.st_mode);
  const bool is_taken = ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  // Whoever had the lock may have put another file there before it was free.
  if (!is_regular_ || is_taken || !is_at(path(), descriptor_)) {
    ::close(descriptor_);
    fail(ErrorKind::environment, "{} is being written by another process", path().string());
  }
}

LockedOutput::~LockedOutput() { ::close(descriptor_); }

void LockedOutput::empty() { cut_to(0); }

void LockedOutput::cut_to(std::int64_t bytes) {
  if (!is_regular_) return;
  if (::ftruncate(descriptor_, bytes) != 0) place_.fail_to_write(errno);
  least_bytes_ = 0;
}

void LockedOutput::note_written() {
  struct stat now {};
  if (is_regular_ && ::fstat(descriptor_, &now) == 0)
    least_bytes_ = std::max<std::int64_t>(least_bytes_, now.st_size);
}

void LockedOutput::expect_still_there() const {
  if (!is_regular_) return;
  struct stat now {};
  const bool is_there = is_at(path(), descriptor_) && ::fstat(descriptor_, &now) == 0;
  if (is_there && now.st_size >= least_bytes_) return;
  fail(ErrorKind::environment,
       "{} was {} while it was written: its points are lost; run the sweep again", path().string(),
       is_there ? "emptied or cut" : "removed or replaced");
}

void LockedOutput::fail_to_read(int reason) const {
  fail(ErrorKind::environment, "cannot read {}: {}", path().string(),
       std::generic_category().message(reason));
}

}  // namespace strata
