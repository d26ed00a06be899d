// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

namespace strata::onnx {

/// A file as memory. Pages come in when they are touched, so what is passed over costs nothing.
class MappedFile {
 public:
  /// Errors (input) when the file cannot be opened, is empty, or is larger than a protobuf can be.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string_view bytes() const { return {data_, size_}; }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace strata::onnx
