// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/builder.hpp"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace strata {

/// A GraphBuilder with the words in which networks of sequences are written.
///
/// Sequences are [batch, seq, features]. Both extents are parameters of the graph, bound late. In
/// recurrent networks the time steps of a layer are always axis 1, so that training/ can unroll
/// along it; where a second axis has the extent seq too (attention scores [batch, seq, seq]), that
/// one runs over the keys.
class SequenceBuilder : public GraphBuilder {
 public:
  SequenceBuilder(std::string name, std::int64_t default_batch, std::int64_t default_seq);

  Dim batch() const { return batch_; }
  Dim seq() const { return seq_; }

  /// Input of word numbers: int64 [batch, seq].
  TensorId tokens(std::string_view name);
  /// Input of feature vectors: [batch, seq, width].
  TensorId features(std::string_view name, std::int64_t width);

  TensorId linear(std::string_view name, TensorId x, std::int64_t features, bool bias = true);
  /// A linear layer whose weight is the table of an embedding: x · tableᵀ, with a bias of its own
  /// where one is asked for.
  TensorId tied_linear(std::string_view name, TensorId x, TensorId table, bool bias = false);
  TensorId embedding(std::string_view name, TensorId indices, std::int64_t vocabulary,
                     std::int64_t width);
  /// The same look-up in a table that exists already.
  TensorId shared_embedding(std::string_view name, TensorId indices, TensorId table);
  /// Learnt vectors of the positions 0 … seq − 1: [1, min(seq, most), width]. They come first in
  /// the sum with the word vectors, whose length the sum then has; binding a seq beyond `most` is
  /// an error there.
  TensorId learnt_positions(std::string_view name, std::int64_t most, std::int64_t width);

  TensorId unary(std::string_view name, UnaryKind kind, TensorId x);
  TensorId sum(std::string_view name, std::initializer_list<TensorId> terms);
  TensorId product(std::string_view name, TensorId a, TensorId b);
  TensorId dropout(std::string_view name, TensorId x, double probability);
  TensorId layer_norm(std::string_view name, TensorId x);
  TensorId rms_norm(std::string_view name, TensorId x);
  /// All outputs of every time step; the last states are computed but not handed on.
  TensorId recurrent(std::string_view name, TensorId x, const Recurrent& layer);
  /// The first vector of the sequence: [batch, features].
  TensorId first_token(std::string_view name, TensorId x);

 private:
  Dim batch_;
  Dim seq_;
};

}  // namespace strata
