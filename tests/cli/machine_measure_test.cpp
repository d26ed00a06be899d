// SPDX-License-Identifier: Apache-2.0
// What `strata machine measure` refuses, what it writes of the CPU, and who reads that. GPUs are
// measured in tests/device. No test looks at how fast the machine is.
#include "strata/version.hpp"
#include "tests/cli/run_program.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace strata::test {
namespace {

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(MachineMeasure, a_device_that_does_not_exist_is_a_mistake_of_the_command_line) {
  for (const char* device :
       {"gpu", "CPU", "cpu:0", "cuda:", "cuda:x", "cuda:-1", "cuda:99999999999", "CUDA"}) {
    const Outcome outcome = run({"machine", "measure", "--device", device});
    EXPECT_EQ(outcome.exit_code, 2) << device;
    EXPECT_EQ(outcome.out, "");
    EXPECT_TRUE(has(outcome.err, "--device")) << outcome.err;
  }
}

TEST(MachineMeasure, two_outputs_in_one_place_are_refused) {
  const Outcome outcome = run({"machine", "measure", "--json", "-", "-o", "-"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_TRUE(has(outcome.err, "both write to")) << outcome.err;
}

TEST(MachineMeasure, its_flags_go_with_nothing_else) {
  EXPECT_EQ(run({"machine", "list", "--quick"}).exit_code, 2);
  EXPECT_EQ(run({"machine", "show", "h200", "--device", "cuda"}).exit_code, 2);
  EXPECT_EQ(run({"machine", "measure", "h200"}).exit_code, 2);
}

TEST(MachineMeasure, without_cuda_it_says_so_and_what_still_works) {
  if (!cuda_toolkit_version.empty()) GTEST_SKIP() << "this build has CUDA";
  const Outcome outcome = run({"machine", "measure", "--device", "cuda"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(has(outcome.err, "built without CUDA")) << outcome.err;
  EXPECT_TRUE(has(outcome.err, "strata list machines")) << outcome.err;
}

std::string content_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Measures once, and lets every command that takes machines have the file.
TEST(MachineMeasure, of_the_cpu_is_a_machine_for_every_command) {
  const TemporaryFolder folder;
  const Surroundings at_home{.environment = {"XDG_DATA_HOME=" + folder.path().string()}};
  const Outcome before = run({"predict", "lenet5"}, at_home);
  EXPECT_TRUE(has(before.out, "NVIDIA H100 SXM5")) << before.out;

  const Outcome outcome = run({"machine", "measure", "--device", "cpu", "--quick"}, at_home);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* part : {"cpu, measured on ", "fp32 ", "DRAM ", "launch_latency_s", "STREAM"}) {
    if (std::string_view(part) == "launch_latency_s" && has(outcome.out, "with one thread"))
      continue;
    EXPECT_TRUE(has(outcome.out, part)) << part << " is not in\n" << outcome.out;
  }
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path() / "strata/machines"))
    files.push_back(entry.path());
  ASSERT_EQ(files.size(), 1U);
  const std::string file = files.front().string();
  EXPECT_TRUE(file.ends_with("-cpu.json")) << file;
  EXPECT_TRUE(has(outcome.err, "written to " + file)) << outcome.err;

  EXPECT_EQ(run({"machine", "show", file, "--json", "-"}).out, content_of_file(file));
  EXPECT_EQ(run({"machine", "show", file}).out, outcome.out);
  EXPECT_EQ(run({"machine", "diff", file, "grace"}).exit_code, 0);
  EXPECT_EQ(run({"machine", "merge", file, file}).exit_code, 0);
  // A prediction for the machine at hand names it; what reads the prediction finds it there.
  const std::string profile = (folder.path() / "profile.json").string();
  ASSERT_EQ(run({"predict", "lenet5", "--json", profile}, at_home).exit_code, 0);
  std::ofstream(folder.path() / "strata/machines/another-cpu.json") << "{";  // of no use
  const Outcome roofline = run({"roofline", profile}, at_home);
  EXPECT_EQ(roofline.exit_code, 0) << roofline.err;
  EXPECT_EQ(run({"roofline", profile}).exit_code, 2);  // elsewhere nobody knows it
  const Outcome named = run({"predict", "lenet5", "--on", file});
  EXPECT_EQ(named.exit_code, 0) << named.err;
  EXPECT_TRUE(has(named.out, "(measured) (")) << named.out;
  // By its name, which the list of machines tells.
  const std::string name = read_machine(content_of_file(file)).name;
  EXPECT_TRUE(has(run({"machine", "list", "--csv", "-"}, at_home).out, "\n" + name + ","));
  EXPECT_EQ(run({"predict", "lenet5", "--on", name}, at_home).out, named.out);
  EXPECT_EQ(run({"sweep", "lenet5", "--batch", "8", "--on", "v100," + name}, at_home).exit_code, 0);
  EXPECT_EQ(run({"predict", "lenet5", "--on", name}).exit_code, 2);
  const Outcome meant = run({"predict", "lenet5"}, at_home);
  EXPECT_TRUE(has(meant.out, "(measured), the machine at hand (")) << meant.out;
  EXPECT_TRUE(has(run({"sweep", "lenet5", "--batch", "8", "--csv", "-"}, at_home).out, file));
  EXPECT_TRUE(has(run({"predict", "lenet5", "--on", "v100"}, at_home).out, "NVIDIA V100"));

  // A damaged file, or a pipe that nobody writes into, stops no one who names a machine.
  std::ofstream(file) << "{";
  const Outcome damaged = run({"predict", "lenet5"}, at_home);
  EXPECT_EQ(damaged.exit_code, 2);
  EXPECT_TRUE(has(damaged.err, "measure it again with `strata machine measure`")) << damaged.err;
  EXPECT_EQ(run({"predict", "lenet5", "--on", "h200"}, at_home).exit_code, 0);
  std::filesystem::remove(file);
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  const Outcome piped = run({"predict", "lenet5"}, at_home);
  EXPECT_EQ(piped.exit_code, 2);
  EXPECT_TRUE(has(piped.err, "not a file")) << piped.err;
}

// One small case: what is measured is kept, and makes expected times on this CPU.
TEST(MachineMeasure, a_calibration_makes_expected_times_on_the_cpu) {
  const TemporaryFolder folder;
  const Surroundings at_home{.environment = {"XDG_DATA_HOME=" + folder.path().string()}};
  const std::vector<std::string> measure = {"machine", "measure", "--device", "cpu", "--quick"};
  ASSERT_EQ(run(measure, at_home).exit_code, 0);
  const Outcome without = run({"predict", "lenet5", "--json", "-"}, at_home);
  EXPECT_TRUE(has(without.out, "strata machine measure --device cpu --calibrate")) << without.out;
  EXPECT_EQ(run({"predict", "lenet5", "--framework", "strata"}, at_home).exit_code, 2);

  std::vector<std::string> calibrate = measure;
  calibrate.insert(calibrate.end(), {"--calibrate", "--only", "rnn"});
  const Outcome outcome = run(calibrate, at_home);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(has(outcome.out, "rnn.backward  fp32")) << outcome.out;
  EXPECT_TRUE(has(outcome.err, "1 cases, at most ")) << outcome.err;
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(folder.path() / "strata/calibrations"))
    files.push_back(entry.path());
  ASSERT_EQ(files.size(), 1U);
  const std::string file = files.front().string();
  EXPECT_TRUE(has(outcome.err, "calibration written to " + file)) << outcome.err;
  const Outcome expected = run({"predict", "lenet5"}, at_home);
  EXPECT_TRUE(has(expected.out, "strata, calibrated on ")) << expected.out;
  EXPECT_TRUE(has(run({"list", "frameworks"}, at_home).out, "-measured")) << "where it is from";

  // The host of a CPU is the device: it takes no time of its own, and no column says 0 ns.
  const auto shown = nlohmann::json::parse(run({"predict", "lenet5", "--json", "-"}, at_home).out);
  EXPECT_EQ(shown["expected"]["host_s"], 0);
  const std::string truth = (folder.path() / "truth.json").string();
  std::ofstream(truth)
      << R"({"strata_truth": 1, "name": "mine", "framework": "strata", "machine": ")"
      << shown["machine"]["name"].get<std::string>()
      << R"(", "what": "by hand", "runs": [{"model": "lenet5", "batch": 32,
                            "precision": "fp32", "iteration_s": 0.001}]})";
  const Outcome validated = run({"validate", truth}, at_home);
  EXPECT_TRUE(has(validated.out, "farthest off")) << validated.out << validated.err;
  EXPECT_FALSE(has(validated.out, "0.00 ns")) << validated.out;

  // The same fit from the file.
  const std::string again = (folder.path() / "again.json").string();
  ASSERT_EQ(run({"machine", "fit", file, "-o", again}).exit_code, 0);
  EXPECT_EQ(content_of_file(again), content_of_file(file));

  std::ofstream(file) << R"({"strata_calibration": 1, "name": 7})";
  const Outcome broken = run({"predict", "lenet5"}, at_home);
  EXPECT_EQ(broken.exit_code, 2);
  EXPECT_TRUE(has(broken.err, file)) << broken.err;
  EXPECT_TRUE(has(broken.err, "calibration.name")) << broken.err;
  EXPECT_EQ(run({"predict", "lenet5", "--framework", "none"}, at_home).exit_code, 0);
}

