// SPDX-License-Identifier: Apache-2.0
// Names that strangers chose, through every command and every form of its output: nothing that
// steers a terminal, turns or hides text, or starts a formula comes out.
#include "strata/base/csv_cell.hpp"
#include "strata/base/printable.hpp"
#include "tests/cli/run_program.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace strata::test {
namespace {

using Json = nlohmann::json;

// Every class of base/printable.hpp. A network may not have control characters in its names.
const std::string turned = "\u202E\u2066\u200F\u061C\u200B\u200D\uFEFF\u2060\u2028\u2029";
const std::string steering = "\033]0;t\a\033[31m\u009B2J\r\n\x7F" + turned;

std::string content_at(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_hostile(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// The first line that holds a character that must not be there, as it may be shown.
std::string first_hostile_line(const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    if (printable_lines(line) != line || line.find('\033') != line.npos)
      return printable(line.substr(0, 400));
    at = end + 1;
  }
  return "";
}

void expect_no_formula(const std::string& csv) {
  std::size_t number = 0;
  for (std::size_t at = 0; at < csv.size(); ++number) {
    const std::size_t end = std::min(csv.find('\n', at), csv.size());
    for (const std::string& cell : csv_cells(csv.substr(at, end - at))) {
      const bool is_number =
          !cell.empty() && cell.find_first_not_of("0123456789.+-einfa") == cell.npos;
      const bool is_formula =
          !cell.empty() && std::string("=+-@").find(cell[0]) != std::string::npos;
      EXPECT_TRUE(is_number || !is_formula) << "line " << number << ": " << cell;
    }
    at = end + 1;
  }
}

class HostileNames : public testing::Test {
 protected:
  HostileNames() {
    Json network = {{"strata_network", 1},      {"name", "=net" + turned},
                    {"title", "=Net" + turned}, {"source", "=source" + turned},
                    {"dims", {{"batch", 4}}},   {"inputs", {{"in" + turned, {"batch", 3, 8, 8}}}}};
    network["layers"] = Json::array();
    const auto add = [&](Json layer, const char* name) {
      layer["name"] = name + turned;
      layer["block"] = "@block" + turned;
      network["layers"].push_back(layer);
    };
    add({{"op", "convolution"}, {"channels", 4}, {"kernel", 3}}, "=conv");
    add({{"op", "relu"}}, "-relu");
    add({{"op", "flatten"}}, "+flatten");
    add({{"op", "linear"}, {"features", 5}}, "@fc");
    write_hostile(model(), network.dump());
    EXPECT_EQ(run({"machine", "show", "v100", "--json", machine().string()}).exit_code, 0);
    Json chip = Json::parse(content_at(machine()));
    make_hostile(chip);
    write_hostile(machine(), chip.dump());
    write_hostile(trace(), hostile_trace());
  }

  std::filesystem::path model() const { return folder_.path() / ("=model" + turned + ".json"); }
  std::filesystem::path machine() const { return folder_.path() / "chip.json"; }
  std::filesystem::path trace() const { return folder_.path() / "trace.json"; }
  std::filesystem::path file(const std::string& name) const { return folder_.path() / name; }

  // Every text of the file that is no word of the format.
  static void make_hostile(Json& json, const std::string& key = "") {
    if (json.is_structured()) {
      for (auto& [name, value] : json.items()) make_hostile(value, json.is_array() ? key : name);
    } else if (json.is_string()) {
      const bool is_word = key == "dtype" || key == "unit" || key == "kind" || key == "pass" ||
                           key == "mix" || key == "name";
      if (!is_word) json = "=" + json.get<std::string>() + steering;
    }
  }

  static std::string hostile_trace() {
    const auto slice = [](const std::string& name, const std::string& category, int at) {
      return Json{{"ph", "X"},
                  {"name", "=" + name + steering},
                  {"cat", category},
                  {"ts", at},
                  {"dur", 5},
                  {"pid", 0},
                  {"tid", 7},
                  {"args",
                   {{"device", 0},
                    {"stream", 7},
                    {"correlation", at},
                    {"grid", {1, 1, 1}},
                    {"block", {32, 1, 1}}}}};
    };
    Json events = {slice("kernel", "kernel", 10), slice("cudaLaunchKernel", "cuda_runtime", 2),
                   slice("copy", "gpu_memcpy", 20), slice("aten::conv", "cpu_op", 1)};
    return Json{{"schemaVersion", 1},
                {"deviceProperties", {{{"id", 0}, {"name", "=GPU" + steering}}}},
                {"traceEvents", events}}
        .dump();
  }

  /// Runs it with no output flag, and once for each of these.
  void expect_clean(const std::vector<std::string>& words, const std::vector<std::string>& forms) {
    expect_clean_run(words, "");
    for (const std::string& form : forms) expect_clean_run(words, form);
  }

  void expect_clean_run(std::vector<std::string> words, const std::string& form) {
    const std::filesystem::path out = file(words[0] == "plot" ? "out.svg" : "out");
    std::filesystem::remove(out);
    if (!form.empty()) words.insert(words.end(), {"--" + form, out.string()});
    const Outcome outcome = run(words);
    SCOPED_TRACE(words[0] + " " + words[1] + (form.empty() ? "" : " --" + form));
    EXPECT_TRUE(outcome.exit_code == 0 || outcome.exit_code == 1) << outcome.err;
    EXPECT_EQ(first_hostile_line(outcome.out), "");
    EXPECT_EQ(first_hostile_line(outcome.err), "");
    if (form.empty()) return;
    const std::string text = content_at(out);
    EXPECT_FALSE(text.empty());
    EXPECT_EQ(first_hostile_line(text), "");
    if (form == "csv") expect_no_formula(text);
    if (form == "json" || form == "trace") {
      EXPECT_TRUE(Json::accept(text));
    }
  }

  TemporaryFolder folder_;
};

TEST_F(HostileNames, of_a_network_in_commands_about_one) {
  expect_clean({"show", model()}, {"csv", "json", "html", "dot"});
  expect_clean({"predict", model(), "--on", machine()}, {"csv", "json", "html", "trace"});
  expect_clean({"explain", model(), "--on", machine()}, {"csv", "json", "html"});
  expect_clean({"roofline", model(), "--on", machine()}, {"csv", "json", "html", "plot"});
  expect_clean({"roofline", model(), "--reuse", "--on", machine()}, {"csv", "json", "plot"});
  expect_clean({"compare", model(), "lenet5", "--on", machine()}, {"csv", "html"});
  expect_clean_run({"report", model(), "--on", machine()}, "out");
  expect_clean_run({"convert", model()}, "out");
  for (const char* kind : {"layers", "timeline", "roofline-classic"})
    expect_clean_run({"plot", model(), "--kind", kind, "--on", machine()}, "out");
}

TEST_F(HostileNames, of_a_network_that_is_measured) {
  expect_clean({"measure", model(), "--iterations", "1", "--warm-up", "1", "--on", machine()},
               {"csv", "json", "html", "trace"});
}

TEST_F(HostileNames, of_stored_results) {
  const std::string profile = file("=profile" + turned + ".json");
  ASSERT_EQ(run({"predict", model(), "--on", machine(), "--json", profile}).exit_code, 0);
  expect_clean({"explain", profile}, {"csv", "json", "html"});
  expect_clean({"roofline", profile, "--on", machine()}, {"csv", "json", "html", "plot"});
  expect_clean({"compare", profile, profile}, {"csv", "json", "html"});
  expect_clean_run({"report", profile}, "out");
}

TEST_F(HostileNames, of_sweeps) {
  const std::vector<std::string> sweep = {"sweep",   model(),      "--on",
                                          machine(), "--capacity", "1MB:4MB:x2"};
  expect_clean(sweep, {"csv", "jsonl", "html"});
  const std::string table = file("table.csv");
  std::vector<std::string> stored = sweep;
  stored.insert(stored.end(), {"--csv", table});
  ASSERT_EQ(run(stored).exit_code, 0);
  expect_clean({"sweep", "--from", table, "--pareto", "time,area"}, {"json", "html"});
  expect_clean_run({"plot", table, "--kind", "sweep-line"}, "out");
}

TEST_F(HostileNames, of_machines) {
  expect_clean({"machine", "show", machine()}, {"csv", "json", "html"});
  expect_clean({"machine", "diff", machine(), "v100"}, {"csv", "json", "html"});
  expect_clean({"predict", "lenet5", "--on", machine()}, {"csv", "json", "html"});
}

TEST_F(HostileNames, of_traces) {
  expect_clean({"trace", trace()}, {"csv", "json", "html", "trace"});
  for (const char* view : {"kernel", "class", "layer", "api", "copy"})
    expect_clean({"trace", trace(), "--by", view}, {"csv"});
}

TEST_F(HostileNames, in_errors) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"show", "no" + steering},
                                             {"predict", "lenet5", "--on", "no" + steering},
                                             {"sweep", "--from", file("none" + steering)},
                                             {"compare", "a" + steering, "b"},
                                             {"explain", trace().string() + steering},
                                             {"predict", "lenet5", "--" + steering},
                                             {"predict", "lenet5", "--set", steering + "=1"},
                                             {"plot", model(), "--kind", "k" + steering}}) {
    const Outcome outcome = run(words);
    EXPECT_NE(outcome.exit_code, 0);
    EXPECT_EQ(first_hostile_line(outcome.err), "") << words[0];
  }
}

TEST_F(HostileNames, come_back_from_a_network_that_was_written) {
  const std::string again = file("again.json");
  ASSERT_EQ(run({"convert", model(), "--out", again}).exit_code, 0);
  const Json written = Json::parse(content_at(again));
  EXPECT_EQ(written["layers"][0]["name"], "=conv" + turned);
}

}  // namespace
}  // namespace strata::test
