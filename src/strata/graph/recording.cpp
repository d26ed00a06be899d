// SPDX-License-Identifier: Apache-2.0
#include "strata/graph/recording.hpp"

#include <algorithm>

namespace strata {

std::string_view RecordedOperation::base() const {
  std::string_view text = name;
  const std::size_t space = text.rfind("::");
  if (space != std::string_view::npos) text.remove_prefix(space + 2);
  return text.substr(0, text.find('.'));
}

const std::vector<double>* RecordedOperation::find(std::string_view argument) const {
  const auto found = std::find_if(numbers.begin(), numbers.end(),
                                  [&](const auto& one) { return one.first == argument; });
  return found == numbers.end() ? nullptr : &found->second;
}

double RecordedOperation::number(std::string_view argument, double otherwise) const {
  const std::vector<double>* values = find(argument);
  return values == nullptr || values->empty() ? otherwise : values->front();
}

std::string_view RecordedOperation::text(std::string_view argument) const {
  const auto found = std::find_if(texts.begin(), texts.end(),
                                  [&](const auto& one) { return one.first == argument; });
  return found == texts.end() ? std::string_view() : std::string_view(found->second);
}

std::uint32_t RecordedOperation::input(std::size_t position) const {
  if (position >= inputs.size() || inputs[position].empty()) return no_tensor;
  return inputs[position].front();
}

}  // namespace strata
