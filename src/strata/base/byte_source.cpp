// SPDX-License-Identifier: Apache-2.0
#include "strata/base/byte_source.hpp"

#include "strata/base/error.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <system_error>

namespace strata {
namespace {

class FileSource : public ByteSource {
 public:
  explicit FileSource(const std::filesystem::path& path) {
    std::error_code problem;
    const std::filesystem::file_status status = std::filesystem::status(path, problem);
    if (!std::filesystem::exists(status)) fail(ErrorKind::input, "no such file");
    if (std::filesystem::is_directory(status)) fail(ErrorKind::input, "is a folder, not a file");
    // A file is opened several times: first to see what it is.
    if (!std::filesystem::is_regular_file(status))
      fail(ErrorKind::input, "expected a file, got a device or a pipe");
    file_.open(path, std::ios::binary);
    if (!file_) fail(ErrorKind::input, "cannot be read");
  }
  std::size_t read(std::span<char> room) override {
    file_.read(room.data(), static_cast<std::streamsize>(room.size()));
    if (file_.bad()) fail(ErrorKind::environment, "reading stopped: the disk reports an error");
    return static_cast<std::size_t>(file_.gcount());
  }

 private:
  std::ifstream file_;
};

class TextSource : public ByteSource {
 public:
  explicit TextSource(std::string_view text) : text_(text) {}
  std::size_t read(std::span<char> room) override {
    const std::size_t count = std::min(room.size(), text_.size());
    std::copy_n(text_.begin(), count, room.begin());
    text_.remove_prefix(count);
    return count;
  }

 private:
  std::string_view text_;
};

/// What was read to look at it comes first.
class PutBackSource : public ByteSource {
 public:
  PutBackSource(std::string head, std::unique_ptr<ByteSource> rest)
      : head_(std::move(head)), left_(head_), rest_(std::move(rest)) {}
  std::size_t read(std::span<char> room) override {
    if (left_.empty()) return rest_->read(room);
    const std::size_t count = std::min(room.size(), left_.size());
    std::copy_n(left_.begin(), count, room.begin());
    left_.remove_prefix(count);
    return count;
  }

 private:
  std::string head_;
  std::string_view left_;
  std::unique_ptr<ByteSource> rest_;
};

}  // namespace

std::unique_ptr<ByteSource> file_source(const std::filesystem::path& path) {
  return std::make_unique<FileSource>(path);
}

std::unique_ptr<ByteSource> text_source(std::string_view text) {
  return std::make_unique<TextSource>(text);
}

std::unique_ptr<ByteSource> plain_source(std::unique_ptr<ByteSource> source) {
  std::array<char, 2> head{};
  std::size_t count = source->read(head);
  if (count == 1) count += source->read(std::span(head).subspan(1));
  const bool is_gzip = count == 2 && head[0] == '\x1f' && head[1] == '\x8b';
  auto whole = std::make_unique<PutBackSource>(std::string(head.data(), count), std::move(source));
  if (!is_gzip) return whole;
  return unzipped(std::move(whole));
}

std::string whole_text(ByteSource& source, std::size_t most_bytes) {
  std::string text;
  std::array<char, 1 << 16> piece;
  while (const std::size_t got = source.read(piece)) {
    if (got > most_bytes - text.size())
      fail(ErrorKind::input, "more than {} bytes of text", most_bytes);
    text.append(piece.data(), got);
  }
  return text;
}

}  // namespace strata
