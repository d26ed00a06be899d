// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/capture/recording_sqlite.hpp"

namespace strata {
namespace {

[[noreturn]] void fail_without_sqlite() {
  fail(ErrorKind::environment,
       "this build has no SQLite, so recordings in databases can neither be read nor written; "
       "install libsqlite3-dev and build again");
}

}  // namespace

void write_recordings(const std::filesystem::path&, std::span<const Recording>) {
  fail_without_sqlite();
}
std::vector<Recording> read_recording_database(const std::filesystem::path&) {
  fail_without_sqlite();
}
std::vector<Recording> read_recording_database(std::string_view) { fail_without_sqlite(); }
bool is_recording_database(const std::filesystem::path&) { return false; }

}  // namespace strata
