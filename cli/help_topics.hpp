// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What `strata help` knows besides commands: pages of the documentation, the documents that --json
/// writes, the tutorials, the version.
namespace strata {

/// What helps with a topic, as Markdown; `word` is a part of it: a tutorial, a kind of document.
/// Nothing: there is no such topic. Errors (usage): the topic has no such part.
std::optional<std::string> topic_page(std::string_view topic, std::string_view word = {});

/// Names of all topics.
std::vector<std::string> topics();

}  // namespace strata
