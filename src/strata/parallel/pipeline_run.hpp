// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/parallel/rank_stream.hpp"
#include "strata/parallel/schedule.hpp"
#include "strata/parallel/stages.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

/// All stages of a pipeline at work on their micro-batches.
namespace strata {

/// A tensor on its way from one chunk to the next.
struct StageMessage {
  static constexpr double not_sent = std::numeric_limits<double>::infinity();
  double arrives_s = not_sent, transit_s = 0;
};

/// Those to one chunk, in one direction: by micro-batch, which is the order in which they are sent
/// and received.
struct StageMessages {
  std::vector<StageMessage> of_micro;
  std::size_t sent = 0, received = 0;
};

/// What a pipeline has come to.
struct PipelineMark {
  std::vector<std::size_t> next;  ///< task of each stage
  std::vector<RankMark> ranks;
  std::vector<std::size_t> sent, received;  ///< messages of each chunk, forward, then backward
};

/// Rounds of micro-batches that are alike count as often as they are there, once they are. Whoever
/// compares has each simulated.
enum class Rounds : std::uint8_t { alike_count_once, each_is_simulated };

/// All stages, each with its tasks in order; a task runs when what it waits for has arrived.
///
/// Once the pipeline is full, a period comes when every stage does with later micro-batches what it
/// did before, and all clocks are later by the same time (the stages are a max-plus linear system:
/// Baccelli et al., "Synchronization and Linearity", 1992, chapter 3). One such period counts as
/// often as the iteration has it; then the last micro-batches are simulated.
class PipelineRun {
 public:
  /// Errors (unsupported): millions of micro-batches without such a period.
  PipelineRun(const RankCosts& costs, const std::vector<LayerChunk>& chunks,
              const Strategy& strategy, const Cluster& cluster, Rounds rounds,
              WantEvents wants_events);

  /// The streams of all stages after the last task.
  std::vector<RankStream> run() &&;

 private:
  /// Micro-batches after which the order of tasks is the same again.
  std::int64_t round() const { return strategy_.chunks > 1 ? strategy_.pipeline : 1; }
  std::int64_t period_micro_batches() const { return static_cast<std::int64_t>(period_) * round(); }
  bool keeps_all_events(const RankCosts& costs) const;
  /// So many micro-batches are simulated; what was done so far is the beginning of it.
  void simulate_up_to(std::int64_t micro_batches);
  void require_few_tasks(const Strategy& simulated) const;

  bool try_task(std::size_t stage, const Task& task);
  void send(std::size_t stage, StageMessages& to, double bytes, double transit_s);

  void look_for_period();
  void find_period();
  PipelineMark mark() const;
  bool is_alike(const PipelineMark& before, const PipelineMark& since,
                const PipelineMark& now) const;
  bool has_same_tasks(std::size_t stage, std::size_t first, std::size_t second) const;
  bool has_same_messages(const PipelineMark& since, const PipelineMark& now, double period_s) const;
  void repeat(const PipelineMark& since, const PipelineMark& now);

  const std::vector<LayerChunk>& chunks_;
  const Strategy& strategy_;
  bool has_events_ = false;
  std::size_t micro_batches_ = 0;                  // that are simulated
  std::int64_t left_out_ = 0;                      // the others
  std::size_t round_tasks_ = 0;                    // of one stage
  std::uint32_t later_ = 0;                        // micro-batches that periods stood for
  std::vector<StageMessages> forward_, backward_;  // to each chunk
  std::vector<double> sent_bytes_, transit_s_;     // of the tensor that each chunk hands on
  std::vector<RankStream> streams_;
  std::vector<std::vector<Task>> tasks_;
  std::vector<std::size_t> next_, forwards_;  // of each stage: the next task, those done forward
  std::size_t next_round_ = 0;                // when the first stage has come to this task
  std::vector<double> ends_;                  // of rounds: all clocks in one number
  std::size_t period_ = 0;                    // in rounds; 0: none is known
  std::vector<PipelineMark> marks_;           // one period after the other, at most three
  std::size_t marked_ = 0;                    // rounds at the last mark
};

}  // namespace strata
