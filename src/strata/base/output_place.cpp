// SPDX-License-Identifier: Apache-2.0
#include "strata/base/output_place.hpp"

#include "strata/base/error.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace strata {
namespace {

constexpr int most_links = 40;  // as Linux has it

bool is_of_caller_or_root(uid_t owner) { return owner == ::geteuid() || owner == 0; }

}  // namespace

/// Goes along a path name by name, each in a folder that is held open.
class OutputPlace::Walk {
 public:
  explicit Walk(OutputPlace& place) : place_(place) {}

  /// Leaves the folder and the name of the last step in the place, and says what is there.
  std::optional<struct stat> go(const std::filesystem::path& path) {
    add(path);
    while (true) {
      std::string name = std::move(left_.back());
      left_.pop_back();
      if (name.empty() || name == "." || name == "..") {
        if (left_.empty()) place_.fail_to_write(EISDIR);
        if (name == "..") enter(name, open_here(name));
        continue;
      }
      const int there = open_here(name);
      if (there < 0 && errno == ENOENT && left_.empty()) return take_name(std::move(name), {});
      if (there < 0) place_.fail_to_write(errno);
      struct stat status {};
      ::fstat(there, &status);
      if (S_ISLNK(status.st_mode)) {
        follow(there, name, status);
      } else if (left_.empty()) {
        ::close(there);
        return take_name(std::move(name), status);
      } else {
        enter(name, there);
      }
    }
  }

 private:
  /// The names of a path, to be gone along before those that are left.
  void add(const std::filesystem::path& path) {
    if (path.is_absolute() || place_.folder_ < 0) {
      const char* const start = path.is_absolute() ? "/" : ".";
      set_folder(::open(start, O_PATH | O_DIRECTORY | O_CLOEXEC));
      place_.folder_path_ = path.is_absolute() ? "/" : "";
    }
    const std::filesystem::path names = path.relative_path();
    std::vector<std::string> all(names.begin(), names.end());
    if (all.empty()) all.emplace_back();
    left_.insert(left_.end(), all.rbegin(), all.rend());
  }

  int open_here(const std::string& name) const {
    return ::openat(place_.folder_, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
  }

  void follow(int link, const std::string& name, const struct stat& status) {
    std::array<char, PATH_MAX> target{};
    const ssize_t size = ::readlinkat(link, "", target.data(), target.size() - 1);
    const int reason = size < 0 ? errno : ++links_ > most_links ? ELOOP : 0;
    ::close(link);
    if (!is_of_caller_or_root(status.st_uid)) {
      fail(ErrorKind::usage,
           "cannot write {}: {} is a link of another user; name the file that it points to, or "
           "another one",
           place_.path_.string(), (place_.folder_path_ / name).string());
    }
    if (reason != 0) place_.fail_to_write(reason);
    add(std::string(target.data(), static_cast<std::size_t>(size)));
  }

  void enter(const std::string& name, int folder) {
    if (folder < 0) place_.fail_to_write(errno);
    set_folder(folder);
    place_.folder_path_ /= name;
  }

  void set_folder(int folder) {
    if (folder < 0) place_.fail_to_write(errno);
    if (place_.folder_ >= 0) ::close(place_.folder_);
    place_.folder_ = folder;
  }

  std::optional<struct stat> take_name(std::string name, std::optional<struct stat> there) {
    place_.name_ = std::move(name);
    return there;
  }

  OutputPlace& place_;
  std::vector<std::string> left_;  // names, the next one last
  int links_ = 0;
};

OutputPlace::OutputPlace(std::filesystem::path path) : path_(std::move(path)) {
  if (path_.empty()) fail_to_write(ENOENT);
  try {
    present_ = Walk(*this).go(path_);
    // What lies behind links of the kernel, as /dev/stdout is one, has no name of its own.
    struct stat behind {};
    const bool is_nameless = !present_ && ::stat(path_.c_str(), &behind) == 0;
    if (is_nameless && !S_ISREG(behind.st_mode)) present_ = behind;
    if (present_ && S_ISDIR(present_->st_mode)) fail_to_write(EISDIR);
  } catch (...) {
    if (folder_ >= 0) ::close(folder_);
    throw;
  }
}

OutputPlace::~OutputPlace() { ::close(folder_); }

std::filesystem::path OutputPlace::folder_path() const {
  return folder_path_.empty() ? "." : folder_path_;
}

int OutputPlace::open_special() const {
  constexpr auto patience = std::chrono::seconds(10);
  constexpr auto between_looks = std::chrono::milliseconds(10);
  const auto end = std::chrono::steady_clock::now() + patience;
  while (true) {
    const int descriptor = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (descriptor >= 0) {  // from here on a reader that is slow is waited for
      ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
      return descriptor;
    }
    if (errno != ENXIO || !S_ISFIFO(present_->st_mode)) fail_to_write(errno);
    if (std::chrono::steady_clock::now() > end) {
      fail(ErrorKind::environment,
           "cannot write {}: nobody reads the pipe; start its reader within {} s", path_.string(),
           patience.count());
    }
    std::this_thread::sleep_for(between_looks);
  }
}

void OutputPlace::expect_no_trap() const {
  if (!present_ || name_.empty() || is_of_caller_or_root(present_->st_uid)) return;
  struct stat folder {};
  struct stat there {};
  const bool is_shared = ::fstat(folder_, &folder) == 0 && (folder.st_mode & S_IWOTH) != 0 &&
                         folder.st_uid != present_->st_uid;
  const bool is_in_folder = ::fstatat(folder_, name_.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
                            (S_ISREG(there.st_mode) || S_ISFIFO(there.st_mode));
  if (!is_shared || !is_in_folder) return;
  fail(ErrorKind::usage,
       "cannot write {}: it belongs to another user, in a folder that everybody can write; remove "
       "it or name another file",
       path_.string());
}

void OutputPlace::expect_writable() const {
  if (is_special()) {
    if (::access(path_.c_str(), W_OK) != 0) fail_to_write(errno);
    return;
  }
  if (present_ && ::faccessat(folder_, name_.c_str(), W_OK, AT_EACCESS) == 0) return;
  if (::faccessat(folder_, ".", W_OK | X_OK, AT_EACCESS) != 0) fail_to_write(errno);
}

void OutputPlace::fail_to_write(int reason) const {
  const bool is_wrong_path =
      reason == ENOENT || reason == ENOTDIR || reason == EISDIR || reason == ENAMETOOLONG;
  fail(
      is_wrong_path ? ErrorKind::usage : ErrorKind::environment, "cannot write {}: {}",
      path_.string(),
      reason == EPIPE ? "nobody reads the pipe any more" : std::generic_category().message(reason));
}

}  // namespace strata
