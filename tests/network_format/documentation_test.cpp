// SPDX-License-Identifier: Apache-2.0
// docs/network-format.md against the program: its list of operators is the table that the reader
// uses, its example is the file in examples/, and its other claims hold.
#include "strata/base/error.hpp"
#include "strata/graph/operator_fields.hpp"
#include "strata/graph/operator_names.hpp"
#include "strata/importers/network/network.hpp"
#include "test_files.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace strata {
namespace {

constexpr std::string_view operators_begin = "<!-- operators:";
constexpr std::string_view operators_end = "<!-- end of operators -->";

std::string row_of(const FieldDescription& field) {
  const std::string usual = field.is_required ? "required"
                            : field.default_value.empty()
                                ? ""
                                : fmt::format("`{}`", field.default_value);
  return fmt::format("| `{}` | {} | {} | {} |\n", field.name, field.type, usual, field.help);
}

std::string rows_of(std::string_view name) {
  std::string rows;
  for (const FieldDescription& field : fields_of(*operator_named(name))) rows += row_of(field);
  return rows;
}

// Neighbours of one struct with the same fields share a heading: nobody wants the 33 functions of
// one number one by one.
std::string operators_section() {
  const auto names = operator_names();
  std::string section;
  for (std::size_t i = 0; i < names.size();) {
    const Operator op = *operator_named(names[i]);
    const std::string rows = rows_of(names[i]);
    std::string heading = fmt::format("`{}`", names[i]);
    for (++i; i < names.size(); ++i) {
      if (operator_named(names[i])->index() != op.index() || rows_of(names[i]) != rows) break;
      heading += fmt::format(", `{}`", names[i]);
    }
    section += fmt::format("\n### {}\n\n{}\n", heading, help_of(op));
    if (!rows.empty()) section += "\n| key | value | default | |\n|---|---|---|---|\n" + rows;
  }
  return section + "\n";
}

struct Page {
  std::string before;
  std::string operators;
  std::string after;
};

Page page() {
  const std::string text = text_of_file(source_dir() / "docs/network-format.md");
  const std::size_t begin = text.find('\n', text.find(operators_begin)) + 1;
  const std::size_t end = text.find(operators_end);
  return {text.substr(0, begin), text.substr(begin, end - begin), text.substr(end)};
}

TEST(NetworkFormatPage, lists_every_operator_and_every_field) {
  const Page shown = page();
  if (std::getenv("STRATA_APPROVE") != nullptr) {
    write_file(source_dir() / "docs/network-format.md",
               shown.before + operators_section() + shown.after);
    GTEST_SKIP() << "docs/network-format.md has been rewritten";
  }
  EXPECT_EQ(shown.operators, operators_section())
      << "run this test with STRATA_APPROVE=1 to bring docs/network-format.md up to date";
}

// The text between ```language and ```.
std::string code_block(const std::string& text, std::string_view language) {
  const std::string fence = fmt::format("```{}\n", language);
  const std::size_t begin = text.find(fence) + fence.size();
  return text.substr(begin, text.find("```", begin) - begin);
}

TEST(NetworkFormatPage, shows_the_examples_as_they_are) {
  const std::string text = page().before;
  const std::filesystem::path examples = source_dir() / "examples/networks";
  EXPECT_EQ(code_block(text, "json"), text_of_file(examples / "tiny.json"));
  EXPECT_EQ(code_block(text, "toml"), text_of_file(examples / "tiny.toml"));
}

TEST(NetworkFormatPage, names_every_key_and_data_type) {
  const std::string text = page().before;
  for (const char* key : {"strata_network", "inputs", "layers", "outputs", "dims", "name", "title",
                          "source", "recurrent_order", "op", "block", "weights_of", "weights",
                          "parameter", "buffer", "constant", "input", "pad_begin", "pad_end"}) {
    EXPECT_NE(text.find(fmt::format("`{}`", key)), std::string::npos) << key;
  }
  for (const DType dtype : all_dtypes()) {
    EXPECT_NE(text.find(fmt::format("`{}`", name_of(dtype))), std::string::npos) << name_of(dtype);
  }
}

TEST(NetworkFormatPage, its_error_messages_are_real) {
  const std::string text = page().before;
  const auto expect_shown = [&text](const char* file, std::string shown_as) {
    const std::filesystem::path path = source_dir() / "tests/bad_networks" / file;
    try {
      read_network(text_of_file(path), shown_as);
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_NE(text.find(error.what()), std::string::npos) << error.what();
    }
  };
  expect_shown("unknown_key.json", "net.json");
  expect_shown("unknown_input.toml", "net.toml");
}

}  // namespace
}  // namespace strata
