// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/chrome/chrome_json.hpp"

#include "strata/base/error.hpp"
#include "strata/capture/chrome/chrome_event.hpp"
#include "strata/capture/chrome/json_stream.hpp"
#include "strata/capture/kernel_origins.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <random>

namespace strata {
namespace {

Recording read_text(std::string_view text) { return read_chrome_json(*text_source(text)); }

std::string refusal(std::string_view text) {
  try {
    read_text(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return error.what();
  }
  return "accepted";
}

/// As jax.profiler writes it: no categories, devices are processes and streams are threads; derived
/// lines ("XLA Ops") lie beside the streams and repeat what is on them.
TEST(ChromeJson, traces_of_jax_are_read) {
  const Recording recording =
      read_text(R"json({"displayTimeUnit":"ns","metadata":{"highres-ticks":true},
    "traceEvents":[
    {"ph":"M","pid":1,"name":"process_name","args":{"name":"/device:GPU:0"}},
    {"ph":"M","pid":1,"tid":13,"name":"thread_name","args":{"name":"Stream #13(Compute)"}},
    {"ph":"M","pid":1,"tid":14,"name":"thread_name","args":{"name":"Stream #14(MemcpyH2D)"}},
    {"ph":"M","pid":1,"tid":99,"name":"thread_name","args":{"name":"XLA Ops"}},
    {"ph":"M","pid":701,"name":"process_name","args":{"name":"/host:CPU"}},
    {"ph":"X","pid":1,"tid":13,"ts":100.5,"dur":2.25,"name":"gemm_fusion_dot_2",
     "args":{"context_id":"$$1","correlation_id":"17","hlo_module":"jit_step","hlo_op":"gemm_fusion_dot.2",
             "kernel_details":"regs:40 static_shared:512 dynamic_shared:1024 grid:4,2,1 block:128,1,1 occ_pct:50",
             "name":"jit(step)/transpose(jvp(Dense_0))/dot_general","tf_op":"XlaModule:"}},
    {"ph":"X","pid":1,"tid":13,"ts":103,"dur":1,"name":"loop_add_fusion",
     "args":{"hlo_op":"loop_add_fusion","correlation_id":"18"}},
    {"ph":"X","pid":1,"tid":14,"ts":90,"dur":4,"name":"MemcpyH2D",
     "args":{"correlation_id":"16","memcpy_details":"kind_src:pageable kind_dst:device size:4096 dest:0 async:1"}},
    {"ph":"X","pid":1,"tid":99,"ts":100.5,"dur":2.25,"name":"gemm_fusion_dot.2","args":{"hlo_op":"gemm_fusion_dot.2"}},
    {"ph":"X","pid":701,"tid":3,"ts":95,"dur":2,"name":"cuLaunchKernelEx","args":{"correlation_id":"17"}},
    {"ph":"X","pid":701,"tid":3,"ts":80,"dur":40,"name":"train","args":{"step_num":"7"}},
    {"ph":"X","pid":701,"tid":3,"ts":81,"dur":30,"name":"$train.py:12 step","args":{}},
    {}]})json");
  EXPECT_EQ(recording.process.source_format, "XLA profiler JSON");
  EXPECT_EQ(recording.process.command, "");
  ASSERT_EQ(recording.kernels.size(), 2U);
  const KernelRecord& kernel = recording.kernels[0];
  EXPECT_EQ(kernel.time, (TimeSpan{100500, 102750}));
  EXPECT_EQ(kernel.device, 0U);
  EXPECT_EQ(kernel.stream, 13U);
  EXPECT_EQ(kernel.correlation, 17U);
  EXPECT_EQ(kernel.registers, 40U);
  EXPECT_EQ(kernel.static_shared_bytes, 512U);
  EXPECT_EQ(kernel.dynamic_shared_bytes, 1024U);
  EXPECT_EQ(kernel.grid, (std::array<std::uint32_t, 3>{4, 2, 1}));
  EXPECT_EQ(kernel.block, (std::array<std::uint32_t, 3>{128, 1, 1}));
  EXPECT_EQ(recording.kernels[1].registers, unknown_count);
  ASSERT_EQ(recording.copies.size(), 1U);
  EXPECT_EQ(recording.copies[0].bytes, 4096);
  EXPECT_EQ(recording.copies[0].kind, CopyKind::host_to_device);
  EXPECT_EQ(recording.copies[0].source, MemoryKind::pageable);
  ASSERT_EQ(recording.calls.size(), 1U);
  ASSERT_EQ(recording.ranges.size(), 1U);
  EXPECT_EQ(recording.names.text(recording.ranges[0].name), "step 7");
  const KernelOrigins origins = origins_of_kernels(recording, LaunchCalls(recording));
  EXPECT_EQ(origins.layers.text(origins.of_kernel[0].layer), "Dense_0");
  EXPECT_EQ(origins.of_kernel[0].pass, WorkPass::backward);
  EXPECT_EQ(origins.layers.text(origins.of_kernel[1].layer), "loop_add_fusion");
}

TEST(ChromeJson, an_event_of_each_kind_becomes_its_row) {
  const Recording recording = read_text(R"json({"schemaVersion":1,
    "deviceProperties":[{"id":3,"name":"A \"100\"","numSms":108,"warpSize":32}],
    "distributedInfo":{"rank":5},"traceEvents":[
    {"ph":"X","cat":"kernel","name":"k","pid":3,"tid":7,"ts":1700000000000000.125,"dur":2.5,
     "args":{"device":3,"stream":7,"correlation":11,"registers per thread":40,"shared memory":512,
             "grid":[4,2,1],"block":[128,1,1],"graph node id":9}},
    {"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pageable -> Device)","pid":3,"tid":7,
     "ts":10,"dur":4,"args":{"device":3,"stream":8,"correlation":12,"bytes":4096}},
    {"ph":"X","cat":"gpu_memset","name":"Memset (Device)","ts":20,"dur":1,
     "args":{"device":3,"stream":8,"correlation":13,"bytes":64}},
    {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":99,"tid":100,"ts":5,"dur":3,
     "args":{"correlation":11}},
    {"ph":"X","cat":"cuda_sync","name":"Stream Sync","ts":6,"dur":1,
     "args":{"cuda_sync_kind":"Stream Sync","stream":7,"device":3}},
    {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":99,"tid":100,"ts":4,"dur":6,
     "args":{"Sequence number":17,"Fwd thread id":1}},
    {"ph":"i","cat":"cpu_instant_event","name":"[memory]","ts":7,"pid":99,"tid":100,
     "args":{"Bytes":-256,"Total Allocated":1024,"Device Id":3,"Device Type":1,"Addr":77}},
    {"ph":"M","name":"process_name","pid":99,"args":{"name":"python"}}]})json");
  ASSERT_EQ(recording.kernels.size(), 1U);
  const KernelRecord& kernel = recording.kernels[0];
  EXPECT_EQ(kernel.time, (TimeSpan{1700000000000000125, 1700000000000002625}));
  EXPECT_EQ(recording.names.text(kernel.name), "k");
  EXPECT_EQ(kernel.device, 3U);
  EXPECT_EQ(kernel.stream, 7U);
  EXPECT_EQ(kernel.correlation, 11U);
  EXPECT_EQ(kernel.registers, 40U);
  EXPECT_EQ(kernel.dynamic_shared_bytes, 512U);
  EXPECT_EQ(kernel.graph_node, 9U);
  EXPECT_EQ(kernel.grid, (std::array<std::uint32_t, 3>{4, 2, 1}));
  ASSERT_EQ(recording.copies.size(), 1U);
  EXPECT_EQ(recording.copies[0].kind, CopyKind::host_to_device);
  EXPECT_EQ(recording.copies[0].source, MemoryKind::pageable);
  EXPECT_EQ(recording.copies[0].destination, MemoryKind::device);
  EXPECT_EQ(recording.copies[0].bytes, 4096);
  ASSERT_EQ(recording.fills.size(), 1U);
  EXPECT_EQ(recording.fills[0].bytes, 64);
  ASSERT_EQ(recording.calls.size(), 1U);
  EXPECT_EQ(recording.calls[0].thread, 100U);
  ASSERT_EQ(recording.syncs.size(), 1U);
  EXPECT_EQ(recording.syncs[0].kind, SyncKind::stream);
  ASSERT_EQ(recording.ranges.size(), 1U);
  EXPECT_TRUE(recording.ranges[0].is_backward);
  EXPECT_EQ(recording.ranges[0].id, 17U);
  ASSERT_EQ(recording.memory.size(), 1U);
  EXPECT_FALSE(recording.memory[0].is_allocation);
  EXPECT_EQ(recording.memory[0].bytes, 256);
  EXPECT_EQ(recording.process.rank, 5);
  EXPECT_EQ(recording.process.pid, 99);
  EXPECT_EQ(recording.process.command, "python");
  ASSERT_EQ(recording.process.devices.size(), 1U);
  EXPECT_EQ(recording.process.devices[0].name, "A \"100\"");
  EXPECT_EQ(recording.process.devices[0].multiprocessors, 108);
}

TEST(ChromeJson, an_amd_copy_takes_its_bytes_from_the_call) {
  const Recording recording = read_text(R"json(
      [{"ph":"X","cat":"cuda_runtime","name":"hipMemcpyWithStream","tid":1,"ts":1,"dur":2,
        "args":{"correlation":117,"size":"2560"}},
       {"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Host -> Device)","ts":2,"dur":2,
        "args":{"correlation":117}}])json");
  ASSERT_EQ(recording.copies.size(), 1U);
  EXPECT_EQ(recording.copies[0].bytes, 2560);
  EXPECT_EQ(recording.copies[0].source, MemoryKind::unknown);
}

TEST(ChromeJson, a_list_may_end_without_its_bracket_but_an_object_may_not) {
  constexpr std::string_view event = R"({"ph":"X","cat":"kernel","name":"k","ts":1,"dur":1})";
  EXPECT_EQ(read_text("[" + std::string(event) + ",\n" + std::string(event)).kernels.size(), 2U);
  EXPECT_NE(refusal(R"({"traceEvents":[)" + std::string(event)).find("cut off"), std::string::npos);
  EXPECT_NE(refusal("[" + std::string(event.substr(0, 30))).find("cut off"), std::string::npos);
}

TEST(ChromeJson, refusals_say_where) {
  EXPECT_NE(refusal("{}").find("traceEvents"), std::string::npos);
  EXPECT_NE(refusal(R"({"traceEvents":[{"ph":"X"},7]} x)").find("byte"), std::string::npos);
  EXPECT_NE(refusal(R"({"traceEvents":[[1]]})").find("traceEvents[0]"), std::string::npos);
  EXPECT_NE(refusal(R"([{"ph":"X","cat":"kernel","name":"k","ts":1,"dur":1},
                        {"ph":"X","cat":"kernel","name":"k","ts":1e300,"dur":1}])")
                .find("traceEvents[1]"),
            std::string::npos);
  const std::string deep = R"({"other":)" + std::string(100'000, '[');
  EXPECT_NE(refusal(deep).find("deep"), std::string::npos);
}

TEST(ChromeJson, microseconds_keep_their_nanoseconds) {
  EXPECT_EQ(microseconds_as_ns("1700000000000000.125"), 1700000000000000125);
  EXPECT_EQ(microseconds_as_ns("0.0019"), 1);
  EXPECT_EQ(microseconds_as_ns("-2.5"), -2500);
  EXPECT_EQ(microseconds_as_ns("1e3"), 1'000'000);
  EXPECT_EQ(microseconds_as_ns("99999999999999999999"), std::nullopt);
}

/// What nlohmann's parser makes of a text, as a list of tokens.
std::optional<std::string> tokens_of_library(const std::string& text);

std::string token_text(JsonToken token, std::string_view text) {
  std::string line = std::to_string(static_cast<int>(token));
  if (token == JsonToken::key || token == JsonToken::text) line += std::string(text);
  if (token == JsonToken::number) line += std::to_string(std::stod(std::string(text)));
  return line + "\n";
}

std::optional<std::string> tokens_of_stream(const std::string& text) {
  try {
    const auto source = text_source(text);
    JsonStream stream(*source);
    std::string tokens;
    for (;;) {
      const JsonToken token = stream.next();
      if (token == JsonToken::end) return tokens;
      tokens += token_text(token, stream.text());
    }
  } catch (const Error&) {
    return std::nullopt;
  }
}

void add_tokens(const nlohmann::ordered_json& json, std::string& tokens) {
  if (json.is_object()) {
    tokens += token_text(JsonToken::begin_object, "");
    for (const auto& [key, value] : json.items()) {
      tokens += token_text(JsonToken::key, key);
      add_tokens(value, tokens);
    }
    tokens += token_text(JsonToken::end_object, "");
  } else if (json.is_array()) {
    tokens += token_text(JsonToken::begin_list, "");
    for (const auto& value : json) add_tokens(value, tokens);
    tokens += token_text(JsonToken::end_list, "");
  } else if (json.is_string()) {
    tokens += token_text(JsonToken::text, json.get<std::string>());
  } else if (json.is_number()) {
    tokens += token_text(JsonToken::number, json.dump());
  } else {
    tokens += token_text(JsonToken::literal, "");
  }
}

std::optional<std::string> tokens_of_library(const std::string& text) {
  const auto json = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return std::nullopt;
  std::string tokens;
  add_tokens(json, tokens);
  return tokens;
}

// The reader of tokens is ours; nlohmann's parser says what it must say.
TEST(JsonStream, agrees_with_another_parser_on_texts_good_and_bad) {
  const std::string good =
      R"({"a":[1,-2.5e3,true,null,{"b":"x\n\u00e9\ud83d\ude00\"\\"}],"c":{},"d":[],"":"","e":0})";
  ASSERT_TRUE(tokens_of_library(good).has_value());
  EXPECT_EQ(tokens_of_stream(good), tokens_of_library(good));
  std::mt19937 random(11);
  constexpr std::string_view letters = "{}[]\",:\\ntf0123.e+-u \n";
  int accepted = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string text = good;
    const std::size_t changes = 1 + random() % 2;
    for (std::size_t i = 0; i < changes; ++i) {
      const std::size_t at = random() % text.size();
      if (static_cast<unsigned char>(text[at]) >= 128) continue;
      if (random() % 3 == 0) {
        text.erase(at, 1);
      } else {
        text[at] = letters[random() % letters.size()];
      }
    }
    // Half a surrogate pair is an error there and a sign for nothing here; a number without end
    // is infinite there.
    if (text.find("\\ud") != text.npos && text.find("\\ud83d\\ude00") == text.npos) continue;
    if (text.find("\\u00e9") == text.npos || text.find("2.5e3") == text.npos) continue;
    // Of a key that is there twice a tree holds one.
    const auto expected = tokens_of_library(text);
    const auto found = tokens_of_stream(text);
    ASSERT_EQ(found.has_value(), expected.has_value()) << text;
    accepted += found.has_value();
  }
  EXPECT_GT(accepted, 100);
}

TEST(JsonStream, a_text_longer_than_the_window_is_whole) {
  const std::string longest(3'000'000, 'x');
  const std::string text = "[\"" + longest + "\",\"a\\n" + longest + "\"]";
  const auto source = text_source(text);
  JsonStream stream(*source);
  EXPECT_EQ(stream.next(), JsonToken::begin_list);
  EXPECT_EQ(stream.next(), JsonToken::text);
  EXPECT_EQ(stream.text(), longest);
  EXPECT_EQ(stream.next(), JsonToken::text);
  EXPECT_EQ(stream.text(), "a\n" + longest);
  EXPECT_EQ(stream.next(), JsonToken::end_list);
  EXPECT_EQ(stream.next(), JsonToken::end);
}

}  // namespace
}  // namespace strata
