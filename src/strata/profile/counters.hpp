// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What a device counted beside the time, as columns of a profile: bytes, instructions, hits,
/// waiting.
namespace strata {

struct CounterColumn {
  std::string key;  ///< "dram_read_bytes"
  std::string unit;
  std::string about;

  bool operator==(const CounterColumn&) const = default;
};

struct AbsentColumn {
  std::string key;
  std::string reason;
};

/// One per column; nothing: it has no value there.
using CounterValues = std::vector<std::optional<double>>;

/// Which counters a profile has, or why it has none.
struct ProfileCounters {
  std::string preset = {};  ///< as it was asked for; empty: nobody asked
  std::string source = {};  ///< "GH100: 6 sessions, 15 runs"
  std::vector<CounterColumn> columns = {};
  std::vector<AbsentColumn> absent = {};
  std::string reason = {};             ///< why there are none although they were asked for
  std::string no_kernels_reason = {};  ///< the same of single kernels

  std::optional<std::size_t> place_of(std::string_view key) const;
};

/// A kernel inside a row that was counted on its own.
struct CountedKernel {
  std::string name;
  std::size_t row = 0;
  CounterValues values;
};

/// Whether values may be added up: bytes, FLOP, instructions; not shares and rates.
bool adds_up(std::string_view unit);

/// Values of several ranges as those of one: counts are added, shares and rates are averaged, each
/// weighted with the instructions executed in its range where those were counted, else alike.
class CounterSum {
 public:
  explicit CounterSum(std::span<const CounterColumn> columns);
  void add(const CounterValues& values);
  CounterValues values() const;

 private:
  struct Part {
    double sum = 0;
    double weight = 0;
    bool is_there = false;
  };
  std::vector<bool> adds_up_;
  std::optional<std::size_t> instructions_;
  std::vector<Part> parts_;
};

}  // namespace strata
