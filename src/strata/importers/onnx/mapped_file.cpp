// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/mapped_file.hpp"

#include "strata/base/error.hpp"
#include "strata/importers/onnx/limits.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace strata::onnx {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(const std::filesystem::path& path)
      : number_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (number_ < 0) fail(ErrorKind::input, "cannot be opened: {}", std::strerror(errno));
  }
  ~FileDescriptor() { close(number_); }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  const FileDescriptor file(path);
  struct stat status {};
  if (fstat(file.number(), &status) != 0) {
    fail(ErrorKind::input, "cannot be read: {}", std::strerror(errno));
  }
  if (!S_ISREG(status.st_mode)) fail(ErrorKind::input, "expected a file, got something else");
  if (status.st_size == 0) fail(ErrorKind::input, "the file is empty");
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size > most_file_bytes) {
    fail(
        ErrorKind::input,
        "the file has {} bytes, and a protobuf cannot have more than {}; larger networks are saved "
        "with external data",
        size, most_file_bytes);
  }
  void* const data =
      mmap(nullptr, static_cast<std::size_t>(size), PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (data == MAP_FAILED) fail(ErrorKind::input, "cannot be read: {}", std::strerror(errno));
  // Reading hops over the weights: neighbours of a touched page are not wanted.
  if (size > (std::uint64_t{1} << 24)) madvise(data, static_cast<std::size_t>(size), MADV_RANDOM);
  data_ = static_cast<const char*>(data);
  size_ = static_cast<std::size_t>(size);
}

MappedFile::~MappedFile() { munmap(const_cast<char*>(data_), size_); }

}  // namespace strata::onnx
