// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/sweep/sink.hpp"
#include "strata/sweep/table.hpp"

namespace strata {

/// Collects points in memory.
class TableSink : public SweepSink {
 public:
  /// Errors (usage): more points than can be held.
  TableSink(const SweepColumns& columns, const SweepIdentity& identity);

  std::int64_t done() const override { return 0; }
  void write(std::int64_t first, std::span<const PointResult> results) override;
  void flush() override {}

  const SweepTable& table() const { return table_; }
  SweepTable& table() { return table_; }

 private:
  const SweepColumns& columns_;
  SweepTable table_;
  std::vector<SweepCell> cells_;
};

}  // namespace strata
