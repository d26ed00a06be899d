// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/result_file.hpp"

#include "strata/base/error.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <vector>

namespace strata {
namespace {

/// Reads a file from its beginning, a piece at a time: results may be larger than the memory.
template <class TakePiece>
int read_pieces(int descriptor, const TakePiece& take) {
  std::vector<char> buffer(1 << 20);
  off_t at = 0;
  for (;;) {
    const ssize_t count = ::pread(descriptor, buffer.data(), buffer.size(), at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) return 0;
    take(std::string_view(buffer.data(), static_cast<std::size_t>(count)), at);
    at += count;
  }
}

std::string piece_of(int descriptor, off_t at, std::size_t size) {
  std::string text(size, '\0');
  const ssize_t count = ::pread(descriptor, text.data(), size, at);
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return text;
}

constexpr std::size_t longest_row_begin = 64;

std::size_t longest_of(std::span<const ResultHead> heads) {
  std::size_t longest = 0;
  for (const ResultHead& head : heads) longest = std::max(longest, head.text.size());
  return longest;
}

/// −1 when there is none.
std::int64_t first_number_of(std::string_view line) {
  const std::size_t begin = std::min(line.find_first_of("0123456789"), line.size());
  std::int64_t number = -1;
  std::from_chars(line.data() + begin, line.data() + line.size(), number);
  return number;
}

}  // namespace

ResultFile::ResultFile(std::filesystem::path path, IfPresent if_present,
                       std::span<const ResultHead> heads,
                       const std::function<std::string(std::int64_t)>& begin_of_row,
                       bool may_lack_points)
    : output_(std::move(path)), may_lack_points_(may_lack_points) {
  if (output_.is_regular() && if_present == IfPresent::refuse) refuse_results_of(heads);
  if (output_.is_regular() && if_present == IfPresent::resume && holds_this_sweep(heads)) {
    continue_behind_last_row(heads[head_].text, begin_of_row);
    return;
  }
  output_.empty();
  append(heads.front().text);
}

// A file without a point has nothing to lose: one that is empty, or was begun by a call that
// failed.
void ResultFile::refuse_results_of(std::span<const ResultHead> heads) const {
  const std::string there = piece_of(output_.descriptor(), 0, longest_of(heads) + 1);
  const bool has_no_point = std::any_of(heads.begin(), heads.end(), [&](const ResultHead& head) {
    return head.text.starts_with(there);
  });
  if (has_no_point) return;
  fail(ErrorKind::usage,
       "{} is there already; give --resume to go on with it, or --force to replace it",
       output_.path().string());
}

bool ResultFile::holds_this_sweep(std::span<const ResultHead> heads) {
  const std::string there = piece_of(output_.descriptor(), 0, longest_of(heads));
  for (head_ = 0; head_ < heads.size(); ++head_) {
    if (there.starts_with(heads[head_].text) && has_row_end(heads[head_])) return true;
  }
  head_ = 0;
  // Killed before its first line was whole.
  for (const ResultHead& head : heads) {
    if (head.text.size() > there.size() && head.text.starts_with(there)) return false;
  }
  fail(ErrorKind::usage,
       "{} holds no results of this sweep by this version; nothing was changed (--force replaces "
       "it)",
       output_.path().string());
}

/// The first row says it for all; where it is not whole, there is nothing that could be lost.
bool ResultFile::has_row_end(const ResultHead& head) const {
  if (head.row_end.empty()) return true;
  std::string row;
  for (;;) {
    const std::string piece =
        piece_of(output_.descriptor(), static_cast<off_t>(head.text.size() + row.size()), 4096);
    if (piece.empty()) return true;
    const std::size_t end = piece.find('\n');
    row += piece.substr(0, end);
    if (end != std::string::npos) return row.ends_with(head.row_end);
  }
}

void ResultFile::continue_behind_last_row(
    std::string_view head, const std::function<std::string(std::int64_t)>& begin_of_row) {
  off_t end = 0;         // behind the last whole line
  off_t last_begin = 0;  // where that line begins
  std::int64_t lines = 0;
  const int reason = read_pieces(output_.descriptor(), [&](std::string_view piece, off_t at) {
    for (std::size_t i = piece.find('\n'); i != std::string_view::npos;
         i = piece.find('\n', i + 1)) {
      last_begin = end;
      end = at + static_cast<off_t>(i) + 1;
      ++lines;
    }
  });
  if (reason != 0) output_.fail_to_read(reason);
  const std::int64_t rows = lines - std::count(head.begin(), head.end(), '\n');
  if (rows > 0) {
    const std::string line = piece_of(output_.descriptor(), last_begin, longest_row_begin);
    const std::int64_t last = may_lack_points_ ? first_number_of(line) : rows - 1;
    if (last < rows - 1 || !line.starts_with(begin_of_row(last))) {
      fail(ErrorKind::input, "{}: line {} is not point {}: the file was changed; nothing was done",
           output_.path().string(), lines, last);
    }
    done_ = last + 1;
  }
  output_.cut_to(end);
  output_.note_written();
}

void ResultFile::append(std::string_view text) {
  output_.expect_still_there();
  while (!text.empty()) {
    const ssize_t count = ::write(output_.descriptor(), text.data(), text.size());
    if (count < 0 && errno != EINTR) output_.fail_to_write(errno);
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
  }
  output_.note_written();
}

}  // namespace strata
