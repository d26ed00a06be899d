// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/sweep/columns.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

/// Where the points of a sweep go, one after the other in the order of their numbers.
namespace strata {

/// Which sweep a file belongs to: it may only be continued by the same one.
struct SweepIdentity {
  std::string hash;     ///< of everything that decides on the results
  std::string version;  ///< of the program that computes them
  std::int64_t points = 0;
  bool leaves_points_out = false;  ///< a constraint does: rows need not be numbered one by one
};

class SweepSink {
 public:
  virtual ~SweepSink() = default;
  /// How many points are there already: the first that is still wanted.
  virtual std::int64_t done() const = 0;
  /// Takes the points from `first` on; what is there already is left out.
  virtual void write(std::int64_t first, std::span<const PointResult> results) = 0;
  /// After this nothing that was written is lost when the process is killed.
  virtual void flush() = 0;
};

/// What to do with a file that is there.
enum class IfPresent : std::uint8_t {
  refuse,   ///< an error (usage); nothing is touched
  resume,   ///< goes on behind its last whole point; an error when it is of another sweep
  replace,  ///< begins anew
};

enum class TextForm : std::uint8_t { csv, json_lines };

/// A file of lines. Its beginning says which sweep it is of. A last line that was cut off when a
/// process was killed is dropped on resume. Two processes cannot write the same file.
std::unique_ptr<SweepSink> text_file_sink(TextForm form, const std::filesystem::path& path,
                                          IfPresent if_present, const SweepColumns& columns,
                                          const SweepIdentity& identity);

/// The same lines handed to a function, without what sweep they are of: for standard output.
using WriteText = void (*)(std::string_view text);
std::unique_ptr<SweepSink> text_sink(TextForm form, WriteText write, const SweepColumns& columns);

/// A database; see docs/sweeps.md for its tables. Errors (environment) in a build without SQLite.
std::unique_ptr<SweepSink> database_sink(const std::filesystem::path& path, IfPresent if_present,
                                         const SweepColumns& columns,
                                         const SweepIdentity& identity);

}  // namespace strata
