// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/bind.hpp"

#include <cstdint>
#include <vector>

/// Prepares a network before its steps are written: finds tensors that are one value under several
/// names, cuts tensors into time steps, and orders the nodes.
namespace strata {

/// Into what a tensor is cut; each piece is a value of its own.
struct Parting {
  enum class Cut : std::uint8_t { whole, time, cells, gates };
  Cut cut = Cut::whole;
  std::uint32_t count = 1;     ///< pieces
  std::uint32_t per_time = 1;  ///< of them per time step: the directions of a recurrent layer
};

/// A node, or one time step of it.
struct Instance {
  NodeId node = no_node;
  std::uint32_t time = 0;  ///< 1 … T; 0: all of the node at once
};

struct Unrolling {
  std::vector<TensorId> root;          ///< of every tensor: the one whose memory it is
  std::vector<Parting> partings;       ///< of every root; empty: nothing is cut
  std::vector<std::int8_t> time_axis;  ///< of every tensor, -1: none; empty: none has one
  std::vector<Instance> instances;
  bool cuts_recurrent = false;  ///< recurrent layers run cell by cell

  Parting parting(TensorId tensor) const {
    return partings.empty() ? Parting{} : partings[root[tensor]];
  }
};

/// `order` is the order of the nodes; time-major networks change it.
Unrolling unroll(const BoundGraph& bound, const std::vector<NodeId>& order, bool unroll_recurrent,
                 bool is_training);

/// Whether a node that runs time step by time step needs of this input only the same time step;
/// otherwise it needs all of it every time.
bool reads_own_time(const BoundGraph& bound, const Unrolling& unrolling, NodeId node,
                    std::size_t input);

}  // namespace strata
