// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// What was found fastest on a device, kept from run to run: trying every way to compute a
/// convolution takes far longer than training a few batches with the best.
namespace strata {

struct RememberedChoice {
  std::string choice;       ///< as the asker can build it again
  double seconds = 0;       ///< what it took when it was measured
  std::string measured_at;  ///< "2026-03-01T12:00:00Z"
};

/// A text file: a line that names the format, then a line per choice. It only ever saves time: one
/// that cannot be read or written is a note, and choices are measured anew.
class RememberedChoices {
 public:
  struct Source {
    std::filesystem::path file = {};  ///< empty: nothing is kept
    bool measures_anew = false;       ///< what is there is not looked at, and replaced
  };
  /// `surroundings`: all that a choice depends on beside its question: device, driver, versions.
  /// Choices made in others stay in the file and are not seen.
  RememberedChoices(Source source, std::string surroundings);
  ~RememberedChoices();  ///< saves
  RememberedChoices(const RememberedChoices&) = delete;
  RememberedChoices& operator=(const RememberedChoices&) = delete;

  /// What was chosen in an earlier run; of this run's own choices the asker knows itself.
  std::optional<RememberedChoice> find(const std::string& question) const;
  /// Says that a choice which was found is used, so that notes can tell.
  void use(const RememberedChoice& choice);
  /// Keeps what was measured just now.
  void put(const std::string& question, const std::string& choice, double seconds);

  /// Adds what is new to what the file holds by now, and replaces it as a whole.
  void save();
  /// What to know about the choices made since this was asked last: remembered from when, or what
  /// was wrong with the file.
  std::vector<std::string> take_notes();

 private:
  using Key = std::pair<std::string, std::string>;  ///< surroundings and question
  using Choices = std::map<Key, RememberedChoice>;

  /// Nothing where the file is none of ours; it is then left as it is.
  std::optional<Choices> read();
  void write(const Choices& choices);
  void note(std::string text);

  Source source_;
  std::string surroundings_;
  bool is_ours_ = true;  ///< the file may be replaced
  Choices found_, added_;
  std::size_t used_ = 0;
  std::string oldest_used_;
  std::vector<std::string> notes_;
};

}  // namespace strata
