// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/sweep/answers_best.hpp"
#include "strata/sweep/answers_knee.hpp"
#include "strata/sweep/answers_pareto.hpp"
#include "strata/sweep/answers_sensitivity.hpp"
#include "strata/sweep/answers_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

namespace strata {
namespace {

SweepColumn numbers(std::string name, std::vector<double> cells, bool is_axis = false) {
  return {.name = std::move(name), .is_axis = is_axis, .numbers = std::move(cells), .texts = {}};
}

SweepColumn texts(std::string name, std::vector<std::string> cells, bool is_axis = true) {
  return {.name = std::move(name),
          .is_number = false,
          .is_axis = is_axis,
          .numbers = {},
          .texts = std::move(cells)};
}

SweepTable table_of(std::vector<SweepColumn> columns) {
  const SweepColumn& first = columns.front();
  const std::size_t rows = first.is_number ? first.numbers.size() : first.texts.size();
  return {.identity = {}, .columns = std::move(columns), .row_count = rows};
}

// Two networks at four capacities; the fourth point of the first one failed.
SweepTable small_table() {
  return table_of({texts("model", {"a", "a", "a", "a", "b", "b", "b", "b"}),
                   numbers("capacity_bytes", {1, 2, 4, 8, 1, 2, 4, 8}, true),
                   numbers("time_s", {10, 6, 5.9, no_number, 4, 3, 2, 1}),
                   numbers("area_mm2", {100, 200, 400, 800, 100, 200, 400, 800})});
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "no error";
}

TEST(Answers, derived_columns_build_on_each_other) {
  SweepTable table = small_table();
  add_derived_column(table, "cost = area_mm2 * 2", "--column");
  add_derived_column(table, "worth=time_s*cost", "--column");
  EXPECT_EQ(table.columns.back().numbers[1], 6 * 400);
  EXPECT_TRUE(std::isnan(table.columns.back().numbers[3])) << "a failed point has none";
  EXPECT_EQ(table.columns[4].numbers[3], 1600) << "what it needs is there";
  EXPECT_NE(message_of([&] { add_derived_column(table, "cost=1", "--column"); }).find("already"),
            std::string::npos);
}

TEST(Answers, rows_are_chosen_by_a_constraint) {
  const SweepTable kept = rows_where(small_table(), "time_s >= 3 && model == 'b'", "--where");
  EXPECT_EQ(kept.row_count, 2U);
  EXPECT_EQ(kept.columns[2].numbers, (std::vector<double>{4, 3}));
  EXPECT_EQ(kept.columns[0].texts, (std::vector<std::string>{"b", "b"}));
  const SweepTable none = rows_where(small_table(), "1 / (time_s - time_s)", "--where");
  EXPECT_EQ(none.row_count, 0U);
  EXPECT_EQ(rows_undecided(small_table(), "1 / (time_s - time_s)", "--where"),
            small_table().row_count);
  EXPECT_EQ(rows_where(small_table(), "time_s != 10", "--where").row_count, 6U)
      << "a failed point satisfies nothing";
}

int below(std::mt19937& random, int end) {
  return static_cast<int>(random() % static_cast<unsigned>(end));
}

// The definition, by comparing all with all.
std::vector<std::size_t> front_by_definition(const std::vector<double>& points,
                                             std::size_t dimension) {
  std::vector<std::size_t> front;
  const std::size_t count = points.size() / dimension;
  for (std::size_t a = 0; a < count; ++a) {
    bool is_dominated = false;
    for (std::size_t b = 0; b < count && !is_dominated; ++b) {
      bool is_no_worse = true;
      bool is_better = false;
      for (std::size_t goal = 0; goal < dimension; ++goal) {
        const double ours = points[a * dimension + goal];
        const double theirs = points[b * dimension + goal];
        is_no_worse = is_no_worse && theirs <= ours;
        is_better = is_better || theirs < ours;
      }
      is_dominated = is_no_worse && is_better;
    }
    if (!is_dominated) front.push_back(a);
  }
  return front;
}

TEST(Answers, the_pareto_front_is_what_its_definition_says) {
  std::mt19937 random(11);
  for (int round = 0; round < 600; ++round) {
    const std::size_t dimension = 1 + static_cast<std::size_t>(round) % 6;
    const std::size_t count = random() % 60;
    const int values = 2 + below(random, 12);  // few of them: many points are equal in a goal
    std::vector<double> points(count * dimension);
    for (double& number : points) number = below(random, values);
    std::vector<std::size_t> front = pareto_front(points, dimension);
    const auto first_goals_rise = [&](std::size_t a, std::size_t b) {
      return points[a * dimension] < points[b * dimension];
    };
    EXPECT_TRUE(std::is_sorted(front.begin(), front.end(), first_goals_rise));
    std::sort(front.begin(), front.end());
    ASSERT_EQ(front, front_by_definition(points, dimension)) << "dimension " << dimension;
  }
}

TEST(Answers, fronts_are_of_one_network_each) {
  const SweepTable table = small_table();
  const auto goals = read_goals("time, capacity", table, "--pareto");
  const std::vector<ParetoFront> fronts = pareto_fronts(table, goals);
  ASSERT_EQ(fronts.size(), 2U);
  EXPECT_EQ(fronts[0].rows, (std::vector<std::size_t>{2, 1, 0}));
  EXPECT_EQ(fronts[0].considered, 3U) << "the failed point has no time";
  EXPECT_EQ(fronts[1].rows, (std::vector<std::size_t>{7, 6, 5, 4}));
  const auto largest = read_goals("max:capacity,-area", table, "--pareto");
  EXPECT_EQ(pareto_fronts(table, largest)[1].rows, (std::vector<std::size_t>{7}));
}

TEST(Answers, goals_that_make_no_sense_are_refused) {
  const SweepTable table = small_table();
  const auto message = [&](std::string_view goals) {
    return message_of([&] { read_goals(goals, table, "--pareto"); });
  };
  EXPECT_NE(message("tim_s").find("--pareto: no column 'tim_s'; did you mean time_s?"),
            std::string::npos);
  EXPECT_NE(message("model").find("holds text"), std::string::npos);
  EXPECT_NE(message("time,time_s").find("twice"), std::string::npos);
  EXPECT_NE(message("time,").find("expects columns"), std::string::npos);
  EXPECT_NE(message("max:").find("expects columns"), std::string::npos);
}

TEST(Answers, the_knee_is_where_doubling_hardly_pays) {
  const SweepTable table = small_table();
  const std::vector<Knee> knees =
      find_knees(table, read_knee_question("capacity", table, "--knee"));
  ASSERT_EQ(knees.size(), 2U);
  ASSERT_TRUE(knees[0].value.has_value());
  EXPECT_EQ(*knees[0].value, 2);
  EXPECT_NEAR(knees[0].gain, 1 - 5.9 / 6, 1e-12);
  EXPECT_EQ(knees[0].row, 1U);
  EXPECT_FALSE(knees[1].value.has_value()) << "network b gets faster to the end";
  EXPECT_EQ(knees[1].judged, std::optional<double>(4));
  EXPECT_NEAR(knees[1].gain, 0.5, 1e-12);
  const Knee all = find_knees(table, read_knee_question("capacity=60%", table, "--knee"))[1];
  EXPECT_EQ(read_knee_question("60%", table, "--knee").least_gain, 0.6);
  EXPECT_EQ(read_knee_question("60%", table, "--knee").column,
            read_knee_question("capacity", table, "--knee").column);
  EXPECT_EQ(all.value, std::optional<double>(1));
}

TEST(Answers, a_flat_stretch_before_a_fall_is_no_knee) {
  const SweepTable table = table_of(
      {numbers("capacity_bytes", {10, 20, 40, 80, 160}, true), numbers("time_s", {9, 9, 5, 5, 5})});
  const auto knees = find_knees(table, read_knee_question("capacity=5 %", table, "--knee"));
  EXPECT_EQ(knees.at(0).value, std::optional<double>(40));
}

// The definition: try every capacity and every larger one.
std::optional<double> knee_by_definition(const std::vector<double>& capacities,
                                         const std::vector<double>& times, double least_gain) {
  for (std::size_t at = 0; at < capacities.size(); ++at) {
    bool is_knee = true;
    bool is_judged = false;
    for (std::size_t from = at; from < capacities.size(); ++from) {
      std::size_t twice = from;
      while (twice < capacities.size() && capacities[twice] < 2 * capacities[from]) ++twice;
      if (twice == capacities.size()) continue;
      is_judged = is_judged || from == at;
      is_knee = is_knee && 1 - times[twice] / times[from] < least_gain;
    }
    if (is_knee && is_judged) return capacities[at];
  }
  return std::nullopt;
}

TEST(Answers, knees_are_what_their_definition_says) {
  std::mt19937 random(3);
  int found = 0;
  for (int round = 0; round < 500; ++round) {
    std::vector<double> capacities;
    std::vector<double> times;
    double time = 100;
    for (double capacity = 1 + below(random, 5); capacities.size() < 1 + random() % 30;
         capacity += 1 + below(random, 20)) {
      capacities.push_back(capacity);
      times.push_back(time);
      if (random() % 3 == 0) time *= 0.8 + 0.002 * below(random, 100);
    }
    SweepTable table =
        table_of({numbers("capacity_bytes", capacities, true), numbers("time_s", times)});
    const Knee knee = find_knees(table, {.column = 0, .least_gain = 0.1}).at(0);
    ASSERT_EQ(knee.value, knee_by_definition(capacities, times, 0.1));
    found += knee.value ? 1 : 0;
  }
  EXPECT_GT(found, 50);
  EXPECT_LT(found, 490);
}

TEST(Answers, knee_questions_are_checked) {
  const SweepTable table = small_table();
  const auto message = [&](std::string_view question) {
    return message_of([&] { read_knee_question(question, table, "--knee"); });
  };
  EXPECT_NE(message("capacity=0").find("percentage"), std::string::npos);
  EXPECT_NE(message("capacity=x%").find("percentage"), std::string::npos);
  EXPECT_NE(message("capacity=nan").find("percentage"), std::string::npos);
  EXPECT_NE(message("model").find("no axis of numbers"), std::string::npos);
  EXPECT_NE(message("time").find("no axis of numbers"), std::string::npos);
  EXPECT_NE(message("cap").find("no column"), std::string::npos);
}

TEST(Answers, the_best_point_satisfies_the_constraint) {
  const auto answers = best_under(small_table(), "area_mm2 <= 400", "--best-under");
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0].points, 3U);
  EXPECT_EQ(answers[0].satisfying, 3U);
  EXPECT_EQ(answers[0].row, std::optional<std::size_t>(2));
  EXPECT_EQ(answers[1].row, std::optional<std::size_t>(6));
  EXPECT_TRUE(answers[1].missed.empty());
}

