// SPDX-License-Identifier: Apache-2.0
#include "cli/pytorch_calibration.hpp"

#include "strata/base/error.hpp"
#include "strata/base/temporary_folder_test.hpp"
#include "strata/machine/load_machine.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>

namespace strata {
namespace {

namespace fs = std::filesystem;

/// What pytorch_cases.py would write: three samples of one class, and the host.
std::string made_up_samples() {
  nlohmann::json samples = {{"strata_calibration_samples", 1},
                            {"framework", "pytorch-eager"},
                            {"versions", {{"torch", "2.11"}}},
                            {"samples", nlohmann::json::array()}};
  for (const double elements : {1e4, 1e6, 1e8})
    samples["samples"].push_back({{"group", "relu"},
                                  {"pass", "forward"},
                                  {"precision", "fp32"},
                                  {"dims", {{"elements", elements}}},
                                  {"us", {2 + elements / 5e5}},
                                  {"busy_us", 2 + elements / 5e5},
                                  {"kernels", {"kernel"}}});
  for (const char* name : {"relu", "add", "convolution", "batch_norm", "linear", "view",
                           "layer_norm", "softmax", "dropout", "matmul", "attention"}) {
    for (const char* ending : {"", " under autocast"}) {
      samples["dispatch"][std::string(name) + " forward" + ending]["least_us"] = 10;
      samples["dispatch"][std::string(name) + " forward and backward" + ending]["least_us"] = 25;
    }
  }
  samples["dispatch"]["launch"]["least_us"] = 12;
  for (const char* name : {"momentum", "adam"}) {
    samples["dispatch"][std::string("update ") + name + " of 20"]["least_us"] = 200;
    samples["dispatch"][std::string("update ") + name + " of 200"]["least_us"] = 1000;
  }
  return samples.dump();
}

/// A python3 that has PyTorch or not, and runs everything but the cases as it is.
class FakePython : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists("/usr/bin/python3")) GTEST_SKIP() << "there is no python3";
    path_ = std::getenv("PATH");
    ::setenv("PATH", (folder_.path().string() + ":" + path_).c_str(), 1);
    folder_.file("samples.json", made_up_samples());
  }
  void TearDown() override {
    if (!path_.empty()) ::setenv("PATH", path_.c_str(), 1);
  }
  void make(bool has_pytorch, int cases_end_with) {
    const std::string folder = folder_.path().string();
    const auto script = folder_.file(
        "python3", "#!/bin/sh\ncase \"$1\" in\n-c) exit " + std::string(has_pytorch ? "0" : "1") +
                       " ;;\n*pytorch_cases.py) echo \"$@\" > " + folder + "/words; cp " + folder +
                       "/samples.json \"$2\"; exit " + std::to_string(cases_end_with) +
                       " ;;\n*) exec /usr/bin/python3 \"$@\" ;;\nesac\n");
    fs::permissions(script, fs::perms::owner_all);
  }
  std::string words() const {
    std::ifstream file(folder_.path() / "words");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  test::TemporaryFolder folder_;
  std::string path_;
};

TEST_F(FakePython, runs_the_cases_and_fits_what_they_wrote) {
  make(true, 0);
  EXPECT_TRUE(has_pytorch_with_cuda());
  const Calibration made = measured_pytorch(load_machine("h200"), 0, 123);
  EXPECT_NE(words().find(" --seconds 123"), std::string::npos) << words();
  EXPECT_EQ(made.framework, "pytorch-eager");
  EXPECT_EQ(made.machine, "h200");
  ASSERT_TRUE(made.rates);
  EXPECT_EQ(made.rates->units, 132);
  ASSERT_EQ(made.classes.size(), 1U);
  EXPECT_EQ(made.classes[0].kernel_class, "relu.forward");
  EXPECT_EQ(made.classes[0].samples.size(), 3U);
  EXPECT_EQ(made.classes[0].coefficients.size(), 2U);
  EXPECT_DOUBLE_EQ(made.host_times.at("relu").backward_s, 15e-6);
}

void expect_environment_error() {
  try {
    measured_pytorch(load_machine("h200"), 0, 1);
    FAIL() << "nothing was measured";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::environment);
    EXPECT_NE(std::string(error.what()).find("--framework strata"), std::string::npos);
  }
}

TEST_F(FakePython, without_pytorch_says_what_needs_none) {
  make(false, 0);
  EXPECT_FALSE(has_pytorch_with_cuda());
  expect_environment_error();
}

TEST_F(FakePython, cases_that_fail_are_no_calibration) {
  make(true, 7);
  expect_environment_error();
}

}  // namespace
}  // namespace strata
