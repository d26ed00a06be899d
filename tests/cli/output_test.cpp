// SPDX-License-Identifier: Apache-2.0
// Files that the program writes: refused before the work where they cannot be, whole or not there,
// and nothing for other users of a shared folder to gain.
#include "cli/command.hpp"
#include "tests/cli/run_program.hpp"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace strata::test {
namespace {

namespace fs = std::filesystem;

constexpr uid_t another_user = 65534;

std::string text_at(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

bool is_output_name(std::string_view name) {
  constexpr std::array<std::string_view, 7> names = {"json", "csv",   "html", "jsonl",
                                                     "db",   "trace", "dot"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Computing for minutes and then losing the result is the worst that can happen.
TEST(Output, that_cannot_be_written_is_refused_before_the_work) {
  int count = 0;
  for (const Command* command : commands()) {
    for (const Flag& flag : command->flags) {
      EXPECT_TRUE(!is_output_name(flag.name) || flag.offer == Offer::output)
          << command->name << " --" << flag.name;
      if (flag.offer != Offer::output) continue;
      ++count;
      // What does not exist is looked for afterwards.
      std::vector<std::string> words = {std::string(command->name)};
      for (const Argument& argument : command->arguments)
        words.emplace_back(argument.choices.empty() ? "no-such-thing" : argument.choices.back());
      words.insert(words.end(), {"--" + std::string(flag.name), "/nonexistent/out"});
      const Outcome outcome = run(words);
      EXPECT_EQ(outcome.exit_code, 2) << command->name << outcome.err;
      EXPECT_TRUE(outcome.err.starts_with("error: cannot write /nonexistent/out")) << outcome.err;
    }
  }
  EXPECT_GT(count, 40);
  const Outcome plot =
      run({"sweep", "lenet5", "--capacity", "1MB,2MB", "--plot", "utilisation=/nonexistent/a.svg"});
  EXPECT_EQ(plot.exit_code, 2);
  EXPECT_NE(plot.err.find("cannot write /nonexistent/a.svg"), plot.err.npos) << plot.err;
}

TEST(Output, in_a_folder_that_cannot_be_written_is_refused_before_the_work) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  const TemporaryFolder folder;
  fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec);
  const Outcome outcome =
      run({"predict", "no-such-network", "--json", "out"}, {.folder = folder.path()});
  EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
  EXPECT_NE(outcome.err.find("cannot write out: Permission denied"), outcome.err.npos);
}

/// A folder that everybody can write, as /tmp, where another user has left something.
class SharedFolder : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can make files of another user";
    fs::permissions(folder_.path(), fs::perms::all);
  }
  void give_away(const fs::path& path) const {
    EXPECT_EQ(::lchown(path.c_str(), another_user, another_user), 0);
  }
  struct Writing {
    std::string name;
    std::vector<std::string> words;
  };
  static std::vector<Writing> commands_that_write() {
    return {{"out.json", {"predict", "lenet5", "--json", "out.json"}},
            {"out.html", {"predict", "lenet5", "--html", "out.html"}},
            {"out.json", {"convert", "lenet5", "-o", "out.json"}},
            {"out.svg", {"plot", "lenet5", "--kind", "layers", "-o", "out.svg"}},
            {"out.csv", {"sweep", "lenet5", "--batch", "1,2", "--csv", "out.csv"}},
            {"out.jsonl", {"sweep", "lenet5", "--batch", "1,2", "--jsonl", "out.jsonl", "--force"}},
            {"out.db", {"sweep", "lenet5", "--batch", "1,2", "--db", "out.db", "--force"}}};
  }

  const TemporaryFolder folder_;
};

