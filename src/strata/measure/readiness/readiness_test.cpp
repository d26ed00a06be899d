// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/readiness/readiness.hpp"

#include "strata/base/temporary_folder_test.hpp"
#include "strata/base/text.hpp"
#include "strata/cpu/allowance.hpp"
#include "strata/measure/ceilings/cpu/kernels.hpp"
#include "strata/version.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>

namespace strata {
namespace {

/// A computer made of files.
class Computer {
 public:
  void write(const std::filesystem::path& file, const std::string& text) const {
    const std::filesystem::path path = sources().root / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  /// The same for every processor that this process may use.
  void write_for_all_processors(const std::string& file, const std::string& text) const {
    for (const int processor : cpu::allowed_processors())
      write("sys/devices/system/cpu/cpu" + std::to_string(processor) + "/" + file, text);
  }
  ReadinessSources sources() const {
    return {folder_.path(), [this](const char* name) -> std::string {
              const auto found = environment.find(name);
              return found == environment.end() ? "" : found->second;
            }};
  }
  std::map<std::string, std::string> environment;

 private:
  test::TemporaryFolder folder_;
};

const ReadyItem& item_named(const std::vector<ReadyItem>& items, std::string_view name) {
  const auto found = std::find_if(items.begin(), items.end(),
                                  [&](const ReadyItem& item) { return item.name == name; });
  static const ReadyItem none{.name = "not there"};
  return found == items.end() ? none : *found;
}

TEST(Readiness, says_whether_python_finds_the_package) {
  const auto with = [](std::string output) {
    return python_readiness({"/", {}, [output](const char*) { return output; }});
  };
  const ReadyItem there = with("3.11.2\n0.9.0\n/lib/strata/__init__.py\n");
  EXPECT_EQ(there.state, ReadyState::ready);
  EXPECT_EQ(there.finding, "version 0.9.0 in /lib/strata/__init__.py, Python 3.11.2");
  const ReadyItem absent = with("3.11.2\n");
  EXPECT_EQ(absent.state, ReadyState::missing);
  EXPECT_EQ(absent.finding, "not installed: Python 3.11.2 finds no package strata");
  EXPECT_NE(absent.remedy.find("pip install ."), std::string::npos);
  EXPECT_NE(with("").remedy.find("apt-get install python3"), std::string::npos);
}

TEST(Readiness, parts_of_the_build_are_those_that_cmake_chose) {
  const auto items = build_readiness(
      "onnx\tyes\tONNX files\tONNX files are refused\n"
      "cbc\tno\texact plans\tthe optimum is not found\nnonsense\n");
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0].state, ReadyState::ready);
  EXPECT_EQ(items[0].finding, "ONNX files");
  EXPECT_EQ(items[1].state, ReadyState::missing);
  EXPECT_EQ(items[1].finding, "exact plans: not in this build; the optimum is not found");
  EXPECT_NE(items[1].remedy, "");
  const auto here = build_readiness(build_parts);
  for (const char* part : {"onnx", "cuda", "cupti", "openblas", "onednn", "mpi", "page"})
    EXPECT_EQ(item_named(here, part).name, part);
}

TEST(Readiness, every_part_says_what_its_absence_costs) {
  for (const std::string_view line : split(build_parts, '\n')) {
    if (line.empty()) continue;
    const std::vector<std::string_view> fields = split(line, '\t');
    ASSERT_EQ(fields.size(), 4U) << line;
    EXPECT_GT(fields[3].size(), 10U) << line;
  }
}

TEST(Readiness, clocks_of_the_cpu_are_told_with_the_remedy) {
  Computer computer;
  computer.write_for_all_processors("cpufreq/scaling_governor", "powersave\n");
  computer.write_for_all_processors("thermal_throttle/core_throttle_count", "17\n");
  computer.write("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n");
  const auto slow = cpu_readiness(computer.sources());
  EXPECT_EQ(item_named(slow, "clock governor").state, ReadyState::limited);
  EXPECT_NE(item_named(slow, "clock governor").remedy.find("performance"), std::string::npos);
  EXPECT_NE(item_named(slow, "throttling").finding.find("17"), std::string::npos);
  EXPECT_NE(item_named(slow, "boost").finding.find("on:"), std::string::npos);
  computer.write_for_all_processors("cpufreq/scaling_governor", "performance\n");
  computer.write_for_all_processors("thermal_throttle/core_throttle_count", "0\n");
  computer.write("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
  const auto steady = cpu_readiness(computer.sources());
  EXPECT_EQ(item_named(steady, "clock governor").state, ReadyState::ready);
  EXPECT_EQ(item_named(steady, "throttling").state, ReadyState::ready);
  EXPECT_NE(item_named(steady, "boost").finding.find("off:"), std::string::npos);
}

TEST(Readiness, the_vector_code_is_named_and_may_be_less_than_there_is) {
  cpu::VectorUnit unit{.name = "AVX2", .bits = 256, .chosen_by = "chosen by a test"};
  const ReadyItem best = vector_readiness(unit);
  EXPECT_EQ(best.finding, "AVX2, 256 bits, chosen by a test");
  EXPECT_EQ(best.state, ReadyState::ready);
  EXPECT_EQ(best.remedy, "");
  unit.may_be_less = true;
  const ReadyItem less = vector_readiness(unit);
  EXPECT_EQ(less.state, ReadyState::limited);
  EXPECT_NE(less.remedy.find("libhwy-dev"), std::string::npos);
  EXPECT_EQ(item_named(cpu_readiness(Computer().sources()), "vector code").finding,
            cpu::vector_unit().description());
}

TEST(Readiness, what_the_system_does_not_say_is_said_to_be_unknown) {
  const Computer bare;
  const auto items = cpu_readiness(bare.sources());
  for (const char* name : {"clock governor", "boost", "throttling"}) {
    EXPECT_EQ(item_named(items, name).state, ReadyState::limited) << name;
    EXPECT_NE(item_named(items, name).finding.find("does not"), std::string::npos) << name;
  }
}

TEST(Readiness, counters_of_the_cpu_work_or_have_a_reason) {
  const ReadyItem item = item_named(cpu_readiness(this_computer()), "counters");
  EXPECT_NE(item.finding, "");
  if (item.state == ReadyState::ready) {
    EXPECT_NE(item.finding.find("instructions"), std::string::npos);
  }
}

TEST(Readiness, permission_for_counters_follows_the_driver) {
  Computer computer;
  EXPECT_EQ(item_named(gpu_readiness(computer.sources()), "driver").state, ReadyState::missing);
  computer.write(
      "proc/driver/nvidia/version",
      "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release\nGCC\n");
  computer.write("proc/driver/nvidia/params", "Mobile: 0\nRmProfilingAdminOnly: 0\n");
  const auto open = gpu_readiness(computer.sources());
  EXPECT_EQ(item_named(open, "driver").finding, "580.159.04");
  EXPECT_EQ(item_named(open, "counter permission").state, ReadyState::ready);
  computer.write("proc/driver/nvidia/params", "RmProfilingAdminOnly: 1\n");
  const ReadyItem closed = item_named(gpu_readiness(computer.sources()), "counter permission");
  EXPECT_NE(closed.finding.find("only root"), std::string::npos);
  EXPECT_EQ(closed.state == ReadyState::missing,
            closed.remedy.find("NVreg_RestrictProfilingToAdminUsers=0") != std::string::npos);
}

TEST(Readiness, a_profiler_of_the_environment_is_named) {
  Computer computer;
  EXPECT_EQ(item_named(gpu_readiness(computer.sources()), "other profilers").state,
            ReadyState::ready);
  computer.environment["CUDA_INJECTION64_PATH"] = "libother.so";
  const ReadyItem item = item_named(gpu_readiness(computer.sources()), "other profilers");
  EXPECT_EQ(item.state, ReadyState::limited);
  EXPECT_NE(item.finding.find("libother.so"), std::string::npos);
  EXPECT_EQ(item.remedy, "unset CUDA_INJECTION64_PATH");
}

}  // namespace
}  // namespace strata
