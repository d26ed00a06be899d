// SPDX-License-Identifier: Apache-2.0
// Feeds files to a fuzz target in a build without libFuzzer: TARGET [--mutate SECONDS KEPT]
// FILE-OR-FOLDER... Every build thereby compiles the targets and runs their corpus, so that they
// cannot rot and what was found once stays fixed. With --mutate it then changes those files at
// random for so long, without the guidance that libFuzzer has; the input that is being tried lies
// in the file KEPT, so that one that crashes is not lost.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_in(const fs::path& place) {
  if (!fs::is_directory(place)) return {place};
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(place)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  return files;
}

void run_target(const std::string& text) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

class Mutator {
 public:
  explicit Mutator(std::vector<std::string> corpus) : corpus_(std::move(corpus)) {}

  /// A file of the corpus with one to eight changes.
  std::string next() {
    std::string text = corpus_[below(corpus_.size())];
    for (std::size_t changes = below(8) + 1; changes > 0 && !text.empty(); --changes) change(text);
    return text;
  }

 private:
  std::size_t below(std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_);
  }

  void change(std::string& text) {
    const std::size_t at = below(text.size());
    const std::size_t length = std::min(below(64) + 1, text.size() - at);
    switch (below(6)) {
      case 0: text[at] = static_cast<char>(text[at] ^ (1 << below(8))); break;
      case 1: text[at] = static_cast<char>(below(256)); break;
      case 2: text.erase(at, length); break;
      case 3: text.insert(at, text.substr(below(text.size()), length)); break;
      case 4: text.resize(at); break;
      default: {  // a piece of another file
        const std::string& other = corpus_[below(corpus_.size())];
        if (!other.empty()) text.insert(at, other.substr(below(other.size()), length));
      }
    }
  }

  std::vector<std::string> corpus_;
  std::mt19937 random_{1};
};

std::size_t run_mutated(Mutator mutator, double seconds, const fs::path& kept) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  std::size_t count = 0;
  for (; std::chrono::steady_clock::now() < end; ++count) {
    const std::string text = mutator.next();
    std::ofstream(kept, std::ios::binary) << text;
    run_target(text);
  }
  fs::remove(kept);
  return count;
}

}  // namespace

int main(int count, char** arguments) {
  LLVMFuzzerInitialize(&count, &arguments);
  int first = 1;
  double seconds = 0;
  fs::path kept;
  if (count > 3 && std::string_view(arguments[1]) == "--mutate") {
    seconds = std::atof(arguments[2]);
    kept = arguments[3];
    first = 4;
  }
  std::vector<std::string> corpus;
  for (int i = first; i < count; ++i) {
    for (const fs::path& path : files_in(arguments[i])) {
      std::fprintf(stderr, "%s\n", path.c_str());  // the last line names the input that crashed
      std::ifstream file(path, std::ios::binary);
      corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
      run_target(corpus.back());
    }
  }
  std::fprintf(stderr, "%zu inputs\n", corpus.size());
  if (corpus.empty()) return 1;
  if (seconds <= 0) return 0;
  std::fprintf(stderr, "mutated inputs; the one that is tried lies in %s\n", kept.c_str());
  std::fprintf(stderr, "%zu inputs\n", run_mutated(Mutator(std::move(corpus)), seconds, kept));
  return 0;
}
