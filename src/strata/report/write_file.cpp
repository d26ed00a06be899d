// SPDX-License-Identifier: Apache-2.0
#include "strata/report/write_file.hpp"

#include "strata/base/error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace strata {
namespace {

// A wrong path is a slip of whoever typed it; a full disk or a missing permission is the machine's
// state.
[[noreturn]] void fail_to_write(const std::filesystem::path& path, int reason) {
  const bool is_wrong_path =
      reason == ENOENT || reason == ENOTDIR || reason == EISDIR || reason == ENAMETOOLONG;
  fail(is_wrong_path ? ErrorKind::usage : ErrorKind::environment, "cannot write {}: {}",
       path.string(), std::generic_category().message(reason));
}

class OpenFile {
 public:
  OpenFile(const std::filesystem::path& path, int flags)
      : descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }

  /// 0, or why not all of it was written.
  int write(std::string_view text) {
    while (!text.empty()) {
      const ssize_t count = ::write(descriptor_, text.data(), text.size());
      if (count < 0 && errno != EINTR) return errno;
      if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
    }
    return 0;
  }

  /// Some file systems report a full disk only here.
  int close() {
    const int status = ::close(descriptor_);
    descriptor_ = -1;
    return status == 0 ? 0 : errno;
  }

 private:
  int descriptor_;
};

void write_in_place(const std::filesystem::path& path, std::string_view text) {
  OpenFile file(path, O_WRONLY);
  if (!file.is_open()) fail_to_write(path, errno);
  if (const int reason = file.write(text)) fail_to_write(path, reason);
  if (const int reason = file.close()) fail_to_write(path, reason);
}

/// Takes the temporary file away when writing it failed half-way.
class TemporaryName {
 public:
  explicit TemporaryName(const std::filesystem::path& target)
      : path_(target.parent_path() /
              fmt::format(".{}.{}.partial", target.filename().string(), ::getpid())) {}
  ~TemporaryName() {
    if (!is_final_) ::unlink(path_.c_str());
  }
  TemporaryName(const TemporaryName&) = delete;
  TemporaryName& operator=(const TemporaryName&) = delete;

  const std::filesystem::path& path() const { return path_; }
  int rename_to(const std::filesystem::path& target) {
    if (::rename(path_.c_str(), target.c_str()) != 0) return errno;
    is_final_ = true;
    return 0;
  }

 private:
  std::filesystem::path path_;
  bool is_final_ = false;
};

void replace_file(const std::filesystem::path& path, std::string_view text,
                  const struct stat* present) {
  TemporaryName temporary(path);
  OpenFile file(temporary.path(), O_WRONLY | O_CREAT | O_TRUNC);
  if (!file.is_open()) fail_to_write(path, errno);
  if (present != nullptr && ::fchmod(file.descriptor(), present->st_mode & 07777U) != 0)
    fail_to_write(path, errno);
  if (const int reason = file.write(text)) fail_to_write(path, reason);
  if (const int reason = file.close()) fail_to_write(path, reason);
  if (const int reason = temporary.rename_to(path)) fail_to_write(path, reason);
}

}  // namespace

void write_file(const std::filesystem::path& path, std::string_view text) {
  struct stat present {};
  const bool exists = ::stat(path.c_str(), &present) == 0;
  if (!exists && errno != ENOENT) fail_to_write(path, errno);
  if (exists && S_ISDIR(present.st_mode)) fail_to_write(path, EISDIR);
  if (exists && !S_ISREG(present.st_mode)) {
    write_in_place(path, text);
    return;
  }
  std::error_code ignored;  // of a path that cannot be resolved; writing will then say why
  const std::filesystem::path target = exists ? std::filesystem::canonical(path, ignored) : path;
  replace_file(target.empty() ? path : target, text, exists ? &present : nullptr);
}

}  // namespace strata
