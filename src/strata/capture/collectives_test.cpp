// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/collectives.hpp"

#include "strata/base/byte_source.hpp"
#include "strata/capture/chrome/chrome_json.hpp"
#include "strata/capture/recording_profile.hpp"
#include "strata/capture/trace_tables.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

TEST(Collectives, NamesAreThoseOfTheOperation) {
  EXPECT_EQ(collective_in_name("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclArgs)"), "all_reduce");
  EXPECT_EQ(collective_in_name("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)"),
            "send_recv");
  EXPECT_EQ(collective_in_name("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(x)"), "reduce_scatter");
  EXPECT_EQ(collective_in_name("void vllm::cross_device_reduce_1stage<half, 8>(x)"), "all_reduce");
  EXPECT_EQ(collective_in_name("ncclDevKernel_Generic(ncclDevComm*)"), "collective");
  EXPECT_EQ(bytes_of_torch_type("Float"), 4);
  EXPECT_EQ(bytes_of_torch_type("c10::BFloat16"), 2);
  EXPECT_EQ(bytes_of_torch_type("long int"), 8);
  EXPECT_EQ(bytes_of_torch_type("QInt8"), 0);
}

/// Two all-reduces, one half under a product; the first says its size, of the second its operator
/// does. A third says nothing.
constexpr std::string_view two_all_reduces = R"json({"traceEvents": [
  {"ph": "X", "cat": "kernel", "name": "ampere_sgemm_128x64_nn", "ts": 100, "dur": 10,
   "args": {"device": 0, "stream": 7, "correlation": 1}},
  {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "ts": 105,
   "dur": 10, "args": {"device": 0, "stream": 9, "correlation": 2, "In msg nelems": 1000,
   "Out msg nelems": 1000, "dtype": "Float", "Group size": 2}},
  {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "ts": 120,
   "dur": 30, "args": {"device": 0, "stream": 9, "correlation": 3}},
  {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "ts": 160,
   "dur": 5, "args": {"device": 0, "stream": 9, "correlation": 4}},
  {"ph": "X", "cat": "user_annotation", "name": "nccl:all_reduce", "ts": 50, "dur": 20, "tid": 5,
   "args": {"Input Dims": [[300, 10]], "Input type": ["c10::Half"]}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 55, "dur": 2, "tid": 5,
   "args": {"correlation": 3}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 80, "dur": 2, "tid": 5,
   "args": {"correlation": 4}}
]})json";

TEST(Collectives, BytesAndWhatNothingOverlapsAreAddedUp) {
  const Recording recording = read_chrome_json(*text_source(two_all_reduces));
  const TraceTables tables = make_trace_tables(recording);
  ASSERT_EQ(tables.by_collective.size(), 1U);
  const CollectiveRow& row = tables.by_collective.front();
  EXPECT_EQ(row.name, "all_reduce");
  EXPECT_EQ(row.time.calls, 3);
  EXPECT_EQ(row.time.total_ns, 45'000);
  EXPECT_EQ(row.exposed_ns, 40'000);  // 5 µs run beside the product
  EXPECT_EQ(row.known_calls, 2);
  EXPECT_EQ(row.bytes, 4 * 1000 + 2 * 3000);
  EXPECT_EQ(row.known_ns, 40'000);
}

TEST(Collectives, RowsOfAProfileAreCommunicationWithoutFlop) {
  const Profile profile = profile_of(read_chrome_json(*text_source(two_all_reduces)));
  ASSERT_EQ(profile.rows.size(), 2U);
  EXPECT_FALSE(is_communication(profile.rows[0]));
  EXPECT_TRUE(is_communication(profile.rows[1]));
  EXPECT_EQ(profile.rows[1].layer, "all_reduce");
  EXPECT_EQ(profile.rows[1].totals.flop, 0);
}

}  // namespace
}  // namespace strata
