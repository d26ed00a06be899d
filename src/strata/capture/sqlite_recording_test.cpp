// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/base/sqlite_database.hpp"
#include "strata/base/temporary_folder_test.hpp"
#include "strata/capture/read_recording.hpp"
#include "strata/capture/recording_sqlite.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

namespace strata {
namespace {

Recording one_of_each() {
  Recording recording;
  recording.process.pid = 42;
  recording.process.rank = 3;
  recording.process.host = "node";
  recording.process.command = "python train.py";
  recording.process.source_format = "strata capture";
  recording.process.devices.push_back({.id = 1, .name = "a device", .multiprocessors = 132});
  const NameId kernel = recording.names.id_of("a 'kernel'");
  const NameId call = recording.names.id_of("cudaLaunchKernel");
  const NameId layer = recording.names.id_of("conv1");
  recording.kernels.push_back({.time = {20, 30}, .correlation = 7, .name = kernel, .device = 1});
  recording.kernels.push_back({.time = {10, 15},
                               .correlation = 8,
                               .graph_node = 0xffffffffffffffffU,
                               .name = kernel,
                               .device = 1,
                               .stream = 9,
                               .grid = {1, 2, 3},
                               .block = {4, 5, 6},
                               .registers = 255,
                               .static_shared_bytes = 0,
                               .dynamic_shared_bytes = 1024});
  recording.copies.push_back({.time = {1, 2},
                              .bytes = 64,
                              .kind = CopyKind::host_to_device,
                              .source = MemoryKind::pinned,
                              .destination = MemoryKind::device});
  recording.copies.push_back({.time = {3, 4}});
  recording.fills.push_back({.time = {5, 6}, .bytes = 8});
  recording.memory.push_back({.at_ns = 4, .address = 100, .bytes = 32, .device = 1});
  recording.calls.push_back({.time = {8, 9}, .correlation = 7, .name = call, .thread = 77});
  recording.syncs.push_back({.time = {9, 10}, .kind = SyncKind::context});
  recording.ranges.push_back({.time = {0, 50}, .id = 5, .name = layer, .thread = 77});
  recording.overheads.push_back({.time = {0, 1}, .name = call});
  recording.counters.names = {recording.names.id_of("dram__bytes_read.sum")};
  recording.counters.units = {recording.names.id_of("byte")};
  recording.counters.values = {200, std::nan("")};
  recording.lost_records = 11;
  recording.notes = {"a note"};
  return recording;
}

TEST(RecordingDatabase, what_was_written_is_read_by_start) {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "a.sqlite";
  std::vector<Recording> written;
  written.push_back(one_of_each());
  written.emplace_back();
  write_recordings(path, written);
  EXPECT_TRUE(is_recording(path));
  const std::vector<Recording> read = read_recordings(path);
  ASSERT_EQ(read.size(), 2U);
  const Recording& recording = read[0];
  ASSERT_EQ(recording.kernels.size(), 2U);
  const KernelRecord& first = recording.kernels[0];
  EXPECT_EQ(first.time, (TimeSpan{10, 15}));
  EXPECT_EQ(first.graph_node, 0xffffffffffffffffU);
  EXPECT_EQ(recording.names.text(first.name), "a 'kernel'");
  EXPECT_EQ(first.grid, (std::array<std::uint32_t, 3>{1, 2, 3}));
  EXPECT_EQ(first.block, (std::array<std::uint32_t, 3>{4, 5, 6}));
  EXPECT_EQ(first.registers, 255U);
  EXPECT_EQ(first.static_shared_bytes, 0U);
  EXPECT_EQ(first.dynamic_shared_bytes, 1024U);
  EXPECT_EQ(recording.kernels[1].registers, unknown_count);
  // Counters go with their kernels: the one that was first is second by start.
  ASSERT_EQ(recording.counters.values.size(), 2U);
  EXPECT_TRUE(std::isnan(recording.counters.values[0]));
  EXPECT_EQ(recording.counters.values[1], 200);
  ASSERT_EQ(recording.copies.size(), 2U);
  EXPECT_EQ(recording.copies[0].source, MemoryKind::pinned);
  EXPECT_EQ(recording.copies[0].kind, CopyKind::host_to_device);
  EXPECT_EQ(recording.copies[1].bytes, unknown_bytes);
  EXPECT_EQ(recording.fills[0].bytes, 8);
  EXPECT_EQ(recording.memory[0].address, 100U);
  EXPECT_EQ(recording.calls[0].thread, 77U);
  EXPECT_EQ(recording.syncs[0].kind, SyncKind::context);
  EXPECT_EQ(recording.ranges[0].id, 5U);
  EXPECT_EQ(recording.overheads.size(), 1U);
  EXPECT_EQ(recording.lost_records, 11);
  EXPECT_EQ(recording.notes, std::vector<std::string>{"a note"});
  EXPECT_EQ(recording.process.pid, 42);
  EXPECT_EQ(recording.process.rank, 3);
  EXPECT_EQ(recording.process.command, "python train.py");
  ASSERT_EQ(recording.process.devices.size(), 1U);
  EXPECT_EQ(recording.process.devices[0].multiprocessors, 132);
  EXPECT_TRUE(read[1].kernels.empty());
}

TEST(RecordingDatabase, is_written_without_touching_what_is_beside_it) {
  const test::TemporaryFolder folder;
  const std::filesystem::path other = folder.file("a.sqlite.part", "of somebody else");
  std::vector<Recording> written;
  written.push_back(one_of_each());
  write_recordings(folder.path() / "a.sqlite", written);
  EXPECT_EQ(std::filesystem::file_size(other), 16U);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 2);
}

TEST(RecordingDatabase, with_a_computed_column_is_refused) {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "a.sqlite";
  std::vector<Recording> written;
  written.push_back(one_of_each());
  write_recordings(path, written);
  Database::open_to_write(path).run("ALTER TABLE names ADD COLUMN x AS (hex(zeroblob(9)))");
  EXPECT_THROW(read_recordings(path), Error);
}

std::string refusal_after(const std::string& sql) {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "a.sqlite";
  std::vector<Recording> written;
  written.push_back(one_of_each());
  write_recordings(path, written);
  Database::open_to_write(path).run(sql);
  try {
    read_recordings(path);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return error.what();
  }
  return "accepted";
}

TEST(RecordingDatabase, what_cannot_be_is_refused_with_its_table_and_row) {
  const auto says = [](const std::string& sql, std::string_view what) {
    const std::string refusal = refusal_after(sql);
    EXPECT_NE(refusal.find(what), std::string::npos) << refusal;
  };
  says("UPDATE strata_capture SET value='99' WHERE key='schema_version'", "99");
  says("UPDATE kernels SET name=12345", "table kernels, row 1: its name");
  says("UPDATE kernels SET end_ns=start_ns-1", "table kernels, row 1");
  says("UPDATE kernels SET registers=-5", "registers");
  says("UPDATE kernels SET start_ns='soon'", "start_ns");
  says("UPDATE copies SET kind=99", "kind");
  says("UPDATE copies SET process=7", "process");
  says("DROP TABLE calls", "calls");
  says("UPDATE counters SET kernel=5", "no kernel");
  says("UPDATE kernels SET start_ns=-9000000000000000000, end_ns=9000000000000000000", "reach");
  says("ALTER TABLE copies DROP COLUMN bytes", "accepted");  // then no size is known
}

/// As `nsys export` writes it, with as few tables and columns as there can be, and then more.
TEST(RecordingDatabase, an_export_of_nsight_systems_is_read) {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "report.sqlite";
  {
    const Database database = Database::open_to_write(path);
    database.run("CREATE TABLE StringIds (id INTEGER, value TEXT)");
    database.run(
        "INSERT INTO StringIds VALUES (1,'void k<int>(int*)'),(2,'cudaLaunchKernel_v7000'),"
        "(3,'layer1.0'),(4,'cuMemAlloc_v2')");
    database.run(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, "
        "streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, "
        "registersPerThread INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, "
        "blockY INTEGER, blockZ INTEGER, staticSharedMemory INTEGER, dynamicSharedMemory INTEGER)");
    const std::int64_t pid = std::int64_t{1234} << 24;
    database.run("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100,150,0,7,55," +
                 std::to_string(pid) + ",1,32,4,1,1,128,1,1,16,2048)");
    database.run(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, "
        "correlationId INTEGER, nameId INTEGER)");
    database.run("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (90,95," +
                 std::to_string(pid + 1235) + ",55,2),(10,20," + std::to_string(pid + 1235) +
                 ",1,4)");
    database.run(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, globalPid INTEGER, "
        "bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER, deviceId INTEGER)");
    database.run("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1,2," + std::to_string(pid) +
                 ",4096,1,1,2,0)");
    database.run(
        "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, globalTid "
        "INTEGER, text TEXT, textId INTEGER, domainId INTEGER)");
    database.run("INSERT INTO NVTX_EVENTS VALUES (80,99,59," + std::to_string(pid + 1235) +
                 ",NULL,3,0),(1,NULL,59,5,'open',NULL,0),(NULL,NULL,75,5,'torch',NULL,0)");
  }
  ASSERT_TRUE(is_recording(path));
  const std::vector<Recording> read = read_recordings(path);
  ASSERT_EQ(read.size(), 1U);
  const Recording& recording = read[0];
  EXPECT_EQ(recording.process.pid, 1234);
  ASSERT_EQ(recording.kernels.size(), 1U);
  EXPECT_EQ(recording.names.text(recording.kernels[0].name), "void k<int>(int*)");
  EXPECT_EQ(recording.kernels[0].dynamic_shared_bytes, 2048U);
  ASSERT_EQ(recording.calls.size(), 2U);
  EXPECT_EQ(recording.names.text(recording.calls[0].name), "cuMemAlloc_v2");
  EXPECT_EQ(recording.calls[0].kind, ApiKind::driver);
  EXPECT_EQ(recording.names.text(recording.calls[1].name), "cudaLaunchKernel");
  EXPECT_EQ(recording.calls[1].thread, 1235U);
  EXPECT_EQ(recording.copies[0].source, MemoryKind::pinned);
  ASSERT_EQ(recording.ranges.size(), 1U);
  EXPECT_EQ(recording.names.text(recording.ranges[0].name), "layer1.0");
  EXPECT_EQ(recording.names.text(recording.ranges[0].domain), "torch");
}

/// As `nvprof -o` writes it: mangled names, calls by CUPTI's numbers.
TEST(RecordingDatabase, a_file_of_nvprof_is_read) {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "train.nvvp";
  const auto create = [&](std::string_view kernel_table) {
    std::filesystem::remove(path);
    const Database database = Database::open_to_write(path);
    database.run("CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY, value TEXT)");
    database.run("INSERT INTO StringTable VALUES (1,'_Z5scalePfi'),(2,'Tesla P40')");
    database.run("CREATE TABLE " + std::string(kernel_table) +
                 " (_id_ INTEGER, start INT, end INT, deviceId INT, streamId INT, correlationId "
                 "INT, gridX INT, gridY INT, gridZ INT, blockX INT, blockY INT, blockZ INT, "
                 "registersPerThread INT, staticSharedMemory INT, dynamicSharedMemory INT, name "
                 "INT)");
    database.run("INSERT INTO " + std::string(kernel_table) +
                 " VALUES (1,100,150,0,7,55,4,1,1,128,1,1,32,16,2048,1)");
    database.run(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (_id_ INTEGER, copyKind INT, srcKind INT, "
        "dstKind INT, bytes INT, start INT, end INT, deviceId INT, streamId INT, correlationId "
        "INT)");
    database.run("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1,1,2,3,4096,1,2,0,7,54)");
    database.run(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (_id_ INTEGER, cbid INT, start INT, end INT, "
        "processId INT, threadId INT, correlationId INT, returnValue INT)");
    database.run(
        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1,211,90,95,42,-5,55,0),"
        "(2,136,160,170,42,-5,56,0),(3,9999,180,190,42,-5,57,0)");
    database.run(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_DEVICE (_id_ INTEGER, id INT, name INT, "
        "numMultiprocessors INT, numThreadsPerWarp INT, maxWarpsPerMultiprocessor INT)");
    database.run("INSERT INTO CUPTI_ACTIVITY_KIND_DEVICE VALUES (1,0,2,30,32,64)");
  };
  create("CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL");
  ASSERT_TRUE(is_recording(path));
  const std::vector<Recording> read = read_recordings(path);
  ASSERT_EQ(read.size(), 1U);
  const Recording& recording = read[0];
  EXPECT_EQ(recording.process.source_format, "nvprof SQLite");
  EXPECT_EQ(recording.process.pid, 42);
  EXPECT_FALSE(recording.process.kernels_were_serialised);
  ASSERT_EQ(recording.process.devices.size(), 1U);
  EXPECT_EQ(recording.process.devices[0].name, "Tesla P40");
  EXPECT_EQ(recording.process.devices[0].max_threads_per_multiprocessor, 2048);
  ASSERT_EQ(recording.kernels.size(), 1U);
  EXPECT_EQ(recording.names.text(recording.kernels[0].name), "scale(float*, int)");
  EXPECT_EQ(recording.kernels[0].registers, 32U);
  ASSERT_EQ(recording.copies.size(), 1U);
  EXPECT_EQ(recording.copies[0].source, MemoryKind::pinned);  // CUPTI's numbers as they are
  ASSERT_EQ(recording.calls.size(), 3U);
  EXPECT_EQ(recording.names.text(recording.calls[0].name), "cudaLaunchKernel");
  EXPECT_EQ(recording.names.text(recording.calls[1].name), "cudaEventDestroy");
  EXPECT_EQ(recording.names.text(recording.calls[2].name), "runtime call 9999");
  EXPECT_EQ(recording.calls[0].thread, recording.calls[1].thread);

  create("CUPTI_ACTIVITY_KIND_KERNEL");  // of a run in which kernels could not overlap
  EXPECT_TRUE(read_recordings(path).at(0).process.kernels_were_serialised);
  Database::open_to_write(path).run("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET name=77");
  EXPECT_THROW(read_recordings(path), Error);
  Database::open_to_write(path).run("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET name=1, end=start-1");
  EXPECT_THROW(read_recordings(path), Error);
}

TEST(RecordingDatabase, other_databases_and_other_files_are_none) {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "x.sqlite";
  Database::open_to_write(path).run("CREATE TABLE points (a)");
  EXPECT_FALSE(is_recording(path));
  EXPECT_THROW(read_recordings(path), Error);
  std::ofstream(folder.path() / "text") << "hello";
  EXPECT_FALSE(is_recording(folder.path() / "text"));
  EXPECT_FALSE(is_recording(folder.path() / "absent"));
}

}  // namespace
}  // namespace strata
