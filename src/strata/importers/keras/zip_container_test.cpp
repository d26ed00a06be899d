// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/keras/built_test.hpp"
#include "strata/importers/keras/container.hpp"
#include "strata/importers/keras/document.hpp"
#include "strata/importers/keras/scratch_test.hpp"

#include <zip.h>

#include <utility>

namespace strata::keras {
namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

void write_zip(const std::filesystem::path& path, const Files& files) {
  int problem = 0;
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &problem);
  for (const auto& [name, text] : files) {
    zip_source_t* source = zip_source_buffer(archive, text.data(), text.size(), 0);
    EXPECT_GE(zip_file_add(archive, name.c_str(), source, ZIP_FL_OVERWRITE), 0);
  }
  EXPECT_EQ(zip_close(archive), 0);
}

const std::string zipped_model = sequential("[null, 4]", {layer("Dense", R"("units": 3)")});

TEST(KerasArchive, the_architecture_is_a_file_in_it) {
  const test::TemporaryFolder scratch;
  write_zip(scratch.path() / "net.keras", {{"metadata.json", R"({"keras_version": "3.5.0"})"},
                                           {"config.json", zipped_model},
                                           {"model.weights.h5", std::string(100'000, 'w')}});
  const Graph graph = read_keras(scratch.path() / "net.keras");
  EXPECT_EQ(graph.name, "net");
  EXPECT_EQ(graph.source, "Keras file net.keras");
  EXPECT_EQ(graph.nodes.size(), 1U);
}

TEST(KerasArchive, other_archives_are_no_keras_files) {
  const test::TemporaryFolder scratch;
  write_zip(scratch.path() / "other.keras", {{"data.pkl", "x"}});
  EXPECT_EQ(complaint_about(scratch.path() / "other.keras"),
            "unsupported: FILE: a zip archive without config.json: not a Keras file");
}

// 64 MB of blanks in 64 kB: its size is looked at before it is unpacked.
TEST(KerasArchive, bombs_are_not_unpacked) {
  const test::TemporaryFolder scratch;
  const std::filesystem::path bomb = scratch.path() / "bomb.keras";
  write_zip(bomb, {{"config.json", std::string(std::size_t{64} << 20, ' ')}});
  ASSERT_LT(std::filesystem::file_size(bomb), 200'000U);
  EXPECT_EQ(complaint_about(bomb),
            fmt::format("input: FILE: config.json unpacks to {} bytes, the most is {}",
                        std::size_t{64} << 20, most_bytes));
}

// The directory may say less than there is; no more than it says is taken.
TEST(KerasArchive, a_size_that_lies_is_damage) {
  const test::TemporaryFolder scratch;
  const std::filesystem::path liar = scratch.path() / "liar.keras";
  write_zip(liar, {{"config.json", zipped_model + std::string(5000, ' ')}});
  std::string bytes = bytes_of(liar);
  const std::uint32_t real = static_cast<std::uint32_t>(zipped_model.size() + 5000);
  const std::uint32_t said = static_cast<std::uint32_t>(zipped_model.size());
  const std::string real_bytes(reinterpret_cast<const char*>(&real), 4);
  for (std::size_t at = bytes.find(real_bytes); at != std::string::npos;
       at = bytes.find(real_bytes, at + 4)) {
    bytes.replace(at, 4, reinterpret_cast<const char*>(&said), 4);
  }
  write_bytes(liar, bytes);
  EXPECT_EQ(complaint_about(liar),
            "input: FILE: the file is damaged: libzip cannot read config.json");
}

TEST(KerasArchive, damaged_archives_are_refused_and_nothing_else_happens) {
  const test::TemporaryFolder scratch;
  write_zip(scratch.path() / "damaged.keras",
            {{"config.json", zipped_model}, {"metadata.json", "{}"}});
  expect_damage_is_survived(scratch.path() / "damaged.keras", 4096);
}

}  // namespace
}  // namespace strata::keras