TEST(Answers, samples_per_second_decide_where_batches_differ) {
  const SweepTable table = table_of({numbers("batch", {1, 64}, true), numbers("time_s", {1, 16}),
                                     numbers("samples_per_s", {1, 4})});
  EXPECT_EQ(best_under(table, "batch > 0", "--best-under").at(0).row,
            std::optional<std::size_t>(1));
}

// One network on two GPUs and a processor, which has only a limit; the last point is too large.
SweepTable expected_table() {
  return table_of({texts("machine", {"gpu", "gpu", "gpu", "cpu", "gpu"}),
                   numbers("batch", {8, 32, 64, 8, 128}, true),
                   numbers("samples", {8, 32, 64, 8, 128}),
                   numbers("expected_s", {0.08, 0.16, 0.32, no_number, 0.5}),
                   numbers("time_s", {0.01, 0.05, 0.2, 0.001, 0.3}),
                   numbers("samples_per_s", {100, 200, 200, 8000, 256}),
                   numbers("memory_bytes", {10, 40, 80, no_number, 160}),
                   numbers("fits", {1, 1, 1, no_number, 0})});
}

TEST(Answers, what_does_not_fit_or_has_only_a_limit_is_not_recommended) {
  const BestUnder best = best_under(expected_table(), "batch > 0", "--best-under").at(0);
  EXPECT_EQ(best.row, std::optional<std::size_t>(1)) << "the first of the two with 200 per second";
  EXPECT_EQ(best.points, 3U);
  EXPECT_EQ(best.satisfying, 3U);
  EXPECT_EQ(best.out_of_memory, 1U);
  EXPECT_EQ(best.limit_alone, 1U);
  const BestUnder none = best_under(expected_table(), "batch > 100", "--best-under").at(0);
  EXPECT_EQ(none.satisfying, 0U) << "the only one does not fit";
}

