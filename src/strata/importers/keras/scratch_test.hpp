// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/error.hpp"
#include "strata/base/temporary_folder_test.hpp"
#include "strata/importers/keras/keras.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

namespace strata::keras {

inline std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

/// What reading a file complains about, with FILE for its name.
inline std::string complaint_about(const std::filesystem::path& path) {
  try {
    read_keras(path);
  } catch (const Error& error) {
    std::string message = error.what();
    const std::size_t at = message.find(path.string());
    if (at != std::string::npos) message.replace(at, path.string().size(), "FILE");
    return fmt::format("{}: {}", name_of(error.kind()), message);
  }
  return "nothing";
}

/// Cuts the file off and flips bits of its first bytes: it is read or refused, and nobody else is
/// to blame.
inline void expect_damage_is_survived(const std::filesystem::path& path, std::size_t first_bytes) {
  const std::string whole = bytes_of(path);
  std::mt19937 random(1);
  for (int i = 0; i < 120; ++i) {
    std::string damaged = whole;
    if (i % 3 == 0) {
      damaged.resize(8 + random() % (whole.size() - 8));
    } else {
      const std::size_t place = 8 + random() % (std::min(whole.size(), first_bytes) - 8);
      damaged[place] ^= static_cast<char>(1 << (random() % 8));
    }
    write_bytes(path, damaged);
    const std::string message = complaint_about(path);
    EXPECT_TRUE(message == "nothing" || message.starts_with("input: FILE: ") ||
                message.starts_with("unsupported: FILE: "))
        << message;
  }
}

}  // namespace strata::keras