TEST(MachineMeasure, flags_of_a_calibration_that_mean_nothing_are_refused) {
  const std::vector<std::vector<std::string>> refused = {
      {"machine", "measure", "--device", "cpu", "--only", "relu"},
      {"machine", "measure", "--device", "cpu", "--framework", "strata"},
      {"machine", "measure", "--device", "cpu", "--calibrate", "--framework", "caffe"},
      {"machine", "measure", "--device", "cpu", "--calibrate", "--framework", "pytorch-eager"},
      {"machine", "measure", "--device", "cpu", "--calibrate", "--dry-run", "--only", "nothing"},
      {"machine", "list", "--calibrate"}};
  for (const auto& words : refused) EXPECT_EQ(run(words).exit_code, 2) << words.back();
  const Outcome homeless =
      run({"machine", "measure", "--device", "cpu", "--quick", "--calibrate", "--only", "rnn"},
          {.environment = {"HOME="}});
  EXPECT_EQ(homeless.exit_code, 3) << homeless.err;
  EXPECT_EQ(homeless.out, "") << "refused before anything is measured";
  if (!cuda_toolkit_version.empty()) return;
  EXPECT_EQ(run({"machine", "measure", "--device", "cuda", "--calibrate"}).exit_code, 3);
}

TEST(MachineMeasure, a_dry_run_of_a_calibration_lists_its_cases) {
  const Outcome outcome =
      run({"machine", "measure", "--device", "cpu", "--calibrate", "--dry-run"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* name : {"convolution 3x3\n", "linear\n", "update adam of 12\n"})
    EXPECT_TRUE(has(outcome.out, name)) << name;
}

// The stand-ins of Highway and hwloc: the loops check their results themselves.
TEST(MachineMeasure, without_libraries_it_says_so_and_measures_all_the_same) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "plain.json").string();
  const Outcome outcome = run_words(
      {STRATA_WITHOUT_LIBRARIES, "machine", "measure", "--device", "cpu", "--quick", "-o", file});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(has(outcome.out, "compiled for the baseline only")) << outcome.out;
  EXPECT_TRUE(has(outcome.out, "topology sysfs")) << outcome.out;
  EXPECT_EQ(outcome.err, "");  // -o: nothing is kept elsewhere
  EXPECT_EQ(run({"machine", "show", file}).out, outcome.out);
}

