// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/importers.hpp"

#include "strata/base/error.hpp"
#include "strata/base/temporary_folder_test.hpp"

#include <gtest/gtest.h>

#include <string>

namespace strata {
namespace {

class Importers : public ::testing::Test {
 protected:
  std::filesystem::path file(const std::string& name, std::string_view bytes) const {
    return scratch_.file(name, bytes);
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

  test::TemporaryFolder scratch_;
  const std::filesystem::path& folder = scratch_.path();
};

constexpr std::string_view tiny =
    R"({"strata_network": 1, "inputs": {"x": ["batch", 4]}, "layers": [{"op": "relu"}]})";

constexpr std::string_view no_config =
    "expected a file, got a folder; of a folder its config.json would be read, and it has none";

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
  expect_refused(folder, ErrorKind::input, no_config);
  expect_refused("/dev/null", ErrorKind::input, "expected a file, got a device or a pipe");
  expect_refused(file("empty.json", ""), ErrorKind::input, "the file is empty");
  expect_refused(file("tiny.json", tiny) / "inside", ErrorKind::input, "no such file");
}

TEST_F(Importers, of_a_folder_its_config_is_read) {
  const auto model = folder / "tiny-gpt2";
  std::filesystem::create_directory(model);
  expect_refused(model, ErrorKind::input, no_config);
  EXPECT_FALSE(is_model_file(model));
  const std::string config =
      R"({"model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 2, "n_positions": 128,
          "vocab_size": 1000})";
  file("tiny-gpt2/config.json", config);
  EXPECT_TRUE(is_model_file(model));
  EXPECT_EQ(import_model(model).name, "tiny-gpt2");
  EXPECT_EQ(import_model(model).nodes.size(), import_model(model / "config.json").nodes.size());
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

TEST_F(Importers, other_files_of_strata_are_called_by_their_names) {
  expect_refused(
      file("points.csv", "# strata_sweep 1 identity 68b8\npoint,model\n"), ErrorKind::input,
      "expected a network, got a sweep; give it to strata sweep, or its points to strata report");
  expect_refused(file("h200.json", R"({"strata_machine": 1, "name": "h200"})"), ErrorKind::input,
                 "expected a network, got a machine; give it with --on");
  expect_refused(file("result.json", R"({"schema_version": 1, "kind": "prediction", "x": 1})"),
                 ErrorKind::input,
                 "expected a network, got a result of Strata (kind 'prediction')");
}

TEST_F(Importers, utf_16_is_said) {
  expect_refused(file("net.json", std::string_view("\xFF\xFE{\0}\0", 6)), ErrorKind::input,
                 "the text is in UTF-16; save it as UTF-8");
}

TEST_F(Importers, the_name_helps_where_the_content_does_not) {
  const Refusal refusal = refusal_of(file("net.JSON", "{\"layers\": []}"));
  EXPECT_EQ(refusal.kind, ErrorKind::input);
  EXPECT_NE(refusal.message.find("'strata_network' is missing"), std::string::npos)
      << refusal.message;
}

// The answer shows which reader got the file: each complains in its own words.
TEST_F(Importers, the_content_tells_the_format) {
  const auto expect_reader = [&](const std::string& name, std::string_view bytes,
                                 std::string_view words) {
    const Refusal refusal = refusal_of(file(name, bytes));
    EXPECT_NE(refusal.message.find(words), std::string::npos) << name << ": " << refusal.message;
  };
  expect_reader("net.onnx",
                "\x08\x07\x12\x0c"
                "backend-test",
                "ONNX");
  expect_reader("network",
                "\x08\x07\x12\x0c"
                "backend-test",
                "ONNX");
  expect_reader("net.onnx", std::string_view("\0\0\0", 3), "ONNX");
  expect_reader("network", "\x89HDF\r\n\x1a\n....", "HDF5");
  expect_reader("network", "PK\x03\x04....", "zip");
  expect_reader("network", R"({"class_name": "Model", "config": 1})",
                "expected an object for 'config', got 1");
  expect_reader("network", "[net]\nwidth=\n[dropout]", "section [net] (line 1): key 'width'");
  expect_reader("network", "layer { typ: 1 }", "'type' is missing; 'typ' looks like it");
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
