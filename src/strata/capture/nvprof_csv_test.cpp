// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/nvprof_csv.hpp"

#include "strata/base/error.hpp"
#include "strata/base/temporary_folder_test.hpp"
#include "strata/capture/read_recording.hpp"
#include "strata/capture/trace_tables.hpp"

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
  EXPECT_TRUE(is_recording(summary));  // so that the refusal below is what a user sees
  EXPECT_THROW(read_recordings(summary), Error);
}

const RecordedSum& sum_named(const Recording& recording, std::string_view name) {
  static const RecordedSum none;
  for (const RecordedSum& sum : recording.sums) {
    if (recording.names.text(sum.name).find(name) != std::string_view::npos) return sum;
  }
  ADD_FAILURE() << name;
  return none;
}

constexpr std::string_view summary_rows_csv =
    "\"Type\",\"Time(%)\",\"Time\",\"Calls\",\"Avg\",\"Min\",\"Max\",\"Name\"\n"
    ",%,ms,,ms,us,ms,\n"
    "\"GPU activities\",60.0,6.0,3,2.0,1000,3.5,\"void implicit_convolve_sgemm<float>(int, int)\"\n"
    "\"GPU activities\",30.0,3.0,2,1.5,1000,2.0,\"[CUDA memcpy HtoD]\"\n"
    "\"GPU activities\",10.0,1.0,1,1.0,1000,1.0,\"[CUDA memset]\"\n"
    "\"API calls\",75.0,30.0,3,10.0,9,29.0,\"cudaLaunchKernel\"\n"
    "\"API calls\",25.0,10.0,40,0.25,0.12,9.0,\"cuDeviceGetAttribute\"\n";
constexpr std::string_view summary_rows_text =
    "            Type  Time(%)      Time     Calls       Avg       Min       Max  Name\n"
    " GPU activities:   60.00%  6.0000ms         3  2.0000ms  1.0000ms  3.5000ms  void "
    "implicit_convolve_sgemm<float>(int, int)\n"
    "                   30.00%  3.0000ms         2  1.5000ms  1.0000ms  2.0000ms  [CUDA memcpy "
    "HtoD]\n"
    "                   10.00%  1.0000ms         1  1.0000ms  1.0000ms  1.0000ms  [CUDA memset]\n"
    "      API calls:   75.00%  30.000ms         3  10.000ms  9.0000us  29.000ms  "
    "cudaLaunchKernel\n"
    "                   25.00%  10.000ms        40  250.00us     120ns  9.0000ms  "
    "cuDeviceGetAttribute\n";

TEST(NvprofTables, a_summary_is_read_as_csv_and_as_text_alike) {
  for (const std::string_view rows : {summary_rows_csv, summary_rows_text}) {
    const Recording recording = read_nvprof_text(
        "==9== NVPROF is profiling process 9, command: python train.py -b 4\n=> creating model\n"
        "==9== Profiling result:\n" +
        std::string(rows));
    EXPECT_EQ(recording.process.pid, 9);
    EXPECT_FALSE(recording.process.has_times);
    ASSERT_EQ(recording.sums.size(), 5U);
    const TraceTables tables = make_trace_tables(recording);
    ASSERT_EQ(tables.by_kernel.size(), 1U);
    EXPECT_EQ(tables.by_kernel[0].kernel_class.name, "convolution");
    EXPECT_EQ(tables.by_kernel[0].time.calls, 3);
    EXPECT_EQ(tables.by_kernel[0].time.total_ns, 6'000'000);
    EXPECT_EQ(tables.by_kernel[0].time.least_ns, 1'000'000);
    EXPECT_EQ(tables.by_kernel[0].time.most_ns, 3'500'000);
    EXPECT_EQ(tables.kernels.calls, 3);
    ASSERT_EQ(tables.by_copy.size(), 1U);
    EXPECT_EQ(tables.by_copy[0].kind, CopyKind::host_to_device);
    EXPECT_EQ(tables.by_copy[0].unknown_calls, 2);
    EXPECT_EQ(tables.fills, 1);
    ASSERT_EQ(tables.by_api.size(), 2U);
    EXPECT_EQ(tables.by_api[0].name, "cudaLaunchKernel");
    EXPECT_EQ(tables.by_api[1].kind, ApiKind::driver);
    EXPECT_EQ(tables.by_api[1].time.least_ns, 120);
    ASSERT_EQ(tables.notes.size(), 1U);
    EXPECT_TRUE(tables.notes[0].starts_with("a summary of nvprof")) << tables.notes[0];
  }
}

