// SPDX-License-Identifier: Apache-2.0
// .onnx.gz: what people keep such files as.
#include "strata/base/error.hpp"
#include "strata/base/temporary_folder_test.hpp"
#include "strata/importers/importers.hpp"
#include "strata/importers/onnx/written_model_test.hpp"

#include <gtest/gtest.h>

namespace strata::onnx {
namespace {

std::uint32_t crc32_of(std::string_view bytes) {
  std::uint32_t crc = ~0U;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0U);
  }
  return ~crc;
}

void append_number(std::string& text, std::uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xFF);
}

/// A gzip stream of one block that is stored as it is (RFC 1951, 1952).
std::string gzip_of(std::string_view bytes) {
  const auto size = static_cast<std::uint32_t>(bytes.size());
  std::string text("\x1f\x8b\x08\0\0\0\0\0\0\xff\x01", 11);
  append_number(text, size, 2);
  append_number(text, ~size, 2);
  text += bytes;
  append_number(text, crc32_of(bytes), 4);
  append_number(text, size, 4);
  return text;
}

std::string one_relu() {
  test::WrittenModel model;
  model.input("x", {2, 3}).node({"Relu", {"x"}, {"y"}, {}, "relu"}).output("y");
  return model.text();
}

std::string refusal_of(const std::filesystem::path& path) {
  try {
    import_model(path);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input) << error.what();
    return error.what();
  }
  return "accepted";
}

TEST(OnnxPacked, is_the_network_that_it_holds) {
  const strata::test::TemporaryFolder folder;
  const Graph graph = import_model(folder.file("small.onnx.gz", gzip_of(one_relu())));
  EXPECT_EQ(graph.name, "small");
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(graph.nodes[0].name, "relu");
}

TEST(OnnxPacked, what_is_damaged_cut_or_something_else_is_refused) {
  const strata::test::TemporaryFolder folder;
  const std::string packed = gzip_of(one_relu());
  const std::string cut = packed.substr(0, packed.size() - 12);
  EXPECT_NE(refusal_of(folder.file("a.onnx.gz", cut)).find("cut off"), std::string::npos);
  std::string damaged = packed;
  damaged[damaged.size() - 6] ^= 1;  // in the check sum
  EXPECT_NE(refusal_of(folder.file("b.onnx.gz", damaged)).find("damaged"), std::string::npos);
  EXPECT_NE(refusal_of(folder.file("c.json.gz", gzip_of("{\"strata_network\": 1}")))
                .find("no ONNX model; unpack it with gunzip"),
            std::string::npos);
}

}  // namespace
}  // namespace strata::onnx
