// SPDX-License-Identifier: Apache-2.0
// What holds for every command: exit codes, streams, help, colors.
#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "strata/base/text.hpp"
#include "strata/report/text_style.hpp"
#include "strata/version.hpp"
#include "tests/cli/run_program.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <vector>

namespace strata::test {
namespace {

std::size_t lines_in(const std::string& text) { return split(text, '\n').size() - 1; }

TEST(Program, version_is_on_standard_output) {
  for (const char* flag : {"--version", "-V"}) {
    const Outcome outcome = run({flag});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.out, fmt::format("strata {}\n", version));
    EXPECT_EQ(outcome.err, "");
  }
}

TEST(Program, without_a_command_it_shows_what_there_is_and_fails) {
  const Outcome outcome = run({});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  for (const Command* command : commands())
    EXPECT_NE(outcome.err.find(command->name), outcome.err.npos);
  EXPECT_EQ(run({"-h"}).out, outcome.err);
  EXPECT_EQ(run({"help"}).out, outcome.err);
}

struct Mistake {
  std::vector<std::string> words;
  std::string error;  // the first line of standard error, without "error: "
  std::string usage;  // the second line; empty: there is none
};

TEST(Program, mistakes_exit_2_with_one_clear_line) {
  const std::string program = "usage: strata COMMAND [options]    (strata help lists the commands)";
  const std::string show = "usage: strata show MODEL [options]";
  const std::string help =
      "usage: strata help [COMMAND | TOPIC]    (strata help topics lists the topics)";
  const std::vector<Mistake> mistakes = {
      {{"shwo"}, "no command named 'shwo'; did you mean show?", program},
      {{"help", "shwo"}, "no command or topic named 'shwo'; did you mean show?", help},
      {{"help", "machnies"},
       "no command or topic named 'machnies'; did you mean machines, machine?",
       help},
      {{"version"}, "no command named 'version'; see strata help version", program},
      {{"tutorial"}, "no command named 'tutorial'; see strata help tutorial", program},
      {{"--colr", "never"}, "unknown flag --colr; did you mean --color?", program},
      {{"-x"}, "unknown flag -x", program},
      {{"show"}, "MODEL is missing", show},
      {{"show", "alexnet", "vgg16"}, "unexpected argument 'vgg16'", show},
      {{"show", "alexnet", "--bach", "4"}, "unknown flag --bach; did you mean --batch?", show},
      {{"show", "alexnet", "--bach=4"}, "unknown flag --bach; did you mean --batch?", show},
      {{"show", "alexnet", "--batch"}, "--batch needs a value: --batch N", show},
      {{"show", "alexnet", "-b"}, "--batch needs a value: --batch N", show},
      {{"show", "--json", "--csv", "x", "alexnet"}, "--json needs a value: --json FILE", show},
      {{"show", "alexnet", "--inference=yes"}, "--inference takes no value", show},
      {{"show", "alexnet", "--color", "blue"},
       "--color expects auto, always or never, got 'blue'",
       ""},
      {{"show", "alexnet", "--by", "typ"},
       "--by expects layer, type or block, got 'typ'; did you mean type?",
       ""},
      {{"list", "netwroks"},
       "list expects networks, machines, formats, operators or frameworks, got 'netwroks'; did you "
       "mean "
       "networks?",
       "usage: strata list [KIND] [options]"},
      {{"generate", "zhs"},
       "generate expects man, bash, zsh or fish, got 'zhs'; did you mean zsh?",
       "usage: strata generate WHAT [options]"},
  };
  for (const Mistake& mistake : mistakes) {
    const Outcome outcome = run(mistake.words);
    EXPECT_EQ(outcome.exit_code, 2) << mistake.error;
    EXPECT_EQ(outcome.out, "") << mistake.error;
    const std::string usage = mistake.usage.empty() ? "" : mistake.usage + '\n';
    EXPECT_EQ(outcome.err, fmt::format("error: {}\n{}", mistake.error, usage));
  }
}

TEST(Program, flags_may_come_first_and_double_dash_ends_them) {
  const std::string expected = run({"show", "alexnet", "--top", "1"}).out;
  EXPECT_EQ(run({"show", "--top", "1", "--", "alexnet"}).out, expected);
  EXPECT_EQ(run({"--color", "never", "show", "--top=1", "alexnet"}).out, expected);
  EXPECT_EQ(run({"show", "alexnet", "--top", "5", "--top", "1"}).out, expected)
      << "the last one counts";
  const Outcome outcome = run({"show", "--", "--top"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err.find("error: no network named '--top'"), 0U) << outcome.err;
}

TEST(Program, setup_says_where_it_is) {
  const Outcome outcome = run({"setup", "--all"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, "error: setup belongs to the source tree: run ./strata setup there\n");
}

TEST(Program, a_full_disk_is_an_environment_error) {
  const Outcome outcome = run_shell("strata list formats > /dev/full");
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.err, "error: cannot write to standard output: No space left on device\n");
}

TEST(Program, a_closed_pipe_ends_quietly) {
  const Outcome outcome = run_shell("{ sleep 0.2; strata show resnet152; echo $? >&2; } | true");
  EXPECT_EQ(outcome.err, "0\n");
}

TEST(Program, a_bug_asks_for_a_report_and_exits_4) {
  EXPECT_EQ(exit_code_of(ErrorKind::internal), 4);
  const std::string text = failure_text(ErrorKind::internal, "why", "strata show 'a b'", {});
  EXPECT_EQ(
      text,
      fmt::format(
          "error: why\nThis is a bug in Strata {}. Please report it, with the lines above and "
          "this command:\n  strata show 'a b'\n",
          version));
  EXPECT_EQ(exit_code_of(ErrorKind::usage), 2);
  EXPECT_EQ(exit_code_of(ErrorKind::input), 2);
  EXPECT_EQ(exit_code_of(ErrorKind::unsupported), 2);
  EXPECT_EQ(exit_code_of(ErrorKind::environment), 3);
}

TEST(Program, messages_cannot_steer_the_terminal) {
  const Outcome outcome = run({"show", "\033[31m\nred"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err.find('\033'), outcome.err.npos);
}

// More than a pipe holds, and nobody reads it: the program waits, and we know when it does.
TEST(Program, interrupted_it_exits_130) {
  const TemporaryFolder folder;
  const std::string pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  const File sink = temporary_file();
  const pid_t child = start_words({STRATA_BINARY, "show", "resnet152", "--json", pipe}, {},
                                  ::fileno(sink.get()), ::fileno(sink.get()));
  pollfd has_begun{.fd = reader, .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&has_begun, 1, 60'000), 1);
  ::kill(child, SIGINT);
  EXPECT_EQ(exit_code_of_child(child), 130);
  ::close(reader);
}

TEST(Program, color_follows_the_terminal_and_the_user) {
  const auto has_color = [](const Outcome& outcome) {
    return outcome.out.find("\033[") != outcome.out.npos;
  };
  const Surroundings terminal{.terminal_columns = 120};
  EXPECT_FALSE(has_color(run({"show", "lenet5"})));
  EXPECT_TRUE(has_color(run({"show", "lenet5"}, terminal)));
  EXPECT_TRUE(has_color(run({"show", "lenet5", "--color", "always"})));
  EXPECT_TRUE(has_color(run({"--color", "always", "show", "lenet5"})));
  EXPECT_FALSE(has_color(run({"show", "lenet5", "--color", "never"}, terminal)));
  const auto with = [](const char* variable) {
    return Surroundings{.environment = {variable}, .terminal_columns = 120};
  };
  EXPECT_FALSE(has_color(run({"show", "lenet5"}, with("NO_COLOR=1"))));
  EXPECT_TRUE(has_color(run({"show", "lenet5"}, with("NO_COLOR="))));
  EXPECT_FALSE(has_color(run({"show", "lenet5"}, with("TERM=dumb"))));
  EXPECT_FALSE(has_color(run({"show", "lenet5"}, with("TERM="))));
  EXPECT_TRUE(has_color(run({"show", "lenet5", "--color", "always"}, with("NO_COLOR=1"))));
}

TEST(Program, tables_fit_the_terminal) {
  for (const auto columns : std::initializer_list<unsigned short>{60, 80, 100, 140}) {
    const Outcome outcome =
        run({"show", "resnet18", "--color", "never"}, {.terminal_columns = columns});
    ASSERT_EQ(outcome.exit_code, 0);
    const auto table_end = outcome.out.find("\n\n  parameters");
    ASSERT_NE(table_end, outcome.out.npos);
    for (const std::string_view line :
         split(std::string_view(outcome.out).substr(0, table_end), '\n')) {
      EXPECT_LE(width_of(line), columns) << line;
    }
  }
}

TEST(Program, without_utf8_there_are_only_plain_characters) {
  for (const char* locale : {"LC_ALL=C", "LC_ALL="}) {
    const Outcome outcome = run({"show", "alexnet"}, {.environment = {locale}});
    EXPECT_NE(outcome.out.find("32x64x55x55"), outcome.out.npos);
    for (const char c : outcome.out) EXPECT_LT(static_cast<unsigned char>(c), 0x80U);
  }
  EXPECT_NE(run({"show", "alexnet"}).out.find("32×64×55×55"), std::string::npos);
}

/// Processor time of all children so far: unlike the clock on the wall it does not count the others
/// on this machine.
double children_cpu_s() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

TEST(Program, it_starts_in_less_than_15_ms) {
  constexpr double most_s = 0.015;
  double best_s = 1;
  // Others on this machine slow it down, too: by what they leave of caches.
  for (int attempt = 0; attempt < 40 && best_s >= most_s; ++attempt) {
    const double before_s = children_cpu_s();
    ASSERT_EQ(run({"--version"}).exit_code, 0);
    best_s = std::min(best_s, children_cpu_s() - before_s);
  }
  EXPECT_LT(best_s, most_s);
}

TEST(Help, a_summary_fits_a_screen) {
  for (const Command* command : commands()) {
    const Outcome outcome = run({std::string(command->name), "-h"});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.err, "");
    const std::size_t screens = 1 + (command->flags.size() + command->arguments.size()) / 21;
    EXPECT_LE(lines_in(outcome.out), screens * 24U) << command->name;
    for (const std::string_view line : split(outcome.out, '\n'))
      EXPECT_LE(width_of(line), 80U) << line;
  }
}

TEST(Help, a_page_is_the_same_by_either_way) {
  for (const Command* command : commands()) {
    const std::string name(command->name);
    const Outcome outcome = run({"help", name});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.out, run({name, "--help"}).out);
    EXPECT_EQ(outcome.out.find(fmt::format("# strata {}\n", name)), 0U) << outcome.out;
  }
  EXPECT_EQ(run({"--help"}).out.find("# strata\n"), 0U);
}

TEST(Help, the_page_of_the_program_lists_every_command_with_its_summary_in_the_same_order) {
  const std::string page = run({"--help"}).out;
  std::size_t before = page.find("## Commands\n");
  ASSERT_NE(before, page.npos);
  for (const Command* command : commands()) {
    const std::size_t at = page.find(fmt::format("\n| `strata {}", command->name), before);
    EXPECT_NE(at, page.npos) << command->name;
    if (at != page.npos) before = at;
  }
}

TEST(Help, knows_topics_besides_commands) {
  EXPECT_EQ(run({"help", "machines"}).out.find("# Machine files\n"), 0U);
  EXPECT_EQ(run({"help", "expected_time"}).out.find("# How expected times come about\n"), 0U);
  EXPECT_EQ(run({"help", "version"}).out, run({"--version"}).out);
  EXPECT_EQ(run({"help", "tutorials"}).out.find("# Tutorials\n"), 0U);
  EXPECT_EQ(run({"help", "tutorial", "which-gpu"}).out.find("# Which GPU should I rent?\n"), 0U);
  const Outcome documents = run({"help", "json"});
  EXPECT_EQ(documents.exit_code, 0);
  EXPECT_EQ(documents.out, run({"help", "schemas"}).out);
  for (const char* kind : {"prediction", "machine_choice", "sweep_answers", "trace"})
    EXPECT_NE(documents.out.find(fmt::format("| `{}` | What strata ", kind)), documents.out.npos)
        << kind;
  EXPECT_NE(run({"help", "json", "machine_choice"}).out.find("\"$schema\""), std::string::npos);
  const Outcome listed = run({"help", "topics"});
  for (const char* topic : {"version", "json", "tutorials", "machines", "python", "sweeps"})
    EXPECT_NE(listed.out.find(fmt::format("\n| `{}` |", topic)), listed.out.npos) << topic;
  const Outcome unknown = run({"help", "json", "predction"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.err.find("did you mean prediction"), unknown.err.npos) << unknown.err;
}

}  // namespace
}  // namespace strata::test
