// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/keras/built_test.hpp"
#include "strata/importers/keras/container.hpp"
#include "strata/importers/keras/document.hpp"

#include <zip.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

namespace strata::keras {
namespace {

/// An archive that lives as long as the test.
class Archive {
 public:
  Archive(const std::string& name, const std::vector<std::pair<std::string, std::string>>& files)
      : path_(std::filesystem::path(testing::TempDir()) / name) {
    int problem = 0;
    zip_t* archive = zip_open(path_.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &problem);
    for (const auto& [file, text] : files) {
      zip_source_t* source = zip_source_buffer(archive, text.data(), text.size(), 0);
      EXPECT_GE(zip_file_add(archive, file.c_str(), source, ZIP_FL_OVERWRITE), 0);
    }
    EXPECT_EQ(zip_close(archive), 0);
  }
  ~Archive() { std::filesystem::remove(path_); }
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  const std::filesystem::path& path() const { return path_; }

  std::string bytes() const {
    std::ifstream stream(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void replace(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  }

 private:
  std::filesystem::path path_;
};

std::string complaint_about(const std::filesystem::path& path) {
  try {
    read_keras(path);
  } catch (const Error& error) {
    std::string message = error.what();
    const std::size_t at = message.find(path.string());
    if (at != std::string::npos) message.replace(at, path.string().size(), "FILE");
    return fmt::format("{}: {}", name_of(error.kind()), message);
  }
  return "nothing";
}

const std::string model = sequential("[null, 4]", {layer("Dense", R"("units": 3)")});

TEST(KerasArchive, the_architecture_is_a_file_in_it) {
  const Archive archive("net.keras", {{"metadata.json", R"({"keras_version": "3.5.0"})"},
                                      {"config.json", model},
                                      {"model.weights.h5", std::string(100'000, 'w')}});
  const Graph graph = read_keras(archive.path());
  EXPECT_EQ(graph.name, "net");
  EXPECT_EQ(graph.source, "Keras file net.keras");
  EXPECT_EQ(graph.nodes.size(), 1U);
}

TEST(KerasArchive, other_archives_are_no_keras_files) {
  const Archive archive("other.keras", {{"data.pkl", "x"}});
  EXPECT_EQ(complaint_about(archive.path()),
            "unsupported: FILE: a zip archive without config.json: not a Keras file");
}

// 64 MB of blanks in 64 kB: its size is looked at before it is unpacked.
TEST(KerasArchive, bombs_are_not_unpacked) {
  const Archive archive("bomb.keras", {{"config.json", std::string(std::size_t{64} << 20, ' ')}});
  ASSERT_LT(std::filesystem::file_size(archive.path()), 200'000U);
  EXPECT_EQ(complaint_about(archive.path()),
            fmt::format("input: FILE: config.json unpacks to {} bytes, the most is {}",
                        std::size_t{64} << 20, most_bytes));
}

// The directory may say less than there is; no more than it says is taken.
TEST(KerasArchive, a_size_that_lies_is_damage) {
  const Archive archive("liar.keras", {{"config.json", model + std::string(5000, ' ')}});
  std::string bytes = archive.bytes();
  const std::uint32_t real = static_cast<std::uint32_t>(model.size() + 5000);
  const std::uint32_t said = static_cast<std::uint32_t>(model.size());
  const std::string real_bytes(reinterpret_cast<const char*>(&real), 4);
  for (std::size_t at = bytes.find(real_bytes); at != std::string::npos;
       at = bytes.find(real_bytes, at + 4)) {
    bytes.replace(at, 4, reinterpret_cast<const char*>(&said), 4);
  }
  archive.replace(bytes);
  EXPECT_EQ(complaint_about(archive.path()),
            "input: FILE: the file is damaged: libzip cannot read config.json");
}

TEST(KerasArchive, damaged_archives_are_refused_and_nothing_else_happens) {
  const Archive archive("damaged.keras", {{"config.json", model}, {"metadata.json", "{}"}});
  const std::string whole = archive.bytes();
  std::mt19937 random(1);
  for (int i = 0; i < 120; ++i) {
    std::string damaged = whole;
    if (i % 3 == 0) {
      damaged.resize(4 + random() % (whole.size() - 4));
    } else {
      damaged[4 + random() % (whole.size() - 4)] ^= static_cast<char>(1 << (random() % 8));
    }
    archive.replace(damaged);
    const std::string message = complaint_about(archive.path());
    EXPECT_TRUE(message == "nothing" || message.starts_with("input: FILE: ") ||
                message.starts_with("unsupported: FILE: "))
        << message;
  }
}

}  // namespace
}  // namespace strata::keras