TEST(NvprofTables, older_summaries_have_a_table_for_calls) {
  const Recording recording = read_nvprof_text(
      "==7== Profiling result:\nTime(%)      Time     Calls       Avg       Min       Max  Name\n"
      " 73.21%  133.63us         1  133.63us  133.63us  133.63us  multiply(float*, float*)\n"
      "\n==7== API calls:\n"
      "Time(%)      Time     Calls       Avg       Min       Max  Name\n"
      " 98.47%  132.94ms         3  44.313ms  13.998us  132.47ms  cudaMalloc\n");
  EXPECT_EQ(sum_named(recording, "multiply").kind, SumKind::kernel);
  EXPECT_EQ(sum_named(recording, "multiply").total_ns, 133'630);
  EXPECT_EQ(sum_named(recording, "cudaMalloc").kind, SumKind::call);
}

TEST(NvprofTables, metrics_are_added_up_over_devices) {
  const std::string head =
      "==9== Metric result:\n\"Device\",\"Kernel\",\"Invocations\",\"Metric Name\",\"Metric "
      "Description\",\"Min\",\"Max\",\"Avg\"\n";
  const Recording recording = read_nvprof_text(
      head +
      "\"Tesla K80 (0)\",\"cudnn_convolve_sgemm_sm35_ldg_nn_64x16x64x16x16\",5,\"flop_count_dp\","
      "\"FLOP(Double Precision)\",1000,3000,2000\n"
      "\"Tesla K80 (1)\",\"cudnn_convolve_sgemm_sm35_ldg_nn_64x16x64x16x16\",15,\"flop_count_dp\","
      "\"FLOP(Double Precision)\",500,9000,4000\n"
      "\"Tesla K80 (0)\",\"k(float*, "
      "int)\",2,\"gld_throughput\",\"Loads\",1.5GB/s,2.5GB/s,2.0GB/s\n"
      "\"Tesla K80 (0)\",\"k(float*, int)\",2,\"ecc\",\"None\",<OVERFLOW>,1,1\n"
      "\"Tesla K80 (0)\",\"k(float*, int)\",2,\"far\",\"None\",1,1e300GB/s,1\n");
  ASSERT_EQ(recording.process.devices.size(), 2U);
  EXPECT_TRUE(recording.process.kernels_were_serialised);
  const TraceTables tables = make_trace_tables(recording);
  ASSERT_EQ(tables.by_metric.size(), 2U);
  EXPECT_EQ(tables.by_metric[0].metric, "flop_count_dp");
  EXPECT_EQ(tables.by_metric[0].launches, 20);
  EXPECT_DOUBLE_EQ(tables.by_metric[0].mean, 3500);
  EXPECT_DOUBLE_EQ(tables.by_metric[0].least, 500);
  EXPECT_DOUBLE_EQ(tables.by_metric[0].most, 9000);
  EXPECT_EQ(tables.by_metric[1].unit, "B/s");
  EXPECT_DOUBLE_EQ(tables.by_metric[1].mean, 2e9);
  EXPECT_EQ(tables.kernels.calls, 22) << "launches of both kernels, on both devices";
  EXPECT_EQ(tables.by_kernel[0].kernel_class.name, "convolution");
}

TEST(NvprofTables, metrics_and_events_are_read_as_text) {
  const Recording recording = read_nvprof_text(
      "==9== Event result:\n"
      "Invocations                Event Name         Min         Max         Avg       Total\n"
      "Device \"GeForce GTX 1070 (0)\"\n    Kernel: void k<float>(float*, int)\n"
      "          3            warps_launched         128         130         129         387\n\n"
      "==9== Metric result:\n"
      "Invocations               Metric Name       Metric Description       Min       Max       "
      "Avg\n"
      "Device \"GeForce GTX 1070 (0)\"\n    Kernel: void k<float>(float*, int)\n"
      "          3         shared_efficiency       Shared Memory Efficiency   0.00%    50.00%    "
      "25.00%\n"
      "          3          dram_utilization    Device Memory Utilization  Low (1)  Mid (4)  Low "
      "(2)\n");
  ASSERT_EQ(recording.metrics.size(), 3U);
  const TraceTables tables = make_trace_tables(recording);
  EXPECT_EQ(tables.by_metric[0].kernel, "void k<float>(float*, int)");
  EXPECT_DOUBLE_EQ(tables.by_metric[0].mean, 129) << "and not the total";
  EXPECT_EQ(tables.by_metric[1].unit, "%");
  EXPECT_DOUBLE_EQ(tables.by_metric[1].mean, 25);
  EXPECT_DOUBLE_EQ(tables.by_metric[2].mean, 2) << "Low (2)";
  EXPECT_DOUBLE_EQ(tables.by_metric[2].most, 4);
  EXPECT_EQ(tables.kernels.calls, 3);
}

TEST(NvprofTables, a_table_that_a_spreadsheet_saved_with_tabs_is_read) {
  const Recording recording = read_nvprof_text(
      "==9== Metric result:\t\t\t\t\t\t\t\n"
      "Device\tKernel\tInvocations\tMetric Name\tMetric Description\tMin\tMax\tAvg\n"
      "Tesla K80 (0)\t\"k(float*, int)\"\t3\tflop_count_dp\tFLOP\t1\t3\t2\n");
  ASSERT_EQ(recording.metrics.size(), 1U);
  EXPECT_EQ(recording.names.text(recording.metrics[0].kernel), "k(float*, int)");
}

TEST(NvprofTables, what_is_no_table_is_refused_with_what_nvprof_said) {
  const auto says = [](const std::string& text, std::string_view what) {
    const std::string refusal = nvprof_refusal(text);
    EXPECT_NE(refusal.find(what), std::string::npos) << refusal;
  };
  says(
      "==1== NVPROF is profiling process 1, command: a\n==1== Error: Internal profiling error "
      "4277:999.\n",
      "nvprof wrote no table: ==1== Error: Internal profiling error");
  const std::string summary =
      "\"Type\",\"Time(%)\",\"Time\",\"Calls\",\"Avg\",\"Min\",\"Max\",\"Name\"\n";
  says(summary, "no kernel, copy or call");
  says(summary + ",%,ms,,ms,,ms,\n", "line 2: no unit of Min");
  says(summary + ",%,ms,,ms,us,ms,\n\"API calls\",1,2\n", "line 3: 3 cells, the head has 8");
  says(summary + ",%,ms,,ms,us,ms,\n\"API calls\",1,x,2,3,4,5,\"c\"\n", "line 3: Time is no time");
  says(summary + ",%,ms,,ms,us,ms,\n\"API calls\",1,1,-2,3,4,5,\"c\"\n",
       "line 3: Calls is no count");
  says(summary + ",%,s,,s,s,s,\n\"API calls\",1,1e300,2,3,4,5,\"c\"\n", "line 3: Time is no time");
  const std::string metrics =
      "\"Device\",\"Kernel\",\"Invocations\",\"Metric Name\",\"Metric "
      "Description\",\"Min\",\"Max\",\"Avg\"\n";
  says(metrics + "\"K80 (0)\",\"k\",many,\"m\",\"d\",1,1,1\n", "line 2: Invocations is no count");
  says(metrics + "\"K80 (0)\",\"k\",2e12,\"m\",\"d\",1,1,1\n", "line 2: Invocations is no count");
  says(metrics + "\"K80 (0)\",\"k\",1,\"\",\"d\",1,1,1\n", "line 2: no name of a metric");
}

}  // namespace
}  // namespace strata
