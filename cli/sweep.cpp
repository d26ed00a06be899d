// SPDX-License-Identifier: Apache-2.0
#include "strata/api/sweep.hpp"

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/guest.hpp"
#include "cli/html_output.hpp"
#include "cli/interrupt.hpp"
#include "cli/output.hpp"
#include "cli/output_files.hpp"
#include "cli/progress.hpp"
#include "cli/rank_program.hpp"
#include "cli/sweep_answers.hpp"
#include "cli/sweep_flags.hpp"
#include "cli/sweep_plot.hpp"
#include "cli/sweep_progress.hpp"
#include "strata/api/sweep_estimate.hpp"
#include "strata/base/units.hpp"
#include "strata/report/sweep_text.hpp"
#include "strata/sweep/answers_table.hpp"
#include "strata/sweep/journal.hpp"
#include "strata/sweep/ranks.hpp"
#include "strata/sweep/table_sink.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

namespace strata {
namespace {

constexpr Flag sweep_csv_flag{.name = "csv",
                              .value = "FILE",
                              .help = "A line per point; - is standard output.",
                              .offer = Offer::output};
constexpr Flag sweep_jsonl_flag{.name = "jsonl",
                                .value = "FILE",
                                .help = "A JSON object per line and point.",
                                .offer = Offer::output};
constexpr Flag db_flag{
    .name = "db", .value = "FILE", .help = "A row per point in SQLite.", .offer = Offer::output};
constexpr Flag sweep_resume_flag{.name = "resume", .help = "Go on with files of this sweep."};
constexpr Flag sweep_force_flag{.name = "force", .help = "Replace files that are there."};
constexpr Flag threads_flag{
    .name = "threads", .letter = 'j', .value = "N", .help = "Cores to use; all of them."};
constexpr Flag sweep_dry_run_flag{.name = "dry-run", .help = "Only how many points, and how long."};
constexpr Flag summary_flag{.name = "summary", .help = "A short table for people."};
constexpr Flag sweep_from_flag{.name = "from",
                               .value = "FILE",
                               .help = "Look at an earlier run instead of running.",
                               .offer = Offer::file};

constexpr Argument sweep_arguments[] = {{.name = "MODEL",
                                         .help = "Built-in networks, their files, or a sweep file.",
                                         .offer = Offer::model,
                                         .is_required = false,
                                         .repeats = true}};
constexpr auto sweep_flags = joined_flags(
    range_flags, named_range_flags, sweep_switches, import_flags, answer_flags,
    std::array<Flag, 12>{require_fits_flag, sweep_plot_flag, sweep_csv_flag, sweep_jsonl_flag,
                         db_flag, html_flag, sweep_resume_flag, sweep_force_flag, threads_flag,
                         sweep_dry_run_flag, summary_flag, sweep_from_flag});

IfPresent if_present(const Arguments& given) {
  if (given.has(sweep_resume_flag) && given.has(sweep_force_flag))
    fail(ErrorKind::usage, "--resume and --force exclude each other");
  return given.has(sweep_resume_flag)  ? IfPresent::resume
         : given.has(sweep_force_flag) ? IfPresent::replace
                                       : IfPresent::refuse;
}

std::int64_t thread_count(const Arguments& given) {
  if (const auto threads = given.value(threads_flag))
    return parse_whole_number(*threads, "--threads", 1, 1024);
  return std::max<std::int64_t>(1, std::thread::hardware_concurrency());
}

/// Beside the first file that a run can be resumed with; null: there is none.
std::unique_ptr<SweepJournal> journal_of(const Arguments& given, const Sweep& sweep) {
  for (const Flag* flag : {&sweep_csv_flag, &sweep_jsonl_flag, &db_flag}) {
    const auto path = given.value(*flag);
    if (!path || *path == "-") continue;
    std::error_code problem;  // of a file that is not there yet
    const std::filesystem::file_status present = std::filesystem::status(*path, problem);
    if (std::filesystem::exists(present) && !std::filesystem::is_regular_file(present)) continue;
    return std::make_unique<SweepJournal>(*path, sweep.identity());
  }
  return nullptr;
}

/// What the results go to: files, standard output, a summary.
class Outputs {
 public:
  Outputs(const Arguments& given, const Sweep& sweep, bool is_among_ranks) {
    check_outputs(given, {&sweep_csv_flag, &sweep_jsonl_flag, &db_flag, &answers_json_flag,
                          &sweep_plot_flag, &html_flag});
    check_sweep_page(given);
    const bool has_file =
        given.has(sweep_csv_flag) || given.has(sweep_jsonl_flag) || given.has(db_flag);
    // mpirun gives its children a terminal whatever its own output is.
    const bool is_terminal = !is_among_ranks && ::isatty(STDOUT_FILENO) == 1;
    if (is_among_ranks && !has_file)
      fail(ErrorKind::usage, "under MPI the points go to a file: give --csv, --jsonl or --db");
    add_text(given, sweep_csv_flag, TextForm::csv, sweep);
    add_text(given, sweep_jsonl_flag, TextForm::json_lines, sweep);
    if (const auto path = given.value(db_flag)) {
      sinks_.push_back(database_sink(*path, if_present(given), sweep.columns(), sweep.identity()));
    }
    const bool asks = asks_for_answers(given);
    wants_summary_ = given.has(summary_flag) || (is_terminal && !takes_stdout_ && !asks);
    if ((wants_summary_ || asks) && takes_stdout_)
      fail(ErrorKind::usage, "{} to standard output, where the points go already",
           wants_summary_ ? "--summary goes" : "the answers go");
    if (!has_file && !given.has(html_flag) && !wants_summary_ && !asks)
      sinks_.push_back(text_sink(TextForm::csv, print_bytes, sweep.columns()));
    is_resumable_ = has_file && !takes_stdout_;
    wants_table_ = wants_summary_ || asks || given.has(sweep_plot_flag) || given.has(html_flag) ||
                   given.has(require_fits_flag);
    if (!wants_table_) return;
    table_ = std::make_unique<TableSink>(sweep.columns(), sweep.identity());
  }

