// SPDX-License-Identifier: Apache-2.0
#include "strata/api/request.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace strata {
namespace {

RequestText some_words() {
  return {.model = "lenet5",
          .import = {},
          .machine = "rtx-2080-ti",
          .settings = {"machine.memory.DRAM.bandwidth_bytes_per_s=300GB/s"},
          .preset = "",
          .sizes = {.batch = 8, .sequence = {}, .dims = {}, .dtype = DType::fp16},
          .options = {{"capacity", "300KB"}, {"policy", "thesis"}}};
}

double time_of(const RequestText& words) {
  return predicted_time_s(load_model(words.model), machine_of(words), request_of(words));
}

TEST(RequestText, survive_a_file) {
  RequestText words = some_words();
  words.model = "it's a \"model\".onnx";
  words.import = {.fuse = false, .strict = true, .input_shapes = {{"data", {1, 3, 8, 8}}}};
  words.sizes.dims = {{"seq", 128}};
  const RequestText again = read_request(to_json(words));
  EXPECT_EQ(to_json(again), to_json(words));
  EXPECT_EQ(again.model, words.model);
  EXPECT_EQ(again.import.input_shapes, words.import.input_shapes);
  EXPECT_TRUE(again.import.strict);
  EXPECT_EQ(again.sizes.dims.front().value, 128);
  EXPECT_EQ(again.sizes.dtype, DType::fp16);
  EXPECT_EQ(again.options, words.options);
}

TEST(RequestText, ask_for_the_same_prediction) {
  const RequestText words = some_words();
  const MaybeRequest again =
      recorded_request({.facts = {}, .request = to_json(words)}, {.limit_s = time_of(words)});
  ASSERT_TRUE(again.request) << again.reason;
  EXPECT_EQ(again.request->hardware.capacity_bytes, 300'000);
  EXPECT_EQ(again.request->request.sizes.batch, 8);
}

TEST(RequestText, that_cannot_be_asked_again_are_a_reason) {
  const auto reason = [](const std::string& request, double time_s) {
    return recorded_request({.facts = {}, .request = request}, {.limit_s = time_s}).reason;
  };
  const RequestText words = some_words();
  EXPECT_NE(reason("", 1).find("does not say what was asked"), std::string::npos);
  EXPECT_NE(reason(to_json(words), 2 * time_of(words)).find("changed"), std::string::npos);
  RequestText absent = words;
  absent.model = "no-such-network";
  EXPECT_NE(reason(to_json(absent), 1).find("cannot be asked again"), std::string::npos);
  for (const char* request : {"[]", "{}", R"({"model": 3})", "1", "not JSON"})
    EXPECT_NE(reason(request, 1), "") << request;
}

}  // namespace
}  // namespace strata
