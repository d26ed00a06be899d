// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/sweep/read_table.hpp"
#include "strata/sweep/sink.hpp"

namespace strata {
namespace {

[[noreturn]] void refuse_database() {
  fail(
      ErrorKind::environment,
      "this build has no SQLite, which databases of results need; install libsqlite3-dev and build "
      "again, or write --csv or --jsonl");
}

}  // namespace

std::unique_ptr<SweepSink> database_sink(const std::filesystem::path&, IfPresent,
                                         const SweepColumns&, const SweepIdentity&) {
  refuse_database();
}

SweepTable read_database_table(const std::filesystem::path&) { refuse_database(); }

}  // namespace strata
