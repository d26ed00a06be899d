// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/builder.hpp"
#include "strata/importers/caffe/layer.hpp"
#include "strata/importers/import_options.hpp"
#include "strata/importers/notes.hpp"

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace strata::caffe {

/// A network in the making: the graph so far, and the tensor that each blob name stands for right
/// now. A layer that writes the blob it reads gives the name a new tensor.
class Net {
 public:
  /// Layers keep their names; an input of the same name as a layer gets another.
  Net(std::string name, std::span<const Layer> layers, const ImportOptions& options);

  GraphBuilder& builder() { return builder_; }
  const Shape& shape(TensorId tensor) const { return builder_.type(tensor).shape; }
  std::size_t axes(TensorId tensor) const { return shape(tensor).size(); }

  /// Declares what comes from outside. The batch is the first extent of the first source; others
  /// follow it as far as they agree with it. Shapes given by the caller of the importer win.
  void add_sources(std::vector<Source> sources, const ImportOptions& options);

  /// The tensor that the layer reads there. A source becomes an input of the graph when it is first
  /// read.
  TensorId bottom(const Layer& layer, std::size_t index = 0);
  std::vector<TensorId> all_bottoms(const Layer& layer);
  /// The same for what a loss or a look-up compares with: a source takes the shape and type that
  /// its reader wants, anything else is brought to it.
  TensorId bottom_as(const Layer& layer, std::size_t index, DType dtype,
                     const std::optional<Shape>& wanted = std::nullopt);
  void set_top(const Layer& layer, TensorId tensor, std::size_t index = 0);
  /// The bottoms are read, and nothing comes of it.
  void swallow(const Layer& layer);

  /// Adds the node that the layer is: named like it, with the weights it shares by name, or those
  /// given.
  NodeId add_node(const Layer& layer, const Operator& op, std::span<const TensorId> inputs,
                  std::vector<TensorId> own = {});
  TensorId add(const Layer& layer, const Operator& op, std::initializer_list<TensorId> inputs);
  /// Adds a node beside it, "<layer>_<role>", without weights.
  TensorId add_step(const Layer& layer, std::string_view role, const Operator& op,
                    std::initializer_list<TensorId> inputs);
  /// The index-th learnt tensor of the layer as an operand of its own, shared by name as well.
  TensorId parameter(const Layer& layer, std::size_t index, std::string_view what,
                     const Shape& shape);
  /// A number that the file fixes, as an operand.
  TensorId scalar(const Layer& layer, std::string_view what);

  void note(WarningCode code, const Layer& layer, std::string_view what) {
    notes_.add(code, layer.place(), what);
  }
  void note(WarningCode code, std::string_view what) { notes_.add(code, "the network", what); }
  /// The value that an extent has unless another batch is chosen; nothing when it is not a plain
  /// multiple of the batch.
  std::optional<std::int64_t> usual(Dim extent) const;

  /// Scale layers that have become the affine part of the normalisation before them.
  std::unordered_map<const Layer*, const Layer*> scale_of_norm;
  std::unordered_set<const Layer*> is_part_of_norm;

  Graph finish() &&;

 private:
  struct Blob {
    TensorId tensor = 0;
    const Source* pending = nullptr;  // a source that nobody has read yet
    bool is_read = false;
  };

  Blob& blob(const Layer& layer, std::size_t index);
  Shape shape_of(const Source& source);
  TensorId make_input(const Source& source, const Shape& shape, DType dtype);
  TensorId make_stored(const Layer& layer, std::string_view what, const Shape& shape,
                       TensorKind kind);
  void set_block(const Layer& layer);
  void check_size();

  GraphBuilder builder_;
  Notes notes_;
  std::vector<Source> sources_;
  std::int64_t usual_batch_ = 0;
  Dim batch_;
  std::unordered_map<std::string, Blob> blobs_;
  std::vector<std::string> blob_order_;
  std::unordered_map<std::string, TensorId> shared_;
  std::unordered_set<std::string_view> layer_names_;
  std::unordered_map<std::string, std::size_t> stored_names_;  // how often each was asked for
};

}  // namespace strata::caffe
