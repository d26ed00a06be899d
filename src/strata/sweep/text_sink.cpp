// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/result_file.hpp"
#include "strata/sweep/row_text.hpp"
#include "strata/sweep/sink.hpp"

#include <array>
#include <utility>

namespace strata {
namespace {

constexpr std::size_t most_pending_bytes = 1 << 20;

std::string without_newline(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

/// Makes lines of points and keeps them until they are worth a call of the system.
class RowLines {
 public:
  RowLines(TextForm form, const SweepColumns& columns, std::string end)
      : form_(form), columns_(columns), end_(std::move(end)) {}

  void add(std::int64_t point, const PointResult& result) {
    if (result.is_left_out) return;
    columns_.fill(cells_, point, result);
    append_row(pending_, form_, columns_, cells_, end_);
  }
  std::string& pending() { return pending_; }

 private:
  TextForm form_;
  const SweepColumns& columns_;
  std::string end_;
  std::vector<SweepCell> cells_;
  std::string pending_;
};

/// How files are begun, and how earlier versions began them.
constexpr std::array places = {IdentityPlace::cells, IdentityPlace::last_column,
                               IdentityPlace::first_line};

std::vector<ResultHead> heads_of(TextForm form, const SweepColumns& columns,
                                 const SweepIdentity& identity) {
  std::vector<ResultHead> heads;
  for (const IdentityPlace place : places) {
    const bool is_in_rows = form == TextForm::csv && place == IdentityPlace::cells;
    heads.push_back(
        {.text = head_text(form, columns, identity, place),
         .row_end = is_in_rows ? without_newline(row_end(columns, identity, place)) : ""});
  }
  return heads;
}

class TextFileSink : public SweepSink {
 public:
  TextFileSink(TextForm form, const std::filesystem::path& path, IfPresent if_present,
               const SweepColumns& columns, const SweepIdentity& identity)
      : file_(
            path, if_present, heads_of(form, columns, identity),
            [form](std::int64_t point) { return row_begin(form, point); },
            identity.leaves_points_out),
        lines_(form, columns, row_end(columns, identity, places.at(file_.head()))) {}

  std::int64_t done() const override { return file_.done(); }

  void write(std::int64_t first, std::span<const PointResult> results) override {
    for (const PointResult& result : results) {
      if (first >= file_.done()) lines_.add(first, result);
      ++first;
    }
    if (lines_.pending().size() > most_pending_bytes) flush();
  }

  void flush() override {
    file_.append(lines_.pending());
    lines_.pending().clear();
  }

 private:
  ResultFile file_;
  RowLines lines_;
};

class TextSink : public SweepSink {
 public:
  TextSink(TextForm form, WriteText take, const SweepColumns& columns)
      : lines_(form, columns, "\n"), write_(take) {
    lines_.pending() = head_text(form, columns, {}, IdentityPlace::none);
  }

  std::int64_t done() const override { return 0; }

  void write(std::int64_t first, std::span<const PointResult> results) override {
    for (const PointResult& result : results) lines_.add(first++, result);
    if (lines_.pending().size() > most_pending_bytes) flush();
  }

  void flush() override {
    write_(lines_.pending());
    lines_.pending().clear();
  }

 private:
  RowLines lines_;
  WriteText write_;
};

}  // namespace

std::unique_ptr<SweepSink> text_file_sink(TextForm form, const std::filesystem::path& path,
                                          IfPresent if_present, const SweepColumns& columns,
                                          const SweepIdentity& identity) {
  return std::make_unique<TextFileSink>(form, path, if_present, columns, identity);
}

std::unique_ptr<SweepSink> text_sink(TextForm form, WriteText write, const SweepColumns& columns) {
  return std::make_unique<TextSink>(form, write, columns);
}

}  // namespace strata
