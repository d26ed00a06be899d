// SPDX-License-Identifier: Apache-2.0
#include "strata/base/file_identity.hpp"

#include "strata/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <vector>

namespace strata {
namespace {

constexpr std::int64_t most_hashed_bytes = std::int64_t{64} << 20;

// http://www.isthe.com/chongo/tech/comp/fnv
class Fnv {
 public:
  void add(const char* bytes, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i)
      value_ = (value_ ^ static_cast<unsigned char>(bytes[i])) * 0x100000001b3;
  }
  std::string text() const { return fmt::format("{:016x}", value_); }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace

std::optional<FileIdentity> file_identity(const std::filesystem::path& path) {
  std::error_code problem;
  if (!std::filesystem::is_regular_file(path, problem)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  FileIdentity found{.path = std::filesystem::absolute(path, problem).lexically_normal().string(),
                     .bytes = static_cast<std::int64_t>(std::filesystem::file_size(path, problem)),
                     .hash = {}};
  Fnv hash;
  std::vector<char> buffer(1 << 20);
  for (std::int64_t at = 0; at < most_hashed_bytes && file;) {
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    hash.add(buffer.data(), static_cast<std::size_t>(file.gcount()));
    at += file.gcount();
  }
  if (file.bad() || !file.is_open() || problem) return std::nullopt;
  found.hash = hash.text();
  return found;
}

std::string found_again(const std::string& word, const FileIdentity& file) {
  std::optional<FileIdentity> changed;
  for (const std::string& place : {word, file.path}) {
    const std::optional<FileIdentity> there = file_identity(place);
    if (there && there->has_content_of(file)) return place;
    if (there) changed = there;
  }
  if (changed) {
    fail(ErrorKind::input, "{} has changed: its hash is {} ({} bytes), it was {} ({} bytes)",
         changed->path, changed->hash, changed->bytes, file.hash, file.bytes);
  }
  fail(ErrorKind::input, "{}: no such file; it was {}, of {} bytes, with the hash {}", word,
       file.path, file.bytes, file.hash);
}

}  // namespace strata