TEST_F(SharedFolder, gives_no_rights_to_results) {
  for (const auto& [name, words] : commands_that_write()) {
    const fs::path planted = folder_.file(name, "");
    give_away(planted);
    ASSERT_EQ(::chmod(planted.c_str(), 06777), 0);
    const Outcome outcome = run(words, {.folder = folder_.path()});
    struct stat there {};
    ASSERT_EQ(::stat(planted.c_str(), &there), 0);
    if (outcome.exit_code == 0) {
      EXPECT_EQ(there.st_mode & 07022U, 0U) << words[0] << ": others may write or run it";
    } else {  // results that grow in place are not given to whoever owns the file
      EXPECT_EQ(words[0], "sweep") << outcome.err;
      EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
      EXPECT_EQ(there.st_size, 0);
    }
    fs::remove(planted);
  }
}

TEST_F(SharedFolder, has_no_links_that_choose_what_is_written) {
  const TemporaryFolder home;
  const fs::path mine = home.path() / "mine";
  for (const auto& [name, words] : commands_that_write()) {
    std::ofstream(mine) << "precious";
    fs::create_symlink(mine, folder_.path() / name);
    give_away(folder_.path() / name);
    const Outcome outcome = run(words, {.folder = folder_.path()});
    EXPECT_EQ(outcome.exit_code, 2) << words[0] << outcome.err;
    EXPECT_NE(outcome.err.find("is a link of another user"), outcome.err.npos) << outcome.err;
    EXPECT_EQ(text_at(mine), "precious");
    fs::remove(mine);  // one that leads nowhere yet is no better
    EXPECT_EQ(run(words, {.folder = folder_.path()}).exit_code, 2);
    EXPECT_FALSE(fs::exists(mine));
    fs::remove(folder_.path() / name);
  }
}

TEST(Output, goes_through_links_of_ones_own) {
  const TemporaryFolder folder;
  fs::create_directory(folder.path() / "results");
  fs::create_symlink("results/out.csv", folder.path() / "link");
  for (const char* command : {"predict", "sweep"}) {
    const Outcome outcome = run({command, "lenet5", "--csv", "link"}, {.folder = folder.path()});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_TRUE(fs::is_symlink(folder.path() / "link"));
    EXPECT_GT(fs::file_size(folder.path() / "results/out.csv"), 100U);
    fs::remove(folder.path() / "results/out.csv");
  }
}

TEST(Output, to_a_pipe_is_whole_or_an_error) {
  const TemporaryFolder folder;
  const Surroundings here{.folder = folder.path()};
  ASSERT_EQ(::mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
  const Outcome all = run_shell(
      "cat pipe >read & strata sweep lenet5 --batch 1:200:1 --no-limit --csv pipe && wait && "
      "strata sweep lenet5 --batch 1:200:1 --no-limit --csv file && cmp read file",
      here);
  EXPECT_EQ(all.exit_code, 0) << all.out << all.err;
  // The reader leaves while more is to come than the pipe holds.
  const Outcome gone = run_words({"bash", "-c",
                                  "head -c 10 pipe >/dev/null & timeout 60 '" STRATA_BINARY
                                  "' sweep lenet5 --batch 1:600:1 --no-limit --csv pipe"},
                                 here);
  EXPECT_EQ(gone.exit_code, 3) << gone.err;
  EXPECT_NE(gone.err.find("nobody reads the pipe any more"), gone.err.npos) << gone.err;
}

TEST(Output, to_a_pipe_that_nobody_reads_is_an_error) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
  const Outcome outcome = run_words(
      {"bash", "-c", "timeout 60 '" STRATA_BINARY "' sweep lenet5 --batch 1,2 --csv pipe"},
      {.folder = folder.path()});
  EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
  EXPECT_NE(outcome.err.find("nobody reads the pipe"), outcome.err.npos) << outcome.err;
}

