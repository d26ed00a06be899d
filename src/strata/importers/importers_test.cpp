// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/importers.hpp"

#include "strata/base/error.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace strata {
namespace {

class Importers : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    folder = std::filesystem::path(::testing::TempDir()) / ("strata_importers_" + test);
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::filesystem::path file(const std::string& name, std::string_view bytes) const {
    std::ofstream(folder / name, std::ios::binary) << bytes;
    return folder / name;
  }

  struct Refusal {
    ErrorKind kind;
    std::string message;
  };
  static Refusal refusal_of(const std::filesystem::path& path) {
    try {
      import_model(path);
    } catch (const Error& error) {
      return {error.kind(), error.what()};
    }
    return {ErrorKind::internal, "no error"};
  }
  // `end` is what the message ends with after the path.
  static void expect_refused(const std::filesystem::path& path, ErrorKind kind,
                             std::string_view end) {
    const Refusal refusal = refusal_of(path);
    EXPECT_EQ(refusal.kind, kind) << refusal.message;
    EXPECT_EQ(refusal.message, path.string() + ": " + std::string(end));
  }

  std::filesystem::path folder;
};

constexpr std::string_view tiny =
    R"({"strata_network": 1, "inputs": {"x": ["batch", 4]}, "layers": [{"op": "relu"}]})";

TEST_F(Importers, own_format_is_read_whatever_the_name) {
  EXPECT_EQ(import_model(file("tiny.json", tiny)).name, "tiny");
  EXPECT_EQ(import_model(file("tiny.network", tiny)).nodes.size(), 1U);
  EXPECT_EQ(
      import_model(file("tiny", "strata_network = 1\ninputs.x = [4]\nlayers = [{op = 'relu'}]\n"))
          .name,
      "tiny");
}

TEST_F(Importers, what_is_not_a_file_is_refused) {
  expect_refused(folder / "missing.json", ErrorKind::input, "no such file");
  expect_refused(folder, ErrorKind::input, "expected a file, got a folder");
  expect_refused("/dev/null", ErrorKind::input, "expected a file, got a device or a pipe");
  expect_refused(file("empty.json", ""), ErrorKind::input, "the file is empty");
  expect_refused(file("tiny.json", tiny) / "inside", ErrorKind::input, "no such file");
}

TEST_F(Importers, junk_is_refused) {
  const std::string_view unknown =
      "not a network in a format that Strata reads (strata list formats)";
  expect_refused(file("junk", std::string_view("\x7f"
                                               "ELF\0\1\2\3",
                                               8)),
                 ErrorKind::input, unknown);
  expect_refused(file("junk.json", std::string_view("\0\0\0", 3)), ErrorKind::input, unknown);
  expect_refused(file("notes.txt", "Dear diary"), ErrorKind::input, unknown);
}

TEST_F(Importers, the_name_helps_where_the_content_does_not) {
  const Refusal refusal = refusal_of(file("net.JSON", "{\"layers\": []}"));
  EXPECT_EQ(refusal.kind, ErrorKind::input);
  EXPECT_NE(refusal.message.find("'strata_network' is missing"), std::string::npos)
      << refusal.message;
}

TEST_F(Importers, known_formats_that_are_not_read_are_named) {
  const auto expect_named = [&](const std::string& name, std::string_view bytes,
                                std::string_view title) {
    expect_refused(
        file(name, bytes), ErrorKind::unsupported,
        "this is " + std::string(title) + ", which this version of Strata does not read");
  };
  expect_named("m.onnx",
               "\x08\x07\x12\x0c"
               "backend-test",
               "an ONNX model");
  expect_named("m.h5", "\x89HDF\r\n\x1a\n....", "an HDF5 file (Keras)");
  expect_named("m.keras", "PK\x03\x04....", "a zip archive (Keras, PyTorch)");
  expect_named("m.json", R"({"class_name": "Model", "config": {}})", "a Keras model in JSON");
}

TEST_F(Importers, formats_are_described) {
  ASSERT_FALSE(formats().empty());
  for (const Format& format : formats()) {
    EXPECT_FALSE(format.name.empty());
    EXPECT_FALSE(format.description.empty());
    EXPECT_FALSE(format.extensions.empty());
    for (const std::string_view extension : format.extensions) EXPECT_EQ(extension.front(), '.');
  }
}

}  // namespace
}  // namespace strata