TEST(Answers, a_front_is_per_sample_where_samples_vary) {
  const SweepTable table = expected_table();
  const auto goals = read_goals("expected,memory", table, "--pareto");
  EXPECT_TRUE(goals[0].is_per_sample);
  EXPECT_FALSE(goals[1].is_per_sample);
  const ParetoFront front = pareto_fronts(table, goals).at(0);
  // Per sample 10, 5, 5 ms: the third is no faster than the second and takes more memory.
  EXPECT_EQ(front.rows, (std::vector<std::size_t>{1, 0}));
  EXPECT_EQ(front.considered, 3U);
  EXPECT_EQ(front.out_of_memory, 1U);
  const auto of_one_batch = read_goals("time_s", small_table(), "--pareto");
  EXPECT_FALSE(of_one_batch[0].is_per_sample);
  // The limit of the processor is no speed that one can have.
  const auto speed = read_goals("-samples_per_s", table, "--pareto");
  EXPECT_EQ(pareto_fronts(table, speed).at(0).rows, (std::vector<std::size_t>{1, 2}));
}

TEST(Answers, usual_goals_are_expected_where_capacities_do_not_vary) {
  SweepTable table = expected_table();
  const auto names_of = [&](const std::vector<Goal>& goals) {
    std::vector<std::string> names;
    for (const Goal& goal : goals) names.push_back(table.columns[goal.column].name);
    return names;
  };
  EXPECT_EQ(names_of(read_goals("auto", table, "--pareto")),
            (std::vector<std::string>{"expected_s", "memory_bytes"}));
  table.columns.push_back(numbers("capacity_bytes", {1, 2, 3, 4, 5}, /*is_axis=*/true));
  EXPECT_EQ(names_of(read_goals("auto", table, "--pareto")),
            (std::vector<std::string>{"time_s", "capacity_bytes"}));
}

