// SPDX-License-Identifier: Apache-2.0
#include "strata/roofline/counted_work.hpp"

#include <array>
#include <cmath>
#include <utility>

namespace strata {
namespace {

constexpr double another_algorithm = 1.5;  // factor between the counted and the defined FLOP
constexpr double most_counted = 1e18;      // the sum of several still fits
constexpr std::array<std::string_view, 3> algorithm_names = {"as_defined", "fewer_operations",
                                                             "more_operations"};

/// Bytes of a level: what was read and what was written.
struct LevelColumns {
  std::string_view level;
  std::string_view read;
  std::string_view written;
};
constexpr LevelColumns outermost = {"DRAM", "dram_read_bytes", "dram_write_bytes"};
constexpr LevelColumns inside[] = {{"L1", "l1_load_bytes", "l1_store_bytes"},
                                   {"L2", "l2_read_bytes", "l2_write_bytes"}};

struct CountedBytes {
  std::int64_t read = 0;
  std::int64_t written = 0;
};

std::optional<std::int64_t> count_of(const std::optional<double>& value) {
  if (!value || !(*value >= 0) || *value > most_counted) return std::nullopt;
  return std::llround(*value);
}

std::optional<CountedBytes> bytes_of(const LevelColumns& columns, const CounterLookup& value) {
  const auto read = count_of(value(columns.read));
  const auto written = count_of(value(columns.written));
  if (!read || !written) return std::nullopt;
  return CountedBytes{*read, *written};
}

bool uses_matrix_units(DType dtype) { return dtype != DType::fp32 && dtype != DType::fp64; }

void set_counted_flop(Work& work, DType dtype, const CounterLookup& value) {
  CountedArithmetic counted = counted_arithmetic(value);
  if (!counted.has_vector || (uses_matrix_units(dtype) && !counted.has_matrix)) return;
  work.counts_flop = true;
  work.is_flop_at_most = counted.is_upper_bound;
  work.does_fewer_operations = false;
  if (counted.is_upper_bound && flop_of(counted.parts) >= work.flop) {
    // The definition is not contradicted, as addresses are computed, too, but by what is exact.
    std::erase_if(counted.parts, [](const TypedFlop& part) {
      return part.dtype == DType::fp32 && !part.is_matrix;
    });
    if (flop_of(counted.parts) <= work.flop) return;
  }
  work.flop = flop_of(counted.parts);
  work.arithmetic = std::move(counted.parts);
  // fp16 on the lanes is counted in instructions, not in FLOP.
  if (work.flop > 0 || value("fp16_instructions").value_or(0) > 0) return;
  work.zero_flop_launches = work.launches;
  work.zero_flop_s = work.time_s;
}

}  // namespace

std::optional<Work> counted_work(const Work& defined, DType dtype, const CounterLookup& value) {
  const auto outer = bytes_of(outermost, value);
  if (!outer) return std::nullopt;
  Work work = defined;
  work.counts_bytes = true;
  work.read_bytes = outer->read;
  work.bytes = work.most_bytes = outer->read + outer->written;
  work.levels.clear();
  for (const LevelColumns& level : inside) {
    if (const auto bytes = bytes_of(level, value))
      work.levels.push_back({std::string(level.level), bytes->read + bytes->written});
  }
  set_counted_flop(work, dtype, value);
  return work;
}

std::string_view name_of(Algorithm algorithm) {
  return algorithm_names[static_cast<std::size_t>(algorithm)];
}

std::optional<double> counted_over_defined(const RooflineRow& row) {
  if (!row.definition || !row.work.counts_flop || row.product_flop == 0) return std::nullopt;
  return static_cast<double>(row.counted_product_flop) / static_cast<double>(row.product_flop);
}

Algorithm algorithm_of(const RooflineRow& row) {
  const auto ratio = counted_over_defined(row);
  if (!ratio) return Algorithm::as_defined;
  if (*ratio < 1 / another_algorithm) return Algorithm::fewer_operations;
  return *ratio > another_algorithm ? Algorithm::more_operations : Algorithm::as_defined;
}

}  // namespace strata
