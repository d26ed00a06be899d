// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/keras/assembly.hpp"

#include "strata/base/error.hpp"
#include "strata/importers/network/document.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata::keras {
namespace {

constexpr std::int64_t default_batch = 32;

// What an open extent is when neither the file nor the user says: the usual image of ImageNet, a
// usual training length of token models, a short film.
std::int64_t usual_extent(std::string_view role) {
  if (role == "height" || role == "width") return 224;
  if (role == "seq") return 128;
  return 16;
}

}  // namespace

Assembly::Assembly(std::string name, const ImportOptions& options, bool is_channels_first)
    : builder_(std::move(name)),
      options_(options),
      notes_(options.strict),
      is_channels_first_(is_channels_first),
      batch_(builder_.symbols().parameter("batch")) {}

void Assembly::state_batch(std::int64_t batch) {
  if (!stated_batch_) stated_batch_ = batch;
}

Dim Assembly::open_extent(std::string_view role, std::string_view input) {
  if (open_extents_.size() >= most_open_extents) {
    fail(ErrorKind::input, "more than {} extents are left open", most_open_extents);
  }
  const auto same = std::count_if(open_extents_.begin(), open_extents_.end(),
                                  [&](const OpenExtent& open) { return open.role == role; });
  const std::string name = same == 0 ? std::string(role) : fmt::format("{}_{}", role, same + 1);
  const Dim dim = symbols().parameter(name);
  open_extents_.push_back({dim, std::string(role), std::string(input), std::nullopt});
  return dim;
}

Value Assembly::converted(Value x, std::size_t channels_at, std::string_view name) {
  if (x.channels_at == channels_at || rank(x) < 3) return {x.id, rank(x) < 3 ? 0 : channels_at};
  const std::uint64_t key = std::uint64_t{x.id} * most_axes + channels_at;
  if (const auto known = conversions_.find(key); known != conversions_.end()) {
    return {known->second, channels_at};
  }
  const Axes permutation = permutation_between(rank(x), x.channels_at, channels_at);
  const Shape target = stored_shape(shape(x), channels_at);
  const TensorId made = moves_nothing(permutation, stored(x))
                            ? builder_.add(name, Reshape{target}, {x.id})
                            : builder_.add(name, Transpose{permutation}, {x.id});
  conversions_.emplace(key, made);
  return {made, channels_at};
}

void Assembly::spend(std::size_t work) {
  work_ += work;
  if (work_ > most_work) {
    fail(ErrorKind::input, "more than {} calls of layers, shared models laid out", most_work);
  }
  if (graph().nodes.size() > most_nodes) {
    fail(ErrorKind::input, "more than {} operators, shared models laid out", most_nodes);
  }
}

std::optional<std::int64_t> Assembly::value_of(Dim dim) const {
  if (dim.is_number()) return dim.factor;
  for (const OpenExtent& open : open_extents_) {
    if (open.dim.symbol != dim.symbol || !open.value) continue;
    std::int64_t product;
    if (!__builtin_mul_overflow(dim.factor, *open.value, &product)) return product;
  }
  return std::nullopt;
}

// factor × open = known, where known has a value that the factor divides.
bool Assembly::settle(Dim dim, Dim known) {
  const std::optional<std::int64_t> value = value_of(known);
  if (!value || dim.factor < 1 || *value < 1 || *value % dim.factor != 0) return false;
  for (OpenExtent& open : open_extents_) {
    if (open.dim.symbol != dim.symbol || open.value) continue;
    open.value = *value / dim.factor;
    return true;
  }
  return false;
}

// Where the network joins an open extent with a known one, the open one can only be that; the rest
// takes what is usual, and the user is told.
void Assembly::settle_open_extents() {
  for (std::size_t round = 0; round <= open_extents_.size(); ++round) {
    bool has_changed = false;
    for (const Assumption& assumption : graph().assumptions) {
      has_changed |= settle(assumption.left, assumption.right);
      has_changed |= settle(assumption.right, assumption.left);
    }
    if (!has_changed) break;
  }
  for (OpenExtent& open : open_extents_) {
    const std::string name = symbols().text(open.dim);
    if (!open.value) {
      open.value = usual_extent(open.role);
      notes_.add(WarningCode::value_assumed,
                 fmt::format("input {}", network::in_quotes(open.input)),
                 fmt::format("{0} is left open; {1} is assumed (choose with --dim {0}=N)", name,
                             *open.value));
    }
    symbols().parameter(name, open.value);
  }
}

Graph Assembly::finish() && {
  settle_open_extents();
  symbols().parameter("batch", stated_batch_.value_or(default_batch));
  graph().warnings = notes_.warnings();
  return std::move(builder_).finish();
}

}  // namespace strata::keras
