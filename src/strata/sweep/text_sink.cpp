// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/result_file.hpp"
#include "strata/sweep/row_text.hpp"
#include "strata/sweep/sink.hpp"

namespace strata {
namespace {

constexpr std::size_t most_pending_bytes = 1 << 20;

/// Makes lines of points and keeps them until they are worth a call of the system.
class RowLines {
 public:
  RowLines(TextForm form, const SweepColumns& columns, IdentityPlace place)
      : form_(form), columns_(columns), place_(place) {}

  void add(std::int64_t point, const PointResult& result) {
    if (result.is_left_out) return;
    columns_.fill(cells_, point, result);
    append_row(pending_, form_, columns_, cells_, place_);
  }
  std::string& pending() { return pending_; }

 private:
  TextForm form_;
  const SweepColumns& columns_;
  IdentityPlace place_;
  std::vector<SweepCell> cells_;
  std::string pending_;
};

class TextFileSink : public SweepSink {
 public:
  TextFileSink(TextForm form, const std::filesystem::path& path, IfPresent if_present,
               const SweepColumns& columns, const SweepIdentity& identity)
      : file_(
            path, if_present,
            {.now = head_text(form, columns, identity, IdentityPlace::last_column),
             .before = head_text(form, columns, identity, IdentityPlace::first_line)},
            [form](std::int64_t point) { return row_begin(form, point); },
            identity.leaves_points_out),
        lines_(form, columns,
               file_.has_earlier_head() ? IdentityPlace::first_line : IdentityPlace::last_column) {}

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
      : lines_(form, columns, IdentityPlace::none), write_(take) {
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
