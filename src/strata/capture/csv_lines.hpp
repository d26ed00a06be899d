// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/byte_source.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace strata {

/// The rows of a CSV (RFC 4180), one at a time.
class CsvLines {
 public:
  explicit CsvLines(ByteSource& source) : source_(source), chunk_(std::size_t{64} << 10) {}

  /// The cells of the next row; false at the end. Errors (input): a row that is too long, a quote
  /// that does not end.
  bool next(std::vector<std::string>& cells);

  std::size_t line() const { return line_; }  ///< of the row that next() gave, from 1

 private:
  bool get(char& c);

  ByteSource& source_;
  std::vector<char> chunk_;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  std::size_t line_ = 0;
  std::size_t lines_read_ = 0;
};

}  // namespace strata