// A signal that ends the program would leave its unfinished file.
TEST(Output, larger_than_the_user_allows_leaves_nothing) {
  const TemporaryFolder folder;
  const Outcome outcome =
      run_shell("ulimit -f 1; strata predict lenet5 --json out.json", {.folder = folder.path()});
  EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
  EXPECT_NE(outcome.err.find("cannot write out.json: File too large"), outcome.err.npos)
      << outcome.err;
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

// A file that is opened first has the number of a stream that is closed: what is printed would go
// into the results.
TEST(Output, does_not_get_what_is_printed_where_streams_are_closed) {
  const TemporaryFolder folder;
  const Surroundings here{.folder = folder.path()};
  EXPECT_EQ(run({"sweep", "lenet5", "--batch", "1,2", "--csv", "open.csv"}, here).exit_code, 0);
  const Outcome closed =
      run_shell("strata sweep lenet5 --batch 1,2 --csv closed.csv <&- >&- 2>&-", here);
  EXPECT_EQ(closed.exit_code, 0);
  EXPECT_EQ(text_at(folder.path() / "closed.csv"), text_at(folder.path() / "open.csv"));
  EXPECT_EQ(run_shell("strata show lenet5 <&- >&-", here).exit_code, 3);
}

TEST(Output, of_a_look_at_results_that_fails_is_not_written) {
  const TemporaryFolder folder;
  const Surroundings here{.folder = folder.path()};
  folder.file("points.csv", "point,batch,time_s,error\n0,1,0.5,\n1,2,0.6,\n");
  const Outcome outcome =
      run({"sweep", "--from", "points.csv", "--html", "out.html", "--plot", "out.svg"}, here);
  const bool has_written = names_in(folder.path()).size() > 1;
  EXPECT_EQ(outcome.exit_code == 0, has_written) << outcome.err;
}

TEST(Input, that_is_a_pipe_or_a_device_is_refused_where_a_file_is_needed) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
  for (const std::string path : {"pipe", "/dev/zero"}) {
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"sweep", "--from", path}, {"trace", path}}) {
      const Outcome outcome = run(words, {.folder = folder.path()});
      EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
      EXPECT_NE(outcome.err.find("expected a file, got a device or a pipe"), outcome.err.npos)
          << outcome.err;
    }
  }
  // A profile may be a pipe, as it is read once; a device has no end.
  const Outcome endless = run({"report", "/dev/zero"}, {.folder = folder.path()});
  EXPECT_EQ(endless.exit_code, 2);
  EXPECT_NE(endless.err.find("expected a file, got a device"), endless.err.npos) << endless.err;
}

/// Becomes a process that can start no thread, whoever runs it.
void forbid_threads() {
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{static_cast<unsigned short>(std::size(rules)), rules};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    ::_exit(77);
}

Outcome run_without_threads(std::vector<std::string> words) {
  words.insert(words.begin(), STRATA_BINARY);
  const File out = temporary_file(), err = temporary_file();
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(::fileno(out.get()), STDOUT_FILENO);
    ::dup2(::fileno(err.get()), STDERR_FILENO);
    forbid_threads();
    become(words, {});
  }
  Outcome outcome{.exit_code = exit_code_of_child(child), .out = "", .err = ""};
  ::lseek(::fileno(out.get()), 0, SEEK_SET);
  ::lseek(::fileno(err.get()), 0, SEEK_SET);
  outcome.out = content_of(::fileno(out.get()));
  outcome.err = content_of(::fileno(err.get()));
  return outcome;
}

TEST(Threads, that_cannot_be_started_are_done_without) {
  if (run_without_threads({"--version"}).exit_code == 77)
    GTEST_SKIP() << "this system has no seccomp";
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"predict", "lenet5"},
           {"explain", "lenet5"},
           {"report", "lenet5", "-o", "-"},
           {"compare", "lenet5", "alexnet"},
           {"sweep", "lenet5", "--batch", "1,2", "--threads", "1"}}) {
    const Outcome outcome = run_without_threads(words);
    const Outcome usual = run(words);
    EXPECT_EQ(outcome.exit_code, usual.exit_code) << words[0] << outcome.err;
    EXPECT_TRUE(words[0] == "report" || outcome.out == usual.out) << words[0];
  }
  const Outcome sweep =
      run_without_threads({"sweep", "lenet5", "--batch", "1,2", "--threads", "2"});
  EXPECT_EQ(sweep.exit_code, 3) << sweep.err;
  const Outcome measure = run_without_threads({"measure", "lenet5", "--batch", "1"});
  EXPECT_EQ(measure.exit_code, 3) << measure.err;
}

}  // namespace
}  // namespace strata::test