TEST(MachineMeasure, a_dry_run_says_what_would_be_measured) {
  const TemporaryFolder folder;
  const Surroundings at_home{.environment = {"XDG_DATA_HOME=" + folder.path().string()}};
  const Outcome outcome = run({"machine", "measure", "--device", "cpu", "--dry-run"}, at_home);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("cpu: ")) << outcome.out;
  EXPECT_TRUE(has(outcome.out, " measured (")) << outcome.out;
  EXPECT_TRUE(has(outcome.out, "fp32, fp64: ")) << outcome.out;
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  const Outcome plain =
      run_words({STRATA_WITHOUT_LIBRARIES, "machine", "measure", "--device", "cpu", "--dry-run"});
  EXPECT_TRUE(has(plain.out, "(sysfs)")) << plain.out;
  EXPECT_TRUE(has(plain.out, "compiled for the baseline only")) << plain.out;
}

TEST(MachineMeasure, a_broken_machine_at_hand_is_named) {
  const TemporaryFolder folder;
  std::array<char, 256> host{};
  ASSERT_EQ(::gethostname(host.data(), host.size() - 1), 0);
  const auto place = folder.path() / ".local/share/strata/machines";
  std::filesystem::create_directories(place);
  const auto file = place / (std::string(host.data()) + "-gpu0.json");
  std::ofstream(file) << "{";
  const Outcome outcome =
      run({"predict", "lenet5"}, {.environment = {"HOME=" + folder.path().string()}});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_TRUE(has(outcome.err, file.string())) << outcome.err;
  EXPECT_EQ(run({"predict", "lenet5"}, {.environment = {"HOME=relative"}}).exit_code, 0);
}

}  // namespace
}  // namespace strata::test
