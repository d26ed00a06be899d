// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/keras/built_test.hpp"
#include "strata/importers/keras/container.hpp"
#include "strata/importers/keras/scratch_test.hpp"

#include <hdf5.h>

namespace strata::keras {
namespace {

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

const std::string saved_model = sequential("[null, 4]", {layer("Dense", R"("units": 3)")});

TEST(KerasHdf5, the_architecture_is_an_attribute) {
  for (const Text kind : {Text::fixed, Text::variable}) {
    const test::TemporaryFolder scratch;
    write_hdf5(scratch.path() / "net.h5", saved_model, kind);
    const Graph graph = read_keras(scratch.path() / "net.h5");
    EXPECT_EQ(graph.name, "net");
    EXPECT_EQ(graph.source, "Keras file net.h5");
    EXPECT_EQ(graph.nodes.size(), 1U);
  }
}

TEST(KerasHdf5, a_long_architecture_is_read_whole) {
  std::string long_model = saved_model;
  long_model.insert(1, R"("comment": ")" + std::string(1'000'000, 'x') + R"(", )");
  const test::TemporaryFolder scratch;
  write_hdf5(scratch.path() / "long.h5", long_model, Text::variable);
  EXPECT_EQ(hdf5_model_config(scratch.path() / "long.h5"), long_model);
}

TEST(KerasHdf5, weights_alone_are_no_network) {
  const test::TemporaryFolder scratch;
  write_hdf5(scratch.path() / "weights.h5", "", Text::fixed);
  EXPECT_EQ(complaint_about(scratch.path() / "weights.h5"),
            "unsupported: FILE: an HDF5 file without the attribute model_config: weights only, or "
            "no Keras file; save the whole model with model.save(), or the architecture with "
            "model.to_json()");
}

// What HDF5 keeps about the file lies at its beginning and around the attribute.
TEST(KerasHdf5, damaged_files_are_refused_and_nothing_else_happens) {
  const test::TemporaryFolder scratch;
  write_hdf5(scratch.path() / "damaged.h5", saved_model, Text::variable);
  expect_damage_is_survived(scratch.path() / "damaged.h5", 4096);
}

}  // namespace
}  // namespace strata::keras
