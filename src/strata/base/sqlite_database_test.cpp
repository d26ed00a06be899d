// SPDX-License-Identifier: Apache-2.0
#include "strata/base/sqlite_database.hpp"

#include "strata/base/error.hpp"
#include "strata/base/temporary_folder_test.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace strata {
namespace {

TEST(Database, stops_what_takes_too_long) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "a.db";
  Database::open_to_write(path).run("CREATE TABLE a (b)");
  const std::string endless =
      "WITH RECURSIVE c(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c";
  const Database read = Database::open_to_read(path);
  const Database written = Database::open_to_write(path);
  for (const Database* database : {&read, &written}) {
    Statement query(*database, endless);
    try {
      query.step();
      FAIL() << "ended";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      EXPECT_NE(std::string(error.what()).find("takes too long"), std::string::npos);
    }
  }
}

TEST(Database, runs_nothing_that_is_stored_in_it) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "a.db";
  Database::open_to_write(path).run(
      "CREATE TABLE a (b); CREATE TABLE log (b); CREATE VIEW v AS SELECT b FROM a; "
      "CREATE TRIGGER t AFTER INSERT ON a BEGIN INSERT INTO log VALUES (1); END; "
      "INSERT INTO a VALUES (1)");
  const Database database = Database::open_to_read(path);
  EXPECT_FALSE(database.has_table("v"));
  EXPECT_THROW(Statement(database, "SELECT * FROM v").step(), Error);
  EXPECT_TRUE(TableRows(database, "a", {"b"}).next());
  EXPECT_FALSE(TableRows(database, "log", {"b"}).next()) << "the trigger ran";
  EXPECT_THROW(database.run("INSERT INTO a VALUES (2)"), Error);
}

TEST(Database, with_text_that_is_stored_once_for_many_rows_is_refused) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "a.db";
  Database::open_to_write(path).run(
      "CREATE TABLE a (b); "
      "WITH RECURSIVE c(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM c LIMIT 1000) "
      "INSERT INTO a SELECT x FROM c");
  std::string longest(100'000, 'x');
  Database::open_to_write(path).run("ALTER TABLE a ADD COLUMN c TEXT DEFAULT '" + longest + "'");
  const Database database = Database::open_to_read(path);
  TableRows rows(database, "a", {"c"});
  EXPECT_THROW(while (rows.next()) rows.text(0), Error);
}

TEST(Database, does_not_remove_what_a_strange_journal_names) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "a.db";
  Database::open_to_write(path).run("CREATE TABLE a (b)");
  folder.file("a.db-journal", "/a/file/of/others\xd9\xd5\x05\xf9\x20\xa1\x63\xd7");
  EXPECT_THROW(Database::open_to_write(path), Error);
  try {
    Database::open_to_read(path);
    FAIL() << "was silent";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("is of a transaction that Strata did not make"),
              std::string::npos);
  }
}

// As a program leaves it that was killed while it wrote.
TEST(Database, with_a_log_is_read_without_a_file_beside_it) {
  const test::TemporaryFolder folder;
  const auto from = folder.path() / "from.db";
  const auto path = folder.path() / "here" / "a.db";
  std::filesystem::create_directory(path.parent_path());
  const Database writer = Database::open_to_write(from);
  writer.run("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; CREATE TABLE a (b)");
  writer.run("INSERT INTO a VALUES (1), (2)");
  std::filesystem::copy(from, path);
  std::filesystem::copy(from.string() + "-wal", path.string() + "-wal");
  {
    const Database database = Database::open_to_read(path);
    TableRows rows(database, "a", {"b"});
    EXPECT_TRUE(rows.next());
    EXPECT_TRUE(rows.next()) << "what is in the log alone";
    EXPECT_FALSE(rows.next());
  }
  EXPECT_FALSE(std::filesystem::exists(path.string() + "-shm"));
  EXPECT_TRUE(std::filesystem::exists(path.string() + "-wal"));
}

}  // namespace
}  // namespace strata
