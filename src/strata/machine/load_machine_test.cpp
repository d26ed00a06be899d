// SPDX-License-Identifier: Apache-2.0
#include "strata/machine/load_machine.hpp"

#include "strata/base/embedded.hpp"
#include "strata/base/error.hpp"
#include "strata/base/temporary_folder_test.hpp"
#include "strata/machine/area.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <functional>
#include <string>

namespace strata {
namespace {

std::string refusal_while(ErrorKind kind, const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    return error.what();
  }
  return "accepted";
}

TEST(LoadMachine, every_shipped_name_and_its_file) {
  const test::TemporaryFolder folder;
  for (const EmbeddedFile& file : embedded_machines()) {
    EXPECT_EQ(load_machine(file.name).name, file.name);
    const auto path = folder.path() / "mine.json";
    std::ofstream(path) << file.text;
    EXPECT_EQ(load_machine(path.string()).name, file.name);
  }
}

TEST(LoadMachine, nobody_waits_for_a_pipe_that_a_file_names) {
  const test::TemporaryFolder folder;
  const std::string pipe = (folder.path() / "pipe.json").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string refusal = refusal_while(ErrorKind::input, [&] { load_recorded_machine(pipe); });
  EXPECT_NE(refusal.find("pipe.json: expected a file, got a folder, a device or a pipe"),
            std::string::npos)
      << refusal;
  EXPECT_EQ(load_recorded_machine("k40c").name, "k40c");
}

TEST(LoadMachine, says_what_is_near_and_what_is_wrong_with_a_file) {
  const auto load = [](const std::string& name) {
    return refusal_while(ErrorKind::input, [&] { load_machine(name); });
  };
  EXPECT_NE(load("h100").find("did you mean h100-pcie, h100-sxm"), std::string::npos)
      << load("h100");
  EXPECT_EQ(load("nowhere/m.json"), "nowhere/m.json: no such file");
  const test::TemporaryFolder folder;
  EXPECT_NE(load(folder.path().string() + "/").find("is a folder"), std::string::npos);
  const auto path = folder.path() / "bad.json";
  std::ofstream(path) << "{\"strata_machine\": 1}";
  EXPECT_EQ(load(path.string()), path.string() + ": machine: 'name' is missing");
}

std::string_view unit_of_field(std::string_view path) {
  if (path.ends_with("flop_per_s")) return "FLOP/s";
  if (path.ends_with("bytes_per_s")) return "B/s";
  return path.ends_with("bytes") ? "B" : "s";
}

TEST(SetField, changes_each_number_of_each_machine_and_nothing_else) {
  for (const Machine& machine : shipped_machines()) {
    for (const std::string& path : fields_of(machine)) {
      Machine changed = machine;
      set_field(changed, fmt::format("{}=7{}", path, unit_of_field(path)));
      int differences = 0;
      for (std::size_t i = 0; i < machine.peaks.size(); ++i)
        differences += changed.peaks[i].flop_per_s.value == 7;
      for (const MemoryLevel& level : changed.memory) {
        differences += level.capacity_bytes.value == 7;
        differences += level.bandwidth_bytes_per_s && level.bandwidth_bytes_per_s->value == 7;
      }
      differences += changed.launch_latency_s && changed.launch_latency_s->value == 7;
      differences += changed.graph_node_latency_s && changed.graph_node_latency_s->value == 7;
      EXPECT_EQ(differences, 1) << machine.name << " " << path;
    }
  }
}

TEST(SetField, reads_units_ignores_case_and_keeps_who_said_so) {
  Machine machine = load_machine("h100-sxm");
  set_field(machine, "machine.memory.L2.capacity_bytes=128MiB");
  EXPECT_EQ(last_on_chip(machine)->capacity_bytes.value, 128.0 * (1 << 20));
  EXPECT_EQ(last_on_chip(machine)->capacity_bytes.source,
            "--set machine.memory.L2.capacity_bytes=128MiB");
  set_field(machine, "machine.peaks.fp32.vector.flop_per_s = 20TFLOP/s");
  set_field(machine, "machine.launch_latency_s=2us");
  EXPECT_EQ(machine.launch_latency_s->value, 2e-6);
  Machine radeon = load_machine("radeon-6900-xt");
  set_field(radeon, "machine.memory.Infinity Cache.bandwidth_bytes_per_s=1.6TB/s");
  EXPECT_EQ(last_on_chip(radeon)->bandwidth_bytes_per_s->value, 1.6e12);
}

TEST(SetField, refuses_what_does_not_exist_or_makes_no_sense) {
  const auto set = [](const std::string& text) {
    return refusal_while(ErrorKind::usage, [&] {
      Machine machine = load_machine("h100-sxm");
      set_field(machine, text);
    });
  };
  EXPECT_NE(set("machine.memory.L3.capacity_bytes=1MiB").find("machine.memory.l2.capacity_bytes"),
            std::string::npos);
  EXPECT_NE(set("machine.memory.L2.capacity_bytes=0").find("must be positive"), std::string::npos);
  for (const char* text : {"machine.launch_latency_s", "machine.launch_latency_s=-1s",
                           "machine.peaks.fp32.vector.flop_per_s=nan",
                           "machine.peaks.fp32.vector.flop_per_s=inf", "name=x", "=3"}) {
    EXPECT_NE(set(text), "accepted") << text;
  }
}

TEST(Area, is_the_cells_alone) {
  // 2^20 bytes are 8,388,608 bits of 0.074 µm².
  EXPECT_NEAR(area_mm2(1 << 20, "16nm"), 0.620757, 1e-6);
  EXPECT_NEAR(area_mm2(1 << 20, "5nm"), 0.176161, 1e-6);
  EXPECT_LT(area_mm2(1 << 30, "16nm"), reticle_mm2);
  EXPECT_GT(area_mm2(1 << 30, "16nm") * 1.3, reticle_mm2);
  EXPECT_NE(refusal_while(ErrorKind::usage, [] { area_mm2(1, "3 parsec"); }).find("16nm, 5nm"),
            std::string::npos);
}

}  // namespace
}  // namespace strata
