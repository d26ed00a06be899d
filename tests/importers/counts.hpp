// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/error.hpp"
#include "strata/cost/cost.hpp"
#include "strata/graph/bind.hpp"
#include "strata/zoo/zoo.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

/// What the tests of importers count in a network, and where they find the collection of real
/// files.
namespace strata {

struct Counts {
  std::int64_t parameters = 0;
  std::int64_t buffers = 0;
  std::int64_t mac = 0;  ///< forward, for a batch of 1
  std::int64_t uncounted = 0;
};

inline Counts counts_of(const Graph& graph, std::int64_t batch = 1) {
  const BoundGraph bound = bind_graph(graph, {{"batch", batch}});
  Counts counts;
  for (const NodeCost& cost : costs_of(bound, Mode::inference)) {
    counts.mac += cost.forward.mac;
    counts.uncounted += cost.is_counted ? 0 : 1;
  }
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    const std::int64_t elements = bound.tensors[id].elements;
    if (graph.tensors[id].kind == TensorKind::parameter) counts.parameters += elements;
    if (graph.tensors[id].kind == TensorKind::buffer) counts.buffers += elements;
  }
  return counts;
}

inline Counts counts_of(std::string_view zoo_network) {
  return counts_of(build_network(zoo_network));
}

/// The folder of real files: STRATA_MODELS, else the one beside the checkout; nothing when neither
/// is there.
inline std::optional<std::filesystem::path> collection() {
  const char* named = std::getenv("STRATA_MODELS");
  const std::filesystem::path folder =
      named != nullptr ? std::filesystem::path(named)
                       : std::filesystem::path(STRATA_SOURCE_DIR) / ".." / "shared" / "models";
  if (!std::filesystem::is_directory(folder)) return std::nullopt;
  return folder;
}

inline constexpr std::string_view no_collection =
    "there is no collection of model files: set STRATA_MODELS to its folder";

/// The text of a file.
inline std::string text_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Cuts the text off, takes pieces out, doubles pieces and flips bits, each at random places, and
/// gives every result to `read`, which must read it or refuse it as malformed or unsupported.
template <class Read>
void expect_mutilated_files_are_read_or_refused(const std::string& text, const Read& read) {
  std::mt19937_64 random(text.size());
  const auto place = [&] { return static_cast<std::size_t>(random() % (text.size() + 1)); };
  for (int i = 0; i < 12; ++i) {
    std::string changed = text;
    const std::size_t at = place();
    const std::size_t length = std::min<std::size_t>(place() % 200, text.size() - at);
    switch (i % 4) {
      case 0: changed.resize(at); break;
      case 1: changed.erase(at, length); break;
      case 2: changed.insert(at, text.substr(at, length)); break;
      default: changed.at(at % text.size()) ^= static_cast<char>(1 << (random() % 8)); break;
    }
    try {
      const Graph graph = read(changed);
      costs_of(bind_graph(graph, {}));
    } catch (const Error& error) {
      EXPECT_TRUE(error.kind() == ErrorKind::input || error.kind() == ErrorKind::unsupported)
          << error.what();
    }
  }
}

/// All files below a folder whose names end so, in order.
inline std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder,
                                                      std::string_view extension) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().extension() == extension) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace strata
