// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/formula_worker.hpp"

#include "strata/base/error.hpp"

#include <gtest/gtest.h>

#include <set>

namespace strata {
namespace {

/// Time grows with the number of the point; remembers what it computed.
class CountingWorker : public PointWorker {
 public:
  explicit CountingWorker(std::set<std::int64_t>& computed) : computed_(computed) {}
  PointResult at(std::int64_t point) override {
    computed_.insert(point);
    PointResult result;
    result.totals.time_s = static_cast<double>(point);
    result.samples = 1;
    if (point == 5) result.error = "it cannot be";
    return result;
  }

 private:
  std::set<std::int64_t>& computed_;
};

// Ten capacities, 1 to 10 MB: point n has n + 1 MB.
Grid ten_capacities() {
  return Grid({Axis("capacity", AxisKind::bytes, "1MiB:10MiB:1MiB", "--capacity")});
}

struct Outcome {
  std::set<std::int64_t> computed;
  std::set<std::int64_t> kept;
};

Outcome run(const std::vector<std::string>& where, const std::vector<std::string>& derived = {}) {
  const Grid grid = ten_capacities();
  Outcome outcome;
  const auto worker = constrained_worker(std::make_unique<CountingWorker>(outcome.computed),
                                         std::make_unique<SweepColumns>(grid, derived), where);
  for (std::int64_t point = 0; point < grid.size(); ++point) {
    if (!worker->at(point).is_left_out) outcome.kept.insert(point);
  }
  return outcome;
}

using Points = std::set<std::int64_t>;

TEST(FormulaWorker, what_the_axes_exclude_is_not_computed) {
  const Outcome outcome = run({"capacity <= 3MiB"});
  EXPECT_EQ(outcome.computed, (Points{0, 1, 2}));
  EXPECT_EQ(outcome.kept, (Points{0, 1, 2}));
}

TEST(FormulaWorker, area_follows_from_the_capacity) {
  // 0.021 µm² per bit at 5 nm: 4 MB take 0.70464 mm², 5 MB 0.88.
  const Outcome outcome = run({"area_mm2 < 0.8"});
  EXPECT_EQ(outcome.computed, (Points{0, 1, 2, 3}));
}

TEST(FormulaWorker, a_demand_on_results_is_asked_afterwards) {
  const Outcome outcome = run({"capacity > 2MiB && time_s < 7", "time_s != 3"});
  EXPECT_EQ(outcome.computed, (Points{2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(outcome.kept, (Points{2, 4, 6})) << "point 5 failed, so it has no time";
}

TEST(FormulaWorker, derived_columns_are_known_when_what_they_need_is) {
  const std::vector<std::string> derived = {"size=capacity/1MiB", "late=size*time_s"};
  EXPECT_EQ(run({"size > 8"}, derived).computed, (Points{8, 9}));
  const Outcome outcome = run({"late > 60"}, derived);  // (n + 1) n > 60
  EXPECT_EQ(outcome.computed.size(), 10U);
  EXPECT_EQ(outcome.kept, (Points{8, 9}));
}

TEST(FormulaWorker, derived_columns_are_cells) {
  const Grid grid = ten_capacities();
  const std::vector<std::string> derived = {"size=capacity/1MiB", "none=1/(size-1)"};
  const SweepColumns columns(grid, derived);
  std::vector<SweepCell> cells;
  columns.fill(cells, 0, PointResult{});
  ASSERT_EQ(columns.heads().back().name, "none");
  EXPECT_EQ(cells[cells.size() - 2].real, 1);
  EXPECT_TRUE(cells.back().is_empty) << "1/0 cannot be written";
  columns.fill(cells, 2, PointResult{});
  EXPECT_EQ(cells.back().real, 0.5);
  EXPECT_FALSE(cells.back().is_empty);
}

TEST(FormulaWorker, mistakes_are_found_before_anything_runs) {
  const Grid grid = ten_capacities();
  const SweepColumns columns(grid);
  const std::vector<std::string> where = {"capacity < 3MiB &&"};
  EXPECT_THROW(PointConstraints(where, columns), Error);
  const std::vector<std::string> derived = {"x=y"};
  EXPECT_THROW(SweepColumns(grid, derived), Error);
}

}  // namespace
}  // namespace strata
