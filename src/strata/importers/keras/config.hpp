// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/shape.hpp"
#include "strata/importers/keras/document.hpp"

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace strata::keras {

/// The names of one argument: Keras 1 called many of them otherwise.
using Names = std::initializer_list<const char*>;

/// The arguments of a layer, by type. Errors (input) name the argument, what was expected and what
/// came.
class Config {
 public:
  explicit Config(const Json& object) : object_(&object) {}

  const Json& object() const { return *object_; }

  /// The value of the first of these names that is there and not null, or nullptr.
  const Json* find(Names names) const;

  std::int64_t whole(Names names) const;
  std::int64_t whole(Names names, std::int64_t otherwise) const;
  double number(Names names, double otherwise) const;
  bool truth(Names names, bool otherwise) const;
  std::string word(Names names, std::string_view otherwise) const;

  /// One number for each of `axes` axes; a single number stands for all of them.
  Extents extents(Names names, std::size_t axes) const;
  Extents extents(Names names, std::size_t axes, std::int64_t otherwise) const;

  /// A list of whole numbers; a single number is a list of one.
  std::vector<std::int64_t> numbers(Names names) const;

 private:
  const Json* object_;
};

}  // namespace strata::keras
