// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// One parameter of a sweep and the values that it takes. Values of a range are made when they are
/// asked for, so that a range of a billion values takes no memory.
namespace strata {

/// What the values of an axis are; it decides which units they may have.
enum class AxisKind : std::uint8_t {
  bytes,
  bytes_per_s,
  flop_per_s,
  seconds,
  count,
  level,  ///< a whole number that may be 0
  text
};

inline bool is_whole(AxisKind kind) {
  return kind == AxisKind::bytes || kind == AxisKind::count || kind == AxisKind::level;
}

struct AxisValue {
  std::string text;          ///< in base units: "25165824", "616000000000", "bf16"
  double number = 0;         ///< the same in base units; 0 for texts
  std::int64_t integer = 0;  ///< the same where the kind is whole
};

class Axis {
 public:
  /// Reads "24MiB:1000MiB:2MiB" (from, to, step: the end is included when it is met), "8:256:x2"
  /// (times 2), or a list of values and ranges: "24MiB,64MiB,128MiB:512MiB:x2". Errors (usage)
  /// begin with `what` ("--capacity") and say what is wrong: an empty or reversed range, a step
  /// that goes nowhere, a unit that is missing or wrong, zero, a value that comes twice.
  Axis(std::string name, AxisKind kind, std::string_view text, std::string_view what);
  /// Texts as they are; they may hold commas.
  Axis(std::string name, const std::vector<std::string>& texts, std::string_view what);

  const std::string& name() const { return name_; }
  AxisKind kind() const { return kind_; }
  std::int64_t size() const { return size_; }
  AxisValue at(std::int64_t index) const;
  /// As set_option and set_field read it: "25165824B", "616000000000B/s", "bf16".
  std::string setting(const AxisValue& value) const;

  /// The same values however they were written: for the identity of a sweep.
  std::string canonical() const;

  /// The heading of its column: the name with '_' for '-', and the unit: "capacity_bytes".
  std::string column() const;

 private:
  /// Values first, first + step, …; one value when the count is 1.
  struct Run {
    std::int64_t count = 1;
    double first = 0;
    double step = 0;
    std::int64_t first_whole = 0;
    std::int64_t step_whole = 0;
    std::string text;  // of an axis of texts
  };
  void add_item(std::string_view item, std::string_view what);
  void add_linear(double first, double last, double step, std::string_view item,
                  std::string_view what);
  void add_geometric(double first, double last, double factor, std::string_view item,
                     std::string_view what);
  void add_number(double number);
  double number_of(std::string_view text, std::string_view what) const;
  void count_values(std::string_view what);
  void expect_no_value_twice(std::string_view what) const;

  std::string name_;
  AxisKind kind_;
  std::vector<Run> runs_;
  std::vector<std::int64_t> first_of_;  // index of each run's first value
  std::int64_t size_ = 0;
};

/// Names longer than that are nobody's; texts longer than that are a file given by mistake.
inline constexpr std::size_t longest_axis_text = 1 << 20;
/// More values than that cannot be meant, and a factor barely above 1 makes no end of them.
inline constexpr std::int64_t most_values_of_axis = 1'000'000'000;
inline constexpr std::int64_t most_listed_values = 1'000'000;

}  // namespace strata