TEST(Answers, a_knee_is_at_a_point_that_fits) {
  const SweepTable table =
      table_of({numbers("batch", {8, 16, 32}, true), numbers("samples_per_s", {100, 110, 111}),
                numbers("fits", {1, 1, 0})});
  const auto knees = find_knees(table, read_knee_question("batch=20%", table, "--knee"));
  ASSERT_EQ(knees.size(), 1U);
  EXPECT_EQ(knees[0].judged, 8) << "twice 16 is out of memory";
}

TEST(Answers, without_a_point_the_nearest_is_named) {
  const auto near = best_under(small_table(), "area_mm2 < 110 && time_s < 5.5", "--best-under");
  EXPECT_EQ(near[0].satisfying, 0U);
  // Misses: row 0 (10 − 5.5)/10 = 0.45, row 1 max(0.45, 0.083) = 0.45 and faster, row 2 0.725.
  EXPECT_EQ(near[0].row, std::optional<std::size_t>(1));
  ASSERT_EQ(near[0].missed.size(), 2U);
  EXPECT_EQ(near[0].missed[0].text, "area_mm2 < 110");
  EXPECT_EQ(near[0].missed[0].left, 200);
  EXPECT_EQ(near[0].missed[0].right, 110);
  EXPECT_NEAR(near[0].missed[0].beyond, 0.45, 1e-12);
  EXPECT_EQ(near[1].satisfying, 1U);
  const auto any = best_under(small_table(), "area_mm2 < 1 || time_s < 0", "--best-under");
  EXPECT_EQ(any[0].row, std::nullopt) << "|| has no distance";
  const auto other = best_under(small_table(), "model == 'c' && time_s < 100", "--best-under");
  EXPECT_EQ(other[0].row, std::nullopt) << "a name is not nearly another";
}

// time = max(flop / throughput, bytes / bandwidth); the capacity takes bytes away.
PointSpeed made_up_speed(const OperatingPoint& point) {
  const auto batch = static_cast<double>(point.batch);
  const double bytes = 1000 * batch - static_cast<double>(point.hardware.capacity_bytes);
  const double time_s =
      std::max(100 * batch / point.hardware.dense_flop_per_s, bytes / point.hardware.bytes_per_s);
  return {.time_s = time_s, .samples_per_s = batch / time_s};
}

TEST(Answers, sensitivity_says_what_a_tenth_more_buys) {
  OperatingPoint point{.hardware = {.capacity_bytes = 1000,
                                    .bytes_per_s = 100,
                                    .dense_flop_per_s = 1e6,
                                    .other_flop_per_s = 1e6},
                       .batch = 10};
  const SensitivityAnswer answer = sensitivity_at(point, made_up_speed);
  EXPECT_DOUBLE_EQ(answer.speed.time_s, 90);
  ASSERT_EQ(answer.resources.size(), 4U);
  EXPECT_EQ(answer.resources[0].to, 1100);
  EXPECT_NEAR(answer.resources[0].gained, 9000.0 / 8900 - 1, 1e-12);
  EXPECT_NEAR(answer.resources[1].gained, 0.1, 1e-12) << "it is bound by bandwidth";
  EXPECT_NEAR(answer.resources[1].returns, 1, 1e-12);
  EXPECT_NEAR(answer.resources[2].gained, 0, 1e-12);
  EXPECT_EQ(answer.resources[3].to, 11);
  EXPECT_NEAR(answer.resources[3].gained, (11 / 100.0) / (10 / 90.0) - 1, 1e-12);
  point.batch = 0;
  EXPECT_EQ(sensitivity_at(point,
                           [](const auto&) {
                             return PointSpeed{1, 1};
                           })
                .resources.size(),
            3U);
}

TEST(Answers, a_resource_that_cannot_grow_is_a_reason) {
  const OperatingPoint point{.hardware = {.capacity_bytes = 1000,
                                          .bytes_per_s = 1,
                                          .dense_flop_per_s = 1,
                                          .other_flop_per_s = 1},
                             .batch = 1};
  const SensitivityAnswer answer = sensitivity_at(point, [](const OperatingPoint& asked) {
    if (asked.batch > 1) fail(ErrorKind::input, "batch is fixed");
    return PointSpeed{1, 1};
  });
  EXPECT_EQ(answer.resources[3].error, "batch is fixed");
  EXPECT_EQ(answer.resources[0].error, "");
}

}  // namespace
}  // namespace strata
