// SPDX-License-Identifier: Apache-2.0
// Every real file is imported and costed in a moment.
#include "counts.hpp"
#include "strata/importers/importers.hpp"

#include <gtest/gtest.h>

#include <ctime>
#include <string>

namespace strata {
namespace {

double processor_s() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// The promise is 50 ms on one core with optimisation; tests run without, beside other work, on
// whatever there is. Ten times as long means that something grew out of proportion.
TEST(ImportSpeed, every_file_of_the_collection_takes_a_moment) {
  if (!collection()) GTEST_SKIP() << no_collection;
  constexpr double longest_s = 0.5;
  for (const std::string_view extension : {".onnx", ".json", ".prototxt", ".cfg"}) {
    for (const auto& file : files_below(*collection(), extension)) {
      const double begin_s = processor_s();
      try {
        costs_of(bind_graph(import_model(file), {}));
      } catch (const Error&) {
        // Refusing a file takes no longer.
      }
      EXPECT_LT(processor_s() - begin_s, longest_s) << file;
    }
  }
}

}  // namespace
}  // namespace strata
