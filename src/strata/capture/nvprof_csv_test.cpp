// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/nvprof_csv.hpp"

#include "strata/base/error.hpp"
#include "strata/base/temporary_folder_test.hpp"
#include "strata/capture/read_recording.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace strata {
namespace {

constexpr std::string_view gpu_trace_head =
    "\"Start\",\"Duration\",\"Grid X\",\"Grid Y\",\"Grid Z\",\"Block X\",\"Block Y\",\"Block Z\","
    "\"Registers Per Thread\",\"Static SMem\",\"Dynamic SMem\",\"Size\",\"Throughput\","
    "\"SrcMemType\",\"DstMemType\",\"Device\",\"Context\",\"Stream\",\"Name\",\"Correlation_ID\"\n"
    "ms,us,,,,,,,,KB,B,KB,GB/s,,,,,,,\n";

Recording read_nvprof_text(const std::string& text) { return read_nvprof_csv(*text_source(text)); }

std::string nvprof_refusal(const std::string& text) {
  try {
    read_nvprof_text(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return error.what();
  }
  return "accepted";
}

TEST(NvprofCsv, a_trace_of_the_gpu_is_read_in_base_units) {
  const Recording recording = read_nvprof_text(
      "==77== NVPROF is profiling process 77, command: python train.py --batch 4, 8\n"
      "==77== Profiling result:\n" +
      std::string(gpu_trace_head) +
      "2.5,10,4,2,1,128,1,1,32,1.5,256,,,,,\"Tesla K80 (1)\",\"1\",\"7\",\"void "
      "k<float>(float*, int) [112]\",112\n"
      "1.0,2,,,,,,,,,,1.003906,0.5,\"Pinned\",\"Device\",\"Tesla K80 (1)\",\"1\",\"7\",\"[CUDA "
      "memcpy HtoD]\",108\n"
      "3.0,1,,,,,,,,,,2,0.5,\"Device\",,\"Tesla K80 (1)\",\"1\",\"7\",\"[CUDA memset]\",113\n"
      "4.0,1,,,,,,,,,,2,0.5,,,\"Tesla K80 (1)\",\"1\",\"7\",\"[Unified Memory GPU page "
      "faults]\",0\n"
      "==77== Warning: some, with a comma\n");
  EXPECT_EQ(recording.process.pid, 77);
  EXPECT_EQ(recording.process.command, "python train.py --batch 4, 8");
  ASSERT_EQ(recording.process.devices.size(), 1U);
  EXPECT_EQ(recording.process.devices[0].name, "Tesla K80");
  ASSERT_EQ(recording.kernels.size(), 1U);
  const KernelRecord& kernel = recording.kernels[0];
  EXPECT_EQ(recording.names.text(kernel.name), "void k<float>(float*, int)");
  EXPECT_EQ(kernel.time, (TimeSpan{2'500'000, 2'510'000}));
  EXPECT_EQ(kernel.correlation, 112U);
  EXPECT_EQ(kernel.grid, (std::array<std::uint32_t, 3>{4, 2, 1}));
  EXPECT_EQ(kernel.registers, 32U);
  EXPECT_EQ(kernel.static_shared_bytes, 1536U);  // a KB of nvprof is 1024 bytes
  EXPECT_EQ(kernel.dynamic_shared_bytes, 256U);
  EXPECT_EQ(kernel.device, 1U);
  ASSERT_EQ(recording.copies.size(), 1U);
  EXPECT_EQ(recording.copies[0].bytes, 1028);
  EXPECT_EQ(recording.copies[0].kind, CopyKind::host_to_device);
  EXPECT_EQ(recording.copies[0].source, MemoryKind::pinned);
  ASSERT_EQ(recording.fills.size(), 1U);
  EXPECT_EQ(recording.fills[0].bytes, 2048);
  ASSERT_EQ(recording.notes.size(), 1U);
  EXPECT_TRUE(recording.notes[0].starts_with("1 rows")) << recording.notes[0];
}

TEST(NvprofCsv, a_trace_of_calls_is_read_too) {
  const Recording recording = read_nvprof_text(
      "======== Profiling result:\n\"Start\",\"Duration\",\"Name\",\"Correlation_ID\"\nus,us,,\n"
      "5.0,3.0,\"cudaLaunchKernel (void k<float>(float*, int) [112])\",112\n"
      "0.5,1.0,\"cuDeviceGetCount\",2\n");
  ASSERT_EQ(recording.calls.size(), 2U);
  EXPECT_EQ(recording.calls[0].kind, ApiKind::driver);
  EXPECT_EQ(recording.names.text(recording.calls[1].name), "cudaLaunchKernel");
  EXPECT_EQ(recording.calls[1].time, (TimeSpan{5000, 8000}));
  EXPECT_EQ(recording.calls[1].correlation, 112U);
}

TEST(NvprofCsv, what_is_no_trace_is_refused_with_what_to_do) {
  const auto says = [](const std::string& text, std::string_view what) {
    const std::string refusal = nvprof_refusal(text);
    EXPECT_NE(refusal.find(what), std::string::npos) << refusal;
  };
  says("\"Type\",\"Time(%)\",\"Time\",\"Calls\",\"Avg\",\"Min\",\"Max\",\"Name\"\n",
       "line 1: a summary of nvprof");
  says("==1== x\n\"Time(%)\",\"Time\",\"Calls\",\"Avg\",\"Min\",\"Max\",\"Name\"\n",
       "--print-gpu-trace");
  says("\"Device\",\"Kernel\",\"Invocations\",\"Metric Name\"\n", "metrics of nvprof");
  says("hello\n", "no table");
  says("\"Start\",\"Duration\",\"Size\"\nms,ms,B\n", "no column 'Name'");
  says("\"Start\",\"Duration\",\"Name\"\n", "no row of units");
  says("\"Start\",\"Duration\",\"Name\"\n,,\n1,2,\"k\"\n", "no unit of Start");
  says("\"Start\",\"Duration\",\"Name\"\nms,ms,\n", "no kernel, copy or call");
  says("\"Start\",\"Duration\",\"Name\"\nms,ms,\n1,-2,\"cudaFree\"\n", "line 3: Start or Duration");
  says("\"Start\",\"Duration\",\"Name\"\ns,s,\n1e300,2,\"cudaFree\"\n", "is no time");
  says("\"Start\",\"Duration\",\"Name\"\nms,ms,\n1,2\n", "line 3: 2 cells, the head has 3");
}

TEST(NvprofCsv, is_told_by_its_content) {
  const test::TemporaryFolder folder;
  const std::filesystem::path trace = folder.path() / "a.txt", summary = folder.path() / "b.csv";
  std::ofstream(trace) << "==1== NVPROF is profiling process 1, command: a\n"
                       << "\"Start\",\"Duration\",\"Name\"\nms,ms,\n1,2,\"cudaFree\"\n";
  std::ofstream(summary) << "\"Type\",\"Time(%)\",\"Time\",\"Calls\",\"Avg\"\n";
  EXPECT_TRUE(is_recording(trace));
  EXPECT_EQ(read_recordings(trace).at(0).process.source_format, "nvprof CSV");
  EXPECT_TRUE(is_recording(summary));  // so that the refusal above is what a user sees
  EXPECT_THROW(read_recordings(summary), Error);
}

}  // namespace
}  // namespace strata
