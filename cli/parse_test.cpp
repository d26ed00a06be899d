// SPDX-License-Identifier: Apache-2.0
#include "cli/parse.hpp"

#include "cli/program.hpp"
#include "strata/base/error.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace strata {
namespace {

constexpr std::string_view sizes[] = {"small", "large"};
constexpr Flag count_flag{.name = "count", .letter = 'c', .value = "N", .help = "How many."};
constexpr Flag size_flag{
    .name = "size", .value = "S", .help = "How large.", .choices = sizes, .offer = Offer::choices};
constexpr Flag tag_flag{
    .name = "tag", .value = "T", .help = "Any number of them.", .repeats = true};
constexpr Flag quick_flag{.name = "quick", .help = "Faster."};
constexpr std::string_view types[] = {"fp32", "fp16", "look-ahead"};
constexpr Flag type_flag{.name = "type", .value = "T", .help = "Which.", .choices = types};
constexpr Flag top_flag{.name = "top", .value = "N", .help = "So many.", .also = "layers"};
constexpr Flag unknown_flag{.name = "unknown", .help = "In no table."};

constexpr Flag flags[] = {count_flag, size_flag, tag_flag, quick_flag, type_flag, top_flag};
constexpr Argument arguments[] = {{.name = "FROM", .help = "Where from."},
                                  {.name = "TO", .help = "Where to.", .is_required = false}};
constexpr Command command{.name = "move",
                          .summary = "Moves",
                          .arguments = arguments,
                          .flags = flags,
                          .run = [](const Request&) { return 0; }};

Arguments parsed(const std::vector<std::string>& words) { return parse(command, words); }

std::string error_of(const std::vector<std::string>& words) {
  try {
    parsed(words);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "no error";
}

TEST(Parse, flags_and_words_in_any_order) {
  const Arguments given = parsed({"a", "--count", "3", "b", "--quick"});
  EXPECT_EQ(given.words(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(given.value(count_flag), "3");
  EXPECT_TRUE(given.has(quick_flag));
  EXPECT_FALSE(given.has(size_flag));
  EXPECT_EQ(given.value(size_flag), std::nullopt);
  EXPECT_EQ(given.word(1), "b");
  EXPECT_EQ(given.word(2), "");
}

TEST(Parse, choices_are_known_in_any_case_and_by_the_names_of_pytorch) {
  for (const char* word : {"fp16", "FP16", "float16", "Half"})
    EXPECT_EQ(parsed({"a", "--type", word}).value(type_flag), "fp16") << word;
  EXPECT_EQ(parsed({"a", "--type=LOOK_AHEAD"}).value(type_flag), "look-ahead");
  EXPECT_NE(error_of({"a", "--type", "fp61"}).find("--type expects"), std::string::npos);
  EXPECT_NE(error_of({"a", "--type", "bfloat16"}).find("--type expects"), std::string::npos);
}

TEST(Parse, another_name_of_a_flag_is_taken_for_it) {
  EXPECT_EQ(parsed({"a", "--layers", "3"}).value(top_flag), "3");
  EXPECT_EQ(parsed({"a", "--top=3"}).value(top_flag), "3");
}

TEST(Parse, every_way_to_give_a_value) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"a", "--count", "3"},
                                             {"a", "--count=3"},
                                             {"a", "-c", "3"},
                                             {"a", "-c3"},
                                             {"-c", "3", "a"}}) {
    EXPECT_EQ(parsed(words).value(count_flag), "3") << words.back();
    EXPECT_EQ(parsed(words).word(0), "a") << words.back();
  }
  EXPECT_EQ(parsed({"a", "--count", "-3"}).value(count_flag), "-3")
      << "whether a value fits is for its reader to say";
}

TEST(Parse, the_last_value_counts_and_all_are_kept) {
  const Arguments given =
      parsed({"a", "--tag", "x", "--tag=[y,z]", "--count", "1", "--count", "2"});
  EXPECT_EQ(given.values(tag_flag), (std::vector<std::string>{"x", "[y,z]"}));
  EXPECT_EQ(given.value(count_flag), "2");
}

