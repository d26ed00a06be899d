// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/engine/remembered_choices.hpp"

#include "strata/base/printable.hpp"
#include "strata/base/text.hpp"
#include "strata/base/this_run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string_view>

namespace strata {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view format_line = "strata-choices 1";
constexpr std::uintmax_t most_bytes = 16U << 20U;
constexpr std::size_t most_choices = 20'000;

/// A field of a line: it ends with a tab, and the line with a newline.
std::string as_field(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
  return text;
}

/// "2026-03-01T12:00:00Z", so that text compares as time does.
bool is_moment(std::string_view text) {
  constexpr std::string_view form = "0000-00-00T00:00:00Z";
  if (text.size() != form.size()) return false;
  for (std::size_t i = 0; i < form.size(); ++i) {
    const bool is_digit = text[i] >= '0' && text[i] <= '9';
    if (form[i] == '0' ? !is_digit : text[i] != form[i]) return false;
  }
  return true;
}

std::optional<double> parsed_seconds(std::string_view text) {
  double seconds = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return std::isfinite(seconds) && seconds >= 0 ? std::optional(seconds) : std::nullopt;
}

/// FNV-1a, so that a line that something happened to is not taken for another choice.
std::string line_sum(std::string_view line) {
  std::uint64_t sum = 0xcbf29ce484222325U;
  for (const char c : line) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return fmt::format("{:016x}", sum);
}

std::string line_of(const std::string& surroundings, const std::string& question,
                    const RememberedChoice& choice) {
  const std::string line = fmt::format("{}\t{}\t{}\t{}\t{}", surroundings, question, choice.choice,
                                       choice.seconds, choice.measured_at);
  return fmt::format("{}\t{}\n", line, line_sum(line));
}

}  // namespace

RememberedChoices::RememberedChoices(Source source, std::string surroundings)
    : source_(std::move(source)), surroundings_(as_field(std::move(surroundings))) {
  if (source_.file.empty() || source_.measures_anew) return;
  if (auto choices = read()) found_ = std::move(*choices);
}

RememberedChoices::~RememberedChoices() {
  try {
    save();
  } catch (...) {  // it only costs the next run its time
  }
}

void RememberedChoices::note(std::string text) {
  if (std::find(notes_.begin(), notes_.end(), text) == notes_.end())
    notes_.push_back(std::move(text));
}

std::optional<RememberedChoices::Choices> RememberedChoices::read() {
  std::error_code problem;
  const fs::file_status status = fs::status(source_.file, problem);
  if (!fs::exists(status)) return Choices{};
  const std::string name = printable(source_.file.string());
  const auto refuse = [&](std::string_view why) {
    is_ours_ = false;
    note(fmt::format("{} {}: choices are neither read from it nor kept in it", name, why));
    return std::nullopt;
  };
  // A pipe of that name would keep us waiting.
  if (!fs::is_regular_file(status)) return refuse("is not a file");
  if (fs::file_size(source_.file, problem) > most_bytes || problem)
    return refuse("is too large for a file of choices");
  std::ifstream file(source_.file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) return refuse("cannot be read");
  const std::vector<std::string_view> lines = split(text, '\n');
  if (text.empty()) return Choices{};
  if (lines.front() != format_line) return refuse("is not a file of choices");
  Choices choices;
  std::size_t damaged = 0;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    const std::vector<std::string_view> fields = split(lines[i], '\t');
    const auto seconds = fields.size() == 6 ? parsed_seconds(fields[3]) : std::nullopt;
    const std::string_view summed = lines[i].substr(0, lines[i].rfind('\t'));
    if (!seconds || fields[2].empty() || !is_moment(fields[4]) || line_sum(summed) != fields[5]) {
      ++damaged;
      continue;
    }
    choices[{std::string(fields[0]), std::string(fields[1])}] = {std::string(fields[2]), *seconds,
                                                                 std::string(fields[4])};
  }
  if (damaged > 0) note(fmt::format("damaged lines of {} are left out: {}", name, damaged));
  return choices;
}

std::optional<RememberedChoice> RememberedChoices::find(const std::string& question) const {
  const auto at = found_.find({surroundings_, as_field(question)});
  return at == found_.end() ? std::nullopt : std::optional(at->second);
}

void RememberedChoices::use(const RememberedChoice& choice) {
  ++used_;
  if (oldest_used_.empty() || choice.measured_at < oldest_used_) oldest_used_ = choice.measured_at;
}

void RememberedChoices::put(const std::string& question, const std::string& choice,
                            double seconds) {
  if (source_.file.empty() || choice.empty() || !std::isfinite(seconds)) return;
  added_[{surroundings_, as_field(question)}] = {as_field(choice), seconds, this_moment()};
}

void RememberedChoices::save() {
  if (added_.empty() || !is_ours_) return;
  // Somebody else may have added to it since it was read.
  std::optional<Choices> all = read();
  if (!all) return;
  for (const auto& [key, choice] : added_) (*all)[key] = choice;
  if (all->size() > most_choices) {
    std::vector<std::string> moments;
    for (const auto& [key, choice] : *all) moments.push_back(choice.measured_at);
    const auto first_kept =
        moments.begin() + static_cast<std::ptrdiff_t>(moments.size() - most_choices);
    std::nth_element(moments.begin(), first_kept, moments.end());
    std::erase_if(*all, [&](const auto& one) { return one.second.measured_at < *first_kept; });
  }
  write(*all);
  added_.clear();
}

void RememberedChoices::write(const Choices& choices) {
  std::error_code problem;
  fs::create_directories(source_.file.parent_path(), problem);
  const fs::path made = source_.file.parent_path() /
                        fmt::format(".{}.{}.partial", source_.file.filename().string(), ::getpid());
  bool is_whole = false;
  {
    std::ofstream file(made, std::ios::binary | std::ios::trunc);
    file << format_line << '\n';
    for (const auto& [key, choice] : choices) file << line_of(key.first, key.second, choice);
    file.close();
    is_whole = static_cast<bool>(file);
  }
  if (is_whole) fs::rename(made, source_.file, problem);
  if (is_whole && !problem) return;
  fs::remove(made, problem);
  note(fmt::format("choices could not be kept in {}", printable(source_.file.string())));
}

std::vector<std::string> RememberedChoices::take_notes() {
  save();
  std::vector<std::string> notes = std::exchange(notes_, {});
  if (used_ > 0) {
    notes.push_back(fmt::format("{} {} of kernels remembered, measured {} or later ({})", used_,
                                used_ == 1 ? "choice" : "choices", oldest_used_,
                                printable(source_.file.string())));
  }
  used_ = 0;
  oldest_used_.clear();
  return notes;
}

}  // namespace strata
