// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/keras/built_test.hpp"
#include "strata/importers/keras/container.hpp"

#include <hdf5.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

namespace strata::keras {
namespace {

/// A file that lives as long as the test.
class Scratch {
 public:
  explicit Scratch(const std::string& name)
      : path_(std::filesystem::path(testing::TempDir()) / name) {}
  ~Scratch() { std::filesystem::remove(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

enum class Text { fixed, variable };

void write_attribute(hid_t file, const char* name, const std::string& text, Text kind) {
  const hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, kind == Text::variable ? H5T_VARIABLE : text.size());
  const hid_t space = H5Screate(H5S_SCALAR);
  const hid_t attribute = H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  const char* at = text.data();
  EXPECT_GE(H5Awrite(attribute, type, kind == Text::variable ? static_cast<const void*>(&at) : at),
            0);
  H5Aclose(attribute);
  H5Sclose(space);
  H5Tclose(type);
}

/// As Keras lays it out: the architecture in an attribute of the root, weights in a group.
void write_hdf5(const std::filesystem::path& path, const std::string& model_config, Text kind) {
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  write_attribute(file, "keras_version", "2.4.0", Text::fixed);
  if (!model_config.empty()) write_attribute(file, "model_config", model_config, kind);
  const hid_t group = H5Gcreate2(file, "model_weights", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const hsize_t extent = 100'000;
  const hid_t space = H5Screate_simple(1, &extent, nullptr);
  const hid_t weights =
      H5Dcreate2(group, "kernel", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const std::vector<float> numbers(extent, 0.5F);
  H5Dwrite(weights, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data());
  H5Dclose(weights);
  H5Sclose(space);
  H5Gclose(group);
  H5Fclose(file);
}

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

TEST(KerasHdf5, the_architecture_is_an_attribute) {
  for (const Text kind : {Text::fixed, Text::variable}) {
    const Scratch file("net.h5");
    write_hdf5(file.path(), model, kind);
    const Graph graph = read_keras(file.path());
    EXPECT_EQ(graph.name, "net");
    EXPECT_EQ(graph.source, "Keras file net.h5");
    EXPECT_EQ(graph.nodes.size(), 1U);
  }
}

TEST(KerasHdf5, a_long_architecture_is_read_whole) {
  std::string long_model = model;
  long_model.insert(1, R"("comment": ")" + std::string(1'000'000, 'x') + R"(", )");
  const Scratch file("long.h5");
  write_hdf5(file.path(), long_model, Text::variable);
  EXPECT_EQ(hdf5_model_config(file.path()), long_model);
}

TEST(KerasHdf5, weights_alone_are_no_network) {
  const Scratch file("weights.h5");
  write_hdf5(file.path(), "", Text::fixed);
  EXPECT_EQ(complaint_about(file.path()),
            "unsupported: FILE: an HDF5 file without the attribute model_config: weights only, or "
            "no Keras file; save the whole model with model.save(), or the architecture with "
            "model.to_json()");
}

TEST(KerasHdf5, damaged_files_are_refused_and_nothing_else_happens) {
  const Scratch file("damaged.h5");
  write_hdf5(file.path(), model, Text::variable);
  std::ifstream stream(file.path(), std::ios::binary);
  const std::string whole(std::istreambuf_iterator<char>(stream), {});
  std::mt19937 random(1);
  for (int i = 0; i < 120; ++i) {
    std::string damaged = whole;
    if (i % 3 == 0) {
      damaged.resize(8 + random() % (whole.size() - 8));
    } else {
      // What HDF5 keeps about the file lies at its beginning and around the attribute.
      for (int flip = 0; flip < 4; ++flip) {
        damaged[8 + random() % 4096] ^= static_cast<char>(1 << (random() % 8));
      }
    }
    std::ofstream(file.path(), std::ios::binary | std::ios::trunc) << damaged;
    const std::string message = complaint_about(file.path());
    EXPECT_TRUE(message == "nothing" || message.starts_with("input: FILE: ") ||
                message.starts_with("unsupported: FILE: "))
        << message;
  }
}

}  // namespace
}  // namespace strata::keras
