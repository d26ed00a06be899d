// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/builder.hpp"
#include "strata/importers/import_options.hpp"
#include "strata/importers/keras/layout.hpp"
#include "strata/importers/notes.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace strata::keras {

/// Bounds on a network once shared models are laid out: calls and tensors read, and nodes. Far
/// beyond real networks.
inline constexpr std::size_t most_work = 400'000;
inline constexpr std::size_t most_nodes = 50'000;
inline constexpr std::size_t most_open_extents = 64;

/// A network in the making: the graph so far, the extents that its file leaves open, and what a
/// reader should know about it.
class Assembly {
 public:
  Assembly(std::string name, const ImportOptions& options, bool is_channels_first);

  GraphBuilder& builder() { return builder_; }
  Symbols& symbols() { return builder_.symbols(); }
  Graph& graph() { return builder_.graph(); }
  const ImportOptions& options() const { return options_; }
  /// What a layer means that names no data format.
  bool is_channels_first() const { return is_channels_first_; }

  const Shape& stored(Value x) const { return builder_.type(x.id).shape; }
  Shape shape(Value x) const { return keras_shape(stored(x), x.channels_at); }
  std::size_t rank(Value x) const { return stored(x).size(); }
  DType dtype(Value x) const { return builder_.type(x.id).dtype; }
  std::string text(const Shape& shape) { return text_of(shape, symbols()); }

  /// The batch; the first file or option that states one decides its default.
  Dim batch() const { return batch_; }
  void state_batch(std::int64_t batch);
  /// An extent that the file leaves open: a parameter "height", or "height_2" when there is one.
  Dim open_extent(std::string_view role, std::string_view input);

  /// The tensor with its channels stored elsewhere: the same one, or a Transpose named `name` that
  /// is made once however many layers ask for it.
  Value converted(Value x, std::size_t channels_at, std::string_view name);

  void note(WarningCode code, std::string_view place, std::string_view what) {
    notes_.add(code, place, what);
  }

  /// Counts the work that a file asks for; an error (input) when it is too much.
  void spend(std::size_t work);

  /// Ends the building: open extents get values, and what was noted becomes the graph's warnings.
  Graph finish() &&;

 private:
  struct OpenExtent {
    Dim dim;
    std::string role;
    std::string input;
    std::optional<std::int64_t> value;
  };

  void settle_open_extents();
  bool settle(Dim open, Dim known);
  std::optional<std::int64_t> value_of(Dim dim) const;

  GraphBuilder builder_;
  const ImportOptions& options_;
  Notes notes_;
  bool is_channels_first_;
  Dim batch_;
  std::optional<std::int64_t> stated_batch_;
  std::vector<OpenExtent> open_extents_;
  std::unordered_map<std::uint64_t, TensorId> conversions_;
  std::size_t work_ = 0;
};

}  // namespace strata::keras
