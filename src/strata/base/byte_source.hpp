// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

/// Bytes piece by piece: a trace of gigabytes is never in memory as text.
namespace strata {

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  /// Fills the beginning of `room`; how many bytes, 0 at the end. Errors say why no more come.
  virtual std::size_t read(std::span<char> room) = 0;
};

/// The file as it is. Errors (input) say why it cannot be read.
std::unique_ptr<ByteSource> file_source(const std::filesystem::path& path);

/// Text that outlives the source.
std::unique_ptr<ByteSource> text_source(std::string_view text);

/// What a gzip stream holds. Errors: the stream is damaged or cut (input), or this build has no
/// zlib (environment).
std::unique_ptr<ByteSource> unzipped(std::unique_ptr<ByteSource> source);

/// The source, unzipped when it begins like gzip.
std::unique_ptr<ByteSource> plain_source(std::unique_ptr<ByteSource> source);

/// Everything that the source has. Errors (input): more than `most_bytes`.
std::string whole_text(ByteSource& source, std::size_t most_bytes = std::size_t{64} << 20);

}  // namespace strata
