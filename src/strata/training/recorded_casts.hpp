// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/recording.hpp"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace strata {

/// Casts of a recording that need no kernel. Autocast writes a tensor again in another type; a
/// perfect kernel converts numbers as it reads or writes them:
/// - A parameter has one copy in each smaller type, which lies in memory before the step as the
///   parameter does. The update writes both, as it does by the rules with fp32 master weights.
/// - A tensor that a cast made, no narrower than its source, has no memory: its readers read the
///   source.
/// - A tensor that nothing but casts to one type reads has no memory: its maker writes what they
///   make of it.
/// - Of a tensor that others read, too, the step before the cast writes both if it made the tensor.
///   Else the step behind the cast reads the source in place of the copy, and writes the copy if
///   others read it.
/// Every other cast is a step: of a part of a tensor, or far from what makes and what reads it.
class RecordedCasts {
 public:
  explicit RecordedCasts(const RecordedOperations& recording);

  bool needs_step(std::uint32_t operation) const { return done_by_[operation] == needs_kernel; }
  /// The operation that does a cast which needs no step; no_operation: nobody uses what it gives.
  std::uint32_t done_by(std::uint32_t operation) const { return done_by_[operation]; }

  /// The storage that stands for the memory of this one: itself, or one that a cast joins it to.
  std::uint32_t block(std::uint32_t storage) const;
  std::int64_t bytes(std::uint32_t block) const { return bytes_[block]; }

  /// The copies of a parameter in smaller types.
  std::vector<std::uint32_t> copies(std::uint32_t block) const;
  /// The parameter of a copy; of any other block itself.
  std::uint32_t origin(std::uint32_t block) const { return origins_[block]; }
  /// The block is a result: a gradient that no update uses, or what inference gave and nobody gave
  /// back.
  bool stays(std::uint32_t block) const;

  /// The block that an operation reads for one of its inputs: that before the cast where it does
  /// the cast itself.
  std::uint32_t block_read(std::uint32_t operation, std::uint32_t storage) const;
  /// The blocks that an operation writes beside its outputs.
  std::vector<std::uint32_t> written_beside(std::uint32_t operation) const;

  static constexpr std::uint32_t no_operation = ~std::uint32_t{0};

 private:
  static constexpr std::uint32_t needs_kernel = no_operation - 1;

  struct Cast {
    std::uint32_t operation, from, to;  ///< storages
  };
  /// Operations that launch something, by what they do to a block.
  struct Accesses {
    std::vector<std::uint32_t> reads;
    std::vector<std::uint32_t> writes;  ///< without the cast that made it
    bool is_freed = false;
  };

  DType type_given(std::uint32_t cast) const;
  bool is_whole(std::uint32_t tensor) const;
  bool is_cast(const RecordedOperation& operation) const;
  void find_accesses();
  bool is_of_parameter(const Cast& cast) const;
  void keep_copy(const Cast& cast);
  bool reads_narrow(const Cast& cast) const;
  bool is_written_as_cast(const Cast& cast) const;
  void join(const Cast& cast, std::int64_t bytes);
  void unite(std::uint32_t one, std::uint32_t other);
  bool is_gone(std::uint32_t operation) const;
  bool can_cast(std::uint32_t operation) const;
  void give_to_neighbour(const Cast& cast);
  void set_done_by(const Cast& cast);

  std::uint32_t maker(std::uint32_t block, std::uint32_t before) const;
  std::vector<std::uint32_t> readers(std::uint32_t block, std::uint32_t after) const;
  bool are_adjacent(std::uint32_t operation, std::uint32_t later) const;

  const RecordedOperations& recording_;
  bool has_update_ = false;
  std::vector<Cast> casts_;
  std::vector<bool> is_cast_;                // by operation
  std::vector<std::uint32_t> steps_before_;  // by operation: others than casts
  std::vector<Accesses> accesses_;           // by block
  std::vector<std::uint32_t> blocks_;        // by storage
  std::vector<std::uint32_t> origins_;       // by block
  std::map<std::pair<std::uint32_t, DType>, std::uint32_t> copies_;  // by parameter
  std::vector<std::int64_t> bytes_;                                  // by block
  std::vector<std::uint32_t> done_by_;                               // by operation
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> reads_instead_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> written_beside_;
};

}  // namespace strata
