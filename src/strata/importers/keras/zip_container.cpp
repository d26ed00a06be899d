// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/importers/keras/child_process.hpp"
#include "strata/importers/keras/container.hpp"
#include "strata/importers/keras/document.hpp"

#include <zip.h>

#include <memory>

namespace strata::keras {
namespace {

struct CloseArchive {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct CloseFile {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

[[noreturn]] void fail_damaged(const std::string& what) {
  fail(ErrorKind::input, "the file is damaged: libzip cannot read {}", what);
}

using Archive = std::unique_ptr<zip_t, CloseArchive>;

Archive open_archive(const std::string& path) {
  int problem = 0;
  Archive archive(zip_open(path.c_str(), ZIP_RDONLY, &problem));
  if (archive == nullptr) fail_damaged("it");
  return archive;
}

std::string read_place(const Archive& archive, zip_uint64_t place, const std::string& name) {
  zip_stat_t stat;
  if (zip_stat_index(archive.get(), place, 0, &stat) != 0 || (stat.valid & ZIP_STAT_SIZE) == 0) {
    fail_damaged(name);
  }
  // What it says decides before anything is inflated; what it holds may not be more.
  if (stat.size > most_bytes) {
    fail(ErrorKind::input, "{} unpacks to {} bytes, the most is {}", name, stat.size, most_bytes);
  }
  const std::unique_ptr<zip_file_t, CloseFile> file(zip_fopen_index(archive.get(), place, 0));
  if (file == nullptr) fail_damaged(name);
  std::string text(stat.size, '\0');
  std::size_t filled = 0;
  while (filled < text.size()) {
    const zip_int64_t count = zip_fread(file.get(), text.data() + filled, text.size() - filled);
    if (count <= 0) fail_damaged(name);
    filled += static_cast<std::size_t>(count);
  }
  char beyond = 0;  // the checksum is compared at the end
  if (zip_fread(file.get(), &beyond, 1) != 0) fail_damaged(name);
  return text;
}

std::string read_member(const std::string& path, const std::string& name) {
  const Archive archive = open_archive(path);
  const zip_int64_t index = zip_name_locate(archive.get(), name.c_str(), 0);
  if (index < 0) {
    fail(ErrorKind::unsupported, "a zip archive without {}: not a Keras file", name);
  }
  return read_place(archive, static_cast<zip_uint64_t>(index), name);
}

bool ends_so(std::string_view name, std::string_view ending) {
  if (!name.ends_with(ending)) return false;
  return name.size() == ending.size() || name[name.size() - ending.size() - 1] == '/';
}

std::string read_ending(const std::string& path, std::span<const std::string_view> endings) {
  constexpr zip_int64_t most_entries = 1'000'000;
  const Archive archive = open_archive(path);
  const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  if (count > most_entries) fail(ErrorKind::input, "a zip archive of {} files", count);
  for (zip_int64_t i = 0; i < count; ++i) {
    const auto place = static_cast<zip_uint64_t>(i);
    const char* const name = zip_get_name(archive.get(), place, 0);
    for (const std::string_view ending : endings)
      if (name != nullptr && ends_so(name, ending))
        return read_place(archive, place, std::string(ending));
  }
  fail(ErrorKind::unsupported, "a zip archive without {}: not a file of torch.export.save",
       endings.front());
}

}  // namespace

std::string zip_member_ending(const std::filesystem::path& path,
                              std::span<const std::string_view> endings) {
  const std::string archive = path.string();
  return run_in_child("libzip", [&] { return read_ending(archive, endings); });
}

std::string zip_member(const std::filesystem::path& path, std::string_view name) {
  const std::string archive = path.string();
  const std::string member_name(name);
  return run_in_child("libzip", [&] { return read_member(archive, member_name); });
}

}  // namespace strata::keras