  /// The first point that some file lacks.
  std::int64_t done(std::int64_t total) const {
    std::int64_t least = total;
    for (const auto& sink : sinks_) least = std::min(least, sink->done());
    return sinks_.empty() ? 0 : least;
  }
  std::vector<SweepSink*> sinks() const {
    std::vector<SweepSink*> all;
    for (const auto& sink : sinks_) all.push_back(sink.get());
    if (table_ != nullptr) all.push_back(table_.get());
    return all;
  }
  bool is_resumable() const { return is_resumable_; }
  bool wants_summary() const { return wants_summary_; }
  bool wants_table() const { return wants_table_; }
  const SweepTable& table() const { return table_->table(); }
  /// Everything is on disk and the files are closed.
  void close() { sinks_.clear(); }

 private:
  void add_text(const Arguments& given, const Flag& flag, TextForm form, const Sweep& sweep) {
    const auto path = given.value(flag);
    if (!path) return;
    if (*path == "-") {
      takes_stdout_ = true;
      sinks_.push_back(text_sink(form, print_bytes, sweep.columns()));
    } else {
      sinks_.push_back(
          text_file_sink(form, *path, if_present(given), sweep.columns(), sweep.identity()));
    }
  }

  std::vector<std::unique_ptr<SweepSink>> sinks_;
  std::unique_ptr<TableSink> table_;
  bool takes_stdout_ = false;
  bool wants_summary_ = false;
  bool wants_table_ = false;
  bool is_resumable_ = false;
};

std::string plural(std::int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", format_exact(count), what, count == 1 ? "" : "s");
}

int describe(const Sweep& sweep, std::int64_t threads) {
  std::vector<std::string> sizes;
  for (const Axis& axis : sweep.grid().axes()) {
    if (axis.size() > 1) sizes.push_back(fmt::format("{} {}", axis.size(), axis.name()));
  }
  const double time_s = estimated_time_s(sweep, 0, threads);
  print(fmt::format("{}{}{}\n{} to build\nabout {} on {}\n", plural(sweep.grid().size(), "point"),
                    sizes.empty() ? "" : " = ", fmt::join(sizes, " × "),
                    plural(sweep.program_count(), "program"), waiting_time(time_s),
                    plural(threads, "thread")));
  return exit_code::done;
}

std::string resume_command(const Request& request) {
  std::string line = request.command_line;
  if (const std::size_t at = line.find(" --force"); at != std::string::npos) line.erase(at, 8);
  return request.arguments.has(sweep_resume_flag) ? line : line + " --resume";
}

int end_of(const Request& request, const SweepOutcome& outcome, const Outputs& outputs,
           std::int64_t total) {
  if (outcome.is_interrupted) {
    print_to_stderr(fmt::format(
        "interrupted: {} of {} are done\n{}\n", format_exact(outcome.done), plural(total, "point"),
        outputs.is_resumable() ? "go on with: " + resume_command(request)
                               : "with --csv, --jsonl or --db FILE it could be resumed"));
    return exit_code::interrupted;
  }
  if (outcome.left_out > 0) {
    print_to_stderr(fmt::format("{} of {} left out by --where\n", format_exact(outcome.left_out),
                                plural(outcome.computed, "point")));
  }
  if (outcome.out_of_memory > 0 && !outputs.wants_summary()) {
    print_to_stderr(fmt::format("out of memory: {} of {} need more than their device has\n",
                                format_exact(outcome.out_of_memory),
                                plural(outcome.computed, "point")));
  }
  if (outcome.failed > 0 && outcome.failed + outcome.left_out == total)
    fail(ErrorKind::input, "no point could be predicted; the first: {}", outcome.first_error);
  if (outcome.failed > 0) {
    print_to_stderr(fmt::format("{} of {} failed; the first: {}\n", format_exact(outcome.failed),
                                plural(outcome.computed, "point"), outcome.first_error));
  }
  return exit_code::done;
}

// A summary of what an earlier run began needs its points too.
SweepTable whole_table(const Arguments& given, const Outputs& outputs, std::int64_t first) {
  if (first == 0) return outputs.table();
  for (const Flag* flag : {&sweep_csv_flag, &sweep_jsonl_flag, &db_flag}) {
    if (const auto path = given.value(*flag)) return read_sweep_table(*path);
  }
  return outputs.table();
}

int code_of_fit(const Arguments& given, const SweepTable& table) {
  if (!given.has(require_fits_flag)) return exit_code::done;
  const RowJudge judge(table);
  for (std::size_t row = 0; row < table.row_count; ++row) {
    if (judge.is_out_of_memory(row)) return exit_code::answer_is_no;
  }
  return exit_code::done;
}

/// What runs a sweep or says where its points go has no meaning for points that are there.
void refuse_flags_of_a_run(const Arguments& given) {
  constexpr auto of_a_run =
      joined_flags(range_flags, named_range_flags, sweep_switches, import_flags,
                   std::array<Flag, 7>{sweep_csv_flag, sweep_jsonl_flag, db_flag, sweep_resume_flag,
                                       sweep_force_flag, threads_flag, sweep_dry_run_flag});
  for (const Flag& flag : of_a_run) {
    if (given.has(flag)) {
      fail(ErrorKind::usage,
           "--{} does not go with --from, which looks at points that are there; --where and "
           "--column choose among them",
           flag.name);
    }
  }
}

int show_earlier(const Request& request) {
  if (!request.arguments.words().empty())
    fail(ErrorKind::usage, "--from takes results as they are; it goes with no network");
  refuse_flags_of_a_run(request.arguments);
  check_plot(request.arguments);
  const std::string path(*request.arguments.value(sweep_from_flag));
  SweepTable table = read_sweep_table(path);
  try {
    const int fit_code = code_of_fit(request.arguments, table);
    return std::max(fit_code, print_answers_from(request, std::move(table)));
  } catch (Error& error) {
    if (error.kind() == ErrorKind::input) error.add_context(path);
    throw;
  }
}

/// Computes for rank 0, which writes.
int serve(const Arguments& given, RankSession& ranks) {
  const Sweep sweep(sweep_request(given));
  const InterruptWatch interrupts;  // rank 0 decides when it is over
  const std::unique_ptr<SweepJournal> journal = journal_of(given, sweep);
  ranks.serve([&] { return sweep.worker(); }, journal.get());
  return exit_code::done;
}

int run_here(const Request& request, RankSession* ranks) {
  const Arguments& given = request.arguments;
  const std::int64_t threads = thread_count(given);
  const Sweep sweep(sweep_request(given));
  for (const Graph& graph : sweep.graphs()) warn(graph.warnings);
  check_questions(given, sweep);
  check_plot(given, sweep);
  if (given.has(sweep_dry_run_flag)) return describe(sweep, threads);

  const std::unique_ptr<SweepJournal> journal = journal_of(given, sweep);
  if (journal != nullptr) journal->load(if_present(given));  // an error leaves the files alone
  Outputs outputs(given, sweep, ranks != nullptr);
  const std::int64_t total = sweep.grid().size();
  const std::int64_t rows_end = outputs.done(total);
  const std::int64_t first = journal != nullptr ? journal->first_wanted(rows_end) : rows_end;
  if (journal != nullptr) journal->begin(first, ranks != nullptr || threads > 1);
  const InterruptWatch interrupts;
  ProgressLine progress(first, total);
  const SweepRun points{.range = sweep.range(first),
                        .make_worker = [&] { return sweep.worker(); },
                        .sinks = outputs.sinks(),
                        .journal = journal.get(),
                        .rows_end = rows_end,
                        .threads = threads,
                        .is_interrupted = [&] { return interrupts.was_asked(); },
                        .on_progress = [&](std::int64_t done) { progress.show(done); }};
  const SweepOutcome outcome = ranks != nullptr ? ranks->run(points) : run_points(points);
  outputs.close();
  if (journal != nullptr && !outcome.is_interrupted) journal->remove();
  clear_progress();
  const int code = end_of(request, outcome, outputs, total);
  if (code != exit_code::done || !outputs.wants_table()) return code;
  SweepTable table = whole_table(given, outputs, first);
  draw_plot(given, table);
  if (outputs.wants_summary()) {
    print(to_text(table, request.style));
    if (sweep.has_limit()) print(reuse_text(table, sweep, request.style));
    if (asks_for_answers(given)) print("\n");
  }
  const int fit_code = code_of_fit(given, table);
  if (!asks_for_answers(given)) {
    write_sweep_page(request, table);
    return fit_code;
  }
  const SweepReply reply = answer_sweep(request, std::move(table), sweep);
  write_sweep_page(request, reply);
  return std::max(fit_code, print_answers(request, reply));
}

// A dry run and a look at results are for one process; the others have nothing to do.
int run_among_ranks(const Request& request, const RankOfCount& place) {
  const Arguments& given = request.arguments;
  if (given.has(threads_flag))
    fail(ErrorKind::usage, "--threads is for one process; under MPI start a rank per core");
  if (given.has(sweep_dry_run_flag) || given.has(sweep_from_flag))
    fail(ErrorKind::usage, "--dry-run and --from are for one process; start it without mpirun");
  if (!has_mpi()) become_mpi_program(request.words);
  RankSession ranks;
  if (place.rank > 0) return serve(given, ranks);
  try {
    const int code = run_here(request, &ranks);
    if (code != exit_code::done && code != exit_code::answer_is_no) ranks.end_all(code);
    return code;
  } catch (const Error& error) {  // the others wait for this rank: they must be told
    print_to_stderr(failure_text(error.kind(), error.what(), request.command_line, request.style));
    ranks.end_all(exit_code_of(error.kind()));
    return exit_code_of(error.kind());
  }
}

int run_sweep(const Request& request) {
  const RankOfCount place = rank_of_count();
  const bool is_guest = this_guest() != nullptr;  // whose ranks are the other program's
  if (place.count > 1 && !is_guest) return run_among_ranks(request, place);
  if (request.arguments.has(sweep_from_flag)) return show_earlier(request);
  return run_here(request, nullptr);
}

}  // namespace

constexpr Command sweep_command{.name = "sweep",
                                .summary = "Predictions over ranges of hardware, sizes and options",
                                .arguments = sweep_arguments,
                                .flags = sweep_flags,
                                .run = run_sweep};

}  // namespace strata
