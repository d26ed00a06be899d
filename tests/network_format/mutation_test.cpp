// SPDX-License-Identifier: Apache-2.0
// A small fuzzer for every build: good and bad networks, broken at random, are read or refused, and
// nothing else happens. The real fuzzer is tests/fuzz/network_format_fuzz.cpp.
#include "strata/base/error.hpp"
#include "strata/importers/network/network.hpp"
#include "test_files.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace strata {
namespace {

class Mutator {
 public:
  explicit Mutator(std::vector<std::string> seeds) : seeds_(std::move(seeds)) {}

  std::string next() {
    std::string text = seed();
    const std::size_t changes = 1 + below(3);
    for (std::size_t i = 0; i < changes && !text.empty(); ++i) change(text);
    return text;
  }

 private:
  // What breaks parsers: sizes at the edge, quotes, brackets, keys of the format where they do not
  // belong.
  static constexpr std::array<std::string_view, 28> fragments = {"9223372036854775807",
                                                                 "-9223372036854775808",
                                                                 "4611686018427387904",
                                                                 "0",
                                                                 "-1",
                                                                 "1e308",
                                                                 "null",
                                                                 "{}",
                                                                 "[]",
                                                                 "\"",
                                                                 "[",
                                                                 "}",
                                                                 "\\u0000",
                                                                 "[[layers]]",
                                                                 "\n",
                                                                 "batch",
                                                                 "\"seq/0\"",
                                                                 "\"op\": \"lstm\"",
                                                                 "\"inputs\": []",
                                                                 "'''",
                                                                 "\xFF",
                                                                 "false",
                                                                 "layers = 1",
                                                                 "a.b.c",
                                                                 "2",
                                                                 "relu",
                                                                 "true",
                                                                 "fp16"};

  std::size_t below(std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random_);
  }
  const std::string& seed() { return seeds_[below(seeds_.size())]; }

  void change(std::string& text) {
    const std::size_t at = below(text.size());
    const std::size_t length = 1 + below(16);
    switch (below(7)) {
      case 0: text.resize(at); break;
      case 1: text.erase(at, length); break;
      case 2: text.insert(at, text.substr(below(text.size()), length)); break;
      case 3: text[at] = static_cast<char>(below(256)); break;
      case 4: text.insert(at, fragments[below(fragments.size())]); break;
      case 5: replace_word(text, at); break;
      default: splice(text, at); break;
    }
  }

  // Puts a fragment, or a word of another file, in place of the number or word at that place.
  void replace_word(std::string& text, std::size_t at) {
    constexpr std::string_view ends = " \t\n\",:[]{}=";
    const std::size_t before = text.find_last_of(ends, at);
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    const std::size_t end = std::min(text.find_first_of(ends, begin), text.size());
    text.replace(begin, end - begin, fragments[below(fragments.size())]);
  }

  void splice(std::string& text, std::size_t at) {
    const std::string& other = seed();
    if (!other.empty()) text = text.substr(0, at) + other.substr(below(other.size()));
  }

  std::vector<std::string> seeds_;
  std::mt19937_64 random_{20240229};  // the same mutants every time
};

// Good networks come as often as bad ones, so that some mutants get through to the layers.
std::vector<std::string> seeds() {
  std::vector<std::string> texts;
  for (const auto& path : files_in(source_dir() / "tests/bad_networks", {".json", ".toml"})) {
    texts.push_back(text_of_file(path));
  }
  const auto good = files_in(source_dir() / "examples/networks", {".json", ".toml"});
  for (std::size_t i = texts.size(); i > 0; --i)
    texts.push_back(text_of_file(good[i % good.size()]));
  return texts;
}

bool is_refusal(ErrorKind kind) {
  return kind == ErrorKind::input || kind == ErrorKind::unsupported || kind == ErrorKind::usage;
}

TEST(NetworkMutation, broken_files_are_read_or_refused_and_nothing_else) {
  Mutator mutator(seeds());
  std::size_t read = 0;
  constexpr std::size_t mutants = 10'000;
  for (std::size_t i = 0; i < mutants; ++i) {
    const std::string text = mutator.next();
    try {
      const Graph graph = read_network(text, "mutant");
      read_network(write_network(graph), "mutant");
      ++read;
    } catch (const Error& error) {
      EXPECT_TRUE(is_refusal(error.kind())) << error.what() << "\n" << text;
    } catch (const std::exception& other) {
      FAIL() << other.what() << "\n" << text;
    }
  }
  // Were all refused, or none, the mutants would test nothing.
  EXPECT_GT(read, mutants / 200);
  EXPECT_LT(read, mutants * 99 / 100);
}

TEST(NetworkMutation, every_beginning_of_a_file_is_refused_in_peace) {
  for (const char* name : {"tiny.json", "tiny.toml", "decoder.json"}) {
    const std::string text = text_of_file(source_dir() / "examples/networks" / name);
    for (std::size_t length = 0; length + 2 < text.size(); ++length) {
      try {
        read_network(std::string_view(text).substr(0, length), name);
        ADD_FAILURE() << name << " cut to " << length << " bytes was read";
      } catch (const Error& error) {
        EXPECT_TRUE(is_refusal(error.kind())) << error.what();
      }
    }
  }
}

}  // namespace
}  // namespace strata