TEST(Parse, words_that_look_odd_stay_as_they_are) {
  EXPECT_EQ(parsed({"[a,b]", "-"}).words(), (std::vector<std::string>{"[a,b]", "-"}));
  EXPECT_EQ(parsed({"--quick", "--", "--quick", "--"}).words(),
            (std::vector<std::string>{"--quick", "--"}));
  EXPECT_EQ(parsed({""}).words(), std::vector<std::string>{""});
  EXPECT_EQ(parsed({"a b"}).words(), std::vector<std::string>{"a b"});
}

TEST(Parse, mistakes_name_the_word_and_end_with_usage) {
  const std::string usage = "\nusage: strata move FROM [TO] [options]";
  EXPECT_EQ(usage_of(command), usage.substr(1));
  EXPECT_EQ(error_of({}), "FROM is missing" + usage);
  EXPECT_EQ(error_of({"a", "b", "c"}), "unexpected argument 'c'" + usage);
  EXPECT_EQ(error_of({"a", "--cuont", "3"}), "unknown flag --cuont; did you mean --count?" + usage);
  EXPECT_EQ(error_of({"a", "-x"}), "unknown flag -x" + usage);
  EXPECT_EQ(error_of({"a", "-qx"}), "unknown flag -qx" + usage);
  EXPECT_EQ(error_of({"a", "--count"}), "--count needs a value: --count N" + usage);
  EXPECT_EQ(error_of({"a", "--count="}), "--count needs a value: --count N" + usage);
  EXPECT_EQ(error_of({"a", "--count", "--quick"}), "--count needs a value: --count N" + usage);
  EXPECT_EQ(error_of({"a", "--quick=no"}), "--quick takes no value" + usage);
  EXPECT_EQ(error_of({"a", "--size", "smal"}),
            "--size expects small or large, got 'smal'; did you mean small?");
}

TEST(Parse, whoever_asks_for_a_file_is_told_what_writes_one) {
  const auto error = [](const char* flag) {
    try {
      parse(command_named("predict"), std::vector<std::string>{"lenet5", flag, "x.json"});
    } catch (const Error& raised) {
      return std::string(raised.what());
    }
    return std::string();
  };
  for (const char* flag : {"-o", "--out", "--output"}) {
    const std::string said = error(flag);
    EXPECT_EQ(said.find(std::string("unknown flag ") + flag +
                        "; results go to files by --json "
                        "FILE, --csv FILE"),
              0U)
        << said;
    EXPECT_NE(said.find("--html FILE"), std::string::npos) << said;
  }
  EXPECT_EQ(error_of({"a", "--output", "x"}).find("results go"), std::string::npos)
      << "a command that writes no file";
}

TEST(Parse, help_needs_nothing_else_to_be_right) {
  EXPECT_EQ(help_asked(parsed({"-h"})), Help::summary);
  EXPECT_EQ(help_asked(parsed({"--help"})), Help::page);
  EXPECT_EQ(help_asked(parsed({"a"})), Help::none);
  EXPECT_EQ(help_asked(parsed({"a", "b", "c", "-h"})), Help::summary);
}

TEST(Parse, a_flag_of_another_table_is_a_bug) {
  try {
    parsed({"a"}).value(unknown_flag);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::internal);
  }
}

TEST(Parse, before_the_command_only_flags_of_the_program_count) {
  const std::vector<std::string> words = {"--color", "never", "show", "--bogus", "--", "-h"};
  const Arguments given = parse_program(words);
  EXPECT_EQ(given.value(color_flag), "never");
  EXPECT_EQ(given.words(), (std::vector<std::string>{"show", "--bogus", "--", "-h"}));
  EXPECT_EQ(help_asked(given), Help::none);
}

TEST(Program, the_command_line_can_be_run_again) {
  EXPECT_EQ(command_line_of(std::vector<std::string>{"show", "a b", "it's", "", "x=1"}),
            "strata show 'a b' 'it'\\''s' '' x=1");
}

}  // namespace
}  // namespace strata
