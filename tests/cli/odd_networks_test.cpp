// SPDX-License-Identifier: Apache-2.0
// Every command on networks that nobody trains: each is refused with a reason or shown, by all of
// them, with numbers that are numbers. Crashes of such networks come in classes, and one that is
// mended by hand leaves its sisters.
#include "tests/cli/odd_networks.hpp"

#include "cli/guest.hpp"
#include "cli/program.hpp"
#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/base/temporary_folder_test.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

namespace strata::test {
namespace {

using CommandWords = std::vector<std::string>;

/// FILE stands for the network. Every network is asked the first ones; of the others each asks
/// some.
const std::vector<CommandWords> always_asked = {
    {"predict", "FILE"},
    {"predict", "FILE", "--on", "8xh100-sxm", "--parallel", "dp=8", "--batch", "64"}};

const std::vector<CommandWords> asked_in_turn = {
    {"show", "FILE", "--json", "-"},
    {"show", "FILE"},
    {"show", "FILE", "--dot", "-"},
    {"convert", "FILE", "-o", "-"},
    {"predict", "FILE", "--json", "-"},
    {"predict", "FILE", "--csv", "-"},
    {"predict", "FILE", "--trace", "-"},
    {"predict", "FILE", "--html", "-"},
    {"predict", "FILE", "--inference"},
    {"predict", "FILE", "--optimizer", "adam", "--recompute", "all"},
    {"predict", "FILE", "--policy", "thesis", "--granularity", "64KB"},
    {"predict", "FILE", "--on", "h100-sxm", "--amp", "bf16", "--json", "-"},
    {"predict", "FILE", "--on", "v100,h100-sxm"},
    {"predict", "FILE", "--micro-batches", "2"},
    {"explain", "FILE"},
    {"explain", "FILE", "--on", "h100-sxm", "--json", "-"},
    {"roofline", "FILE"},
    {"roofline", "FILE", "--json", "-"},
    {"roofline", "FILE", "--reuse"},
    {"compare", "FILE", "lenet5"},
    {"compare", "FILE", "FILE", "--json", "-"},
    {"report", "FILE", "-o", "-"},
    {"plot", "FILE", "-o", "-"},
    {"sweep", "FILE", "--batch", "1,2"},
    {"sweep", "FILE", "--capacity", "1MiB,2MiB", "--summary"},
    {"sweep", "FILE", "--batch", "1,2", "--no-limit", "--on", "h100-sxm"},
    {"sweep", "FILE", "--on", "8xh100-sxm", "--batch", "8,16"},
    {"measure", "FILE", "--dry-run"},
    {"conv", "advise", "FILE", "--dry-run"},
    {"predict", "FILE", "--on", "1xh100-sxm", "--parallel", "dp=1", "--json", "-"},
    {"predict", "FILE", "--on", "8xh100-sxm", "--parallel", "auto", "--batch", "16"},
    {"predict", "FILE", "--on", "8xh100-sxm", "--parallel", "dp=8,zero=3", "--batch", "64",
     "--html", "-"},
    {"predict", "FILE", "--on", "8xh100-sxm", "--parallel", "dp=2,tp=2,pp=2,micro=2", "--batch",
     "64", "--trace", "-"},
    {"predict", "FILE", "--on", "8x8xh100-sxm", "--devices", "8:64:x2", "--batch", "64"},
    {"explain", "FILE", "--on", "8xh100-sxm", "--parallel", "dp=8", "--batch", "64"}};
constexpr std::size_t turns = 5;

bool holds_word(const CommandWords& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// What is wrong with what a command did; empty: nothing.
std::string fault_of(const CommandWords& words) {
  Guest guest;
  const GuestRun run(guest);
  try {
    run_program(words);
  } catch (const Error& error) {
    return error.kind() == ErrorKind::internal ? error.what() : "";
  }
  static const std::regex no_number("[^a-z_\"][-]?(nan|inf)[^a-z_\"]", std::regex::icase);
  const bool is_document = holds_word(words, "-");
  const bool is_page = holds_word(words, "--html") || words[0] == "report" || words[0] == "plot";
  if (!is_page && printable_lines(guest.output) != guest.output) return "not printable";
  if (holds_word(words, "--json") && !nlohmann::json::accept(guest.output)) return "no JSON";
  if (!is_document && std::regex_search(guest.output, no_number)) return "NaN in: " + guest.output;
  return "";
}

/// Runs in a child process: a crash is a failure of this network alone, and says which command.
class Child {
 public:
  explicit Child(const std::filesystem::path& folder) : said_(folder / "said") {}

  /// What a command did wrong with the network of that number; empty: nothing.
  std::string fault(const std::filesystem::path& file, std::size_t number) const {
    std::filesystem::remove(said_);
    const pid_t child = ::fork();
    if (child == 0) {
      constexpr unsigned most_s = 60;
      std::signal(SIGALRM, SIG_DFL);
      ::alarm(most_s);
      ask(file, number);
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
    std::ifstream read(said_);
    const std::string said(std::istreambuf_iterator<char>(read), {});
    return WIFSIGNALED(status) ? fmt::format("signal {} in {}", WTERMSIG(status), said) : said;
  }

 private:
  void ask(const std::filesystem::path& file, std::size_t number) const {
    for (const CommandWords& words : always_asked) ask(words, file);
    for (std::size_t i = 0; i < asked_in_turn.size(); ++i) {
      if ((i + number) % turns == 0) ask(asked_in_turn[i], file);
    }
  }
  void ask(CommandWords words, const std::filesystem::path& file) const {
    std::replace(words.begin(), words.end(), std::string("FILE"), file.string());
    std::ofstream(said_) << fmt::format("{}", fmt::join(words, " "));
    const std::string fault = fault_of(words);
    if (fault.empty()) return;
    std::ofstream(said_, std::ios::app) << ": " << fault;
    ::_exit(1);
  }

  std::filesystem::path said_;
};

/// Asks all commands about each; how many were no networks at all.
void expect_no_fault(const odd::Networks& networks, std::size_t least_taken) {
  const TemporaryFolder folder;
  ::setenv("XDG_DATA_HOME", folder.path().c_str(), 1);  // not what was measured on this host
  // What ships is read once, here, and not by every child.
  ASSERT_EQ(fault_of({"predict", "lenet5", "--on", "v100,h100-sxm"}), "");
  const Child child(folder.path());
  std::size_t taken = 0;
  for (const odd::Network& network : networks) {
    const std::filesystem::path file = folder.file(network.file, network.bytes);
    Guest guest;
    const GuestRun run(guest);
    try {
      run_program(CommandWords{"show", file.string()});
    } catch (const Error& error) {
      EXPECT_NE(error.kind(), ErrorKind::internal) << network.bytes << '\n' << error.what();
      continue;
    }
    const std::string fault = child.fault(file, taken++);
    EXPECT_EQ(fault, "") << printable(network.bytes);
  }
  EXPECT_GE(taken, least_taken) << "a test of nothing";
}

TEST(OddNetworks, of_one_layer) { expect_no_fault(odd::of_one_layer(), 100); }
TEST(OddNetworks, of_some_layers) { expect_no_fault(odd::of_some_layers(450), 40); }
TEST(OddNetworks, of_onnx_nodes) { expect_no_fault(odd::of_onnx(), 50); }
TEST(OddNetworks, of_keras_layers) { expect_no_fault(odd::of_keras(), 30); }

// What a red team found first.
TEST(OddNetworks, that_crashed_once) {
  expect_no_fault(
      {{"a.json", odd::own_network(R"("x":["batch"])",
                                   R"({"op":"opaque","inputs":[],"shapes":[["batch"]]})")},
       {"b.json", odd::own_network(R"("x":["batch",3])", R"({"op":"flatten"})")},
       {"c.json",
        R"({"class_name":"Model","config":{"input_layers":[["a",0,0],["v",0,0]],"output_layers":[["la",0,0]],"layers":[{"class_name":"InputLayer","config":{"name":"a","batch_input_shape":[2]}},{"class_name":"InputLayer","config":{"name":"v","batch_input_shape":[null]}},{"inbound_nodes":[[]],"class_name":"Lambda","config":{"name":"la","output_shape":[]}}]}})"}},
      3);
}

}  // namespace
}  // namespace strata::test
