// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/engine/remembered_choices.hpp"

#include "strata/base/temporary_folder_test.hpp"

#include <gtest/gtest.h>

#include <iterator>
#include <random>

namespace strata::test {
namespace {

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// What a file holds for one asker: choices, and what it says about them.
struct Opened {
  explicit Opened(const std::filesystem::path& file, std::string surroundings = "gpu A",
                  bool measures_anew = false)
      : choices({file, measures_anew}, std::move(surroundings)) {}
  std::string of(const std::string& question) const {
    const auto found = choices.find(question);
    return found ? found->choice : "";
  }
  RememberedChoices choices;
};

void remember(const std::filesystem::path& file, const std::string& question,
              const std::string& choice, const std::string& surroundings = "gpu A") {
  Opened opened(file, surroundings);
  opened.choices.put(question, choice, 0.25);
}

TEST(RememberedChoices, are_there_in_the_next_run) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "not yet there" / "choices";
  {
    Opened first(file);
    first.choices.put("conv 3x3 forward", "engine_7 knobs=1:2", 1.5e-5);
    EXPECT_EQ(first.of("conv 3x3 forward"), "");  // of an earlier run, not of this one
    EXPECT_TRUE(first.choices.take_notes().empty());
  }
  Opened next(file);
  const auto found = next.choices.find("conv 3x3 forward");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->choice, "engine_7 knobs=1:2");
  EXPECT_EQ(found->seconds, 1.5e-5);
  EXPECT_EQ(found->measured_at.size(), 20U);
  EXPECT_EQ(next.of("conv 3x3 backward"), "");
  next.choices.use(*found);
  const auto notes = next.choices.take_notes();
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("1 choice of kernels remembered"), std::string::npos) << notes[0];
  EXPECT_NE(notes[0].find(found->measured_at), std::string::npos) << notes[0];
  EXPECT_TRUE(next.choices.take_notes().empty());
}

TEST(RememberedChoices, of_other_surroundings_are_kept_and_not_seen) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "choices";
  remember(file, "q", "of A", "gpu A, cuDNN 1");
  remember(file, "q", "of B", "gpu A, cuDNN 2");
  EXPECT_EQ(Opened(file, "gpu A, cuDNN 1").of("q"), "of A");
  EXPECT_EQ(Opened(file, "gpu A, cuDNN 2").of("q"), "of B");
  EXPECT_EQ(Opened(file, "gpu B, cuDNN 1").of("q"), "");
}

TEST(RememberedChoices, of_two_runs_at_once_all_stay) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "choices";
  {
    Opened one(file), other(file);
    one.choices.put("a", "1", 1);
    other.choices.put("b", "2", 1);
  }
  EXPECT_EQ(Opened(file).of("a"), "1");
  EXPECT_EQ(Opened(file).of("b"), "2");
}

TEST(RememberedChoices, can_be_measured_anew) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "choices";
  remember(file, "a", "old");
  remember(file, "b", "old");
  {
    Opened fresh(file, "gpu A", true);
    EXPECT_EQ(fresh.of("a"), "");
    fresh.choices.put("a", "new", 1);
  }
  EXPECT_EQ(Opened(file).of("a"), "new");
  EXPECT_EQ(Opened(file).of("b"), "old");
}

TEST(RememberedChoices, without_a_file_nothing_is_kept) {
  Opened opened({});
  opened.choices.put("a", "1", 1);
  opened.choices.save();
  EXPECT_EQ(opened.of("a"), "");
  EXPECT_TRUE(opened.choices.take_notes().empty());
}

TEST(RememberedChoices, texts_with_tabs_and_newlines_are_found_again) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "choices";
  remember(file, "a\tb\nc", "x\ty", "gpu\tA");
  EXPECT_EQ(Opened(file, "gpu\tA").of("a\tb\nc"), "x y");
}

TEST(RememberedChoices, a_strange_file_is_left_alone_with_a_note) {
  const TemporaryFolder folder;
  for (const std::string text : {"{\"kind\": \"profile\"}\n", "strata-choices 2\nx\n", "\n\n"}) {
    const auto file = folder.file("strange", text);
    {
      Opened opened(file);
      opened.choices.put("a", "1", 1);
      const auto notes = opened.choices.take_notes();
      ASSERT_EQ(notes.size(), 1U);
      EXPECT_NE(notes[0].find("is not a file of choices"), std::string::npos) << notes[0];
    }
    EXPECT_EQ(content(file), text);
  }
}

TEST(RememberedChoices, what_is_no_file_or_has_no_folder_is_a_note) {
  const TemporaryFolder folder;
  Opened a_folder(folder.path());
  a_folder.choices.put("a", "1", 1);
  EXPECT_EQ(a_folder.choices.take_notes().size(), 1U);
  Opened below_a_file(folder.file("file", "") / "choices");
  below_a_file.choices.put("a", "1", 1);
  const auto notes = below_a_file.choices.take_notes();
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("could not be kept"), std::string::npos) << notes[0];
}

// Whatever happens to a byte of the file: a choice is as it was, or gone.
TEST(RememberedChoices, damaged_lines_are_left_out) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "choices";
  for (int i = 0; i < 5; ++i) remember(file, "question " + std::to_string(i), "choice");
  const std::string whole = content(file);
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    std::string text = whole;
    const std::size_t at = random() % text.size();
    if (round % 3 == 0) {
      text.resize(at);
    } else {
      text[at] = static_cast<char>(random());
    }
    const auto damaged = folder.file("damaged", text);
    Opened opened(damaged);
    std::size_t left = 0;
    for (int i = 0; i < 5; ++i) {
      const auto found = opened.choices.find("question " + std::to_string(i));
      if (!found) continue;
      ++left;
      EXPECT_EQ(found->choice, "choice");
      EXPECT_EQ(found->seconds, 0.25);
    }
    if (round % 3 != 0 && at >= whole.find('\n')) {
      EXPECT_GE(left, 3U);
    }
  }
  std::string flipped = whole;
  flipped[flipped.find("choice\t")] = 'C';
  const auto damaged = folder.file("flipped", flipped);
  Opened opened(damaged);
  const auto notes = opened.choices.take_notes();
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("are left out: 1"), std::string::npos) << notes[0];
  EXPECT_EQ(opened.of("question 4"), "choice");
}

}  // namespace
}  // namespace strata::test
