// SPDX-License-Identifier: Apache-2.0
// Feeds files to a fuzz target in a build without libFuzzer: replay FILE-OR-FOLDER... Every build
// thereby compiles the targets and runs their corpus, so that they cannot rot and what was found
// once stays fixed.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

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

}  // namespace

int main(int count, char** arguments) {
  std::size_t replayed = 0;
  for (int i = 1; i < count; ++i) {
    for (const fs::path& path : files_in(arguments[i])) {
      std::fprintf(stderr, "%s\n", path.c_str());  // the last line names the input that crashed
      std::ifstream file(path, std::ios::binary);
      const std::string text(std::istreambuf_iterator<char>(file), {});
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
      ++replayed;
    }
  }
  std::fprintf(stderr, "%zu inputs\n", replayed);
  return replayed > 0 ? 0 : 1;
}
