// SPDX-License-Identifier: Apache-2.0
#include "cli/page_text.hpp"

#include "strata/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace strata {
namespace {

constexpr std::string_view fence = "```";
constexpr std::size_t widest_text = 100;  // longer lines are hard to read

/// "[words](target)" is "words"; marks of code and of emphasis go.
std::string without_marks(std::string_view text) {
  std::string plain;
  bool is_code = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i);
    if (rest.front() == '`') {
      is_code = !is_code;
    } else if (!is_code && rest.starts_with("**")) {
      ++i;
    } else if (!is_code && rest.front() == '[' && rest.find("](") < rest.find(']') + 1) {
      const std::size_t middle = rest.find("](");
      const std::size_t end = rest.find(')', middle);
      if (end == std::string_view::npos) {
        plain += rest.front();
        continue;
      }
      plain += without_marks(rest.substr(1, middle - 1));
      i += end;
    } else {
      plain += rest.front();
    }
  }
  return plain;
}

/// Words in lines of at most `columns`; further lines begin with `indent`.
std::string wrapped(std::string_view text, std::size_t columns, std::string_view indent) {
  std::string lines, line;
  for (const std::string_view word : split(text, ' ')) {
    if (word.empty()) continue;
    if (!line.empty() && width_of(line) + 1 + width_of(word) > columns) {
      lines += line + '\n';
      line = indent;
    }
    if (!line.empty() && line != indent) line += ' ';
    line += word;
  }
  return lines + line + '\n';
}

bool is_list_item(std::string_view line) { return trimmed(line).starts_with("- "); }
bool is_table_row(std::string_view line) { return line.starts_with('|'); }

std::vector<std::string> cells_of(std::string_view row) {
  std::string body(trimmed(row));
  if (body.starts_with('|')) body.erase(0, 1);
  if (body.ends_with('|')) body.pop_back();
  std::vector<std::string> cells;
  for (const std::string_view cell : split(body, '|'))
    cells.push_back(without_marks(trimmed(cell)));
  return cells;
}

bool is_ruler(const std::vector<std::string>& cells) {
  return std::all_of(cells.begin(), cells.end(), [](const std::string& cell) {
    return cell.find_first_not_of("-: ") == std::string::npos;
  });
}

class PageWriter {
 public:
  explicit PageWriter(const TextStyle& style)
      : style_(style),
        columns_(style.columns == 0 ? widest_text : std::min(style.columns, widest_text)) {}

  void add(std::string_view line) {
    if (line.starts_with(fence)) {
      flush();
      is_example_ = !is_example_;
    } else if (is_example_ || line.starts_with("    ")) {
      flush();
      text_ += fmt::format("{}{}\n", is_example_ ? "    " : "", line);
    } else if (is_table_row(line)) {
      if (!paragraph_.empty()) flush();
      rows_.push_back(cells_of(line));
    } else if (line.starts_with('#')) {
      flush();
      const std::size_t begin = line.find_first_not_of("# ");
      text_ +=
          bold(without_marks(begin == std::string_view::npos ? "" : line.substr(begin)), style_) +
          '\n';
    } else if (trimmed(line).empty()) {
      flush();
      text_ += '\n';
    } else if (!trimmed(line).starts_with("<!--")) {
      if (is_list_item(line)) flush();
      if (paragraph_.empty()) indent_ = is_list_item(line) ? line.find('-') + 2 : 0;
      paragraph_ += paragraph_.empty() ? std::string(line) : ' ' + std::string(trimmed(line));
    }
  }

  std::string text() && {
    flush();
    return std::move(text_);
  }

 private:
  void flush() {
    if (!paragraph_.empty()) {
      const std::string indent(indent_, ' ');
      const std::size_t lead = paragraph_.find_first_not_of(' ');
      text_ += std::string(lead, ' ') +
               wrapped(without_marks(paragraph_), columns_ - std::min(lead, columns_), indent);
      paragraph_.clear();
    }
    if (!rows_.empty()) write_table();
  }

  /// The last column takes what is left of the width.
  void write_table() {
    std::vector<std::size_t> widths;
    for (const std::vector<std::string>& row : rows_) {
      if (is_ruler(row)) continue;
      widths.resize(std::max(widths.size(), row.size()));
      for (std::size_t i = 0; i < row.size(); ++i)
        widths[i] = std::max(widths[i], width_of(row[i]));
    }
    for (const std::vector<std::string>& row : rows_) {
      if (is_ruler(row)) continue;
      std::string line;
      for (std::size_t i = 0; i < row.size(); ++i) {
        const bool is_last = i + 1 == row.size();
        line += "  " + row[i] + (is_last ? "" : std::string(widths[i] - width_of(row[i]), ' '));
      }
      text_ += line + '\n';
    }
    rows_.clear();
  }

  const TextStyle& style_;
  std::size_t columns_;
  bool is_example_ = false;
  std::size_t indent_ = 0;
  std::string paragraph_;
  std::vector<std::vector<std::string>> rows_;
  std::string text_;
};

/// Paragraphs, lists and examples of a page, each with its lines.
std::vector<std::string> blocks_of(std::string_view markdown) {
  std::vector<std::string> blocks(1);
  bool is_example = false;
  for (const std::string_view line : split(markdown, '\n')) {
    if (line.starts_with(fence)) is_example = !is_example;
    if (line.empty() && !is_example) {
      blocks.emplace_back();
    } else {
      blocks.back() += std::string(line) + '\n';
    }
  }
  return blocks;
}

}  // namespace

std::string page_as_text(std::string_view markdown, const TextStyle& style) {
  PageWriter writer(style);
  for (const std::string_view line : split(markdown, '\n')) writer.add(line);
  std::string text = std::move(writer).text();
  while (text.ends_with("\n\n") || text == "\n") text.pop_back();
  return text;
}

std::string page_part(std::string_view markdown, std::string_view command, std::string_view word) {
  const std::string shown = fmt::format("strata {} {}", command, word);
  const std::string begin = fmt::format("**{}**", word);
  std::string usage, about, options;
  bool is_about = false, is_options = false;
  for (const std::string& block : blocks_of(markdown)) {
    if (block.starts_with('#')) is_options = block.starts_with("## Options");
    if (is_options) {
      options += block + '\n';
      continue;
    }
    const bool is_code = block.starts_with(fence) || block.starts_with("    ");
    if (block.starts_with("    ")) {
      for (const std::string_view line : split(block, '\n')) {
        if (line.find(shown) != std::string_view::npos) usage += std::string(line) + '\n';
      }
    }
    // What follows a paragraph about the word belongs to it, until another word's begins.
    if (block.starts_with("**") || block.starts_with('#')) is_about = block.starts_with(begin);
    const bool names_it = !is_code && block.find('`' + shown) != std::string::npos;
    if (is_about || names_it) about += block + '\n';
  }
  if (about.empty() && usage.empty()) return "";
  return fmt::format("# {}\n\n{}{}{}{}", shown, usage, usage.empty() ? "" : "\n", about, options);
}

}  // namespace strata
