// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/importers/keras/layers.hpp"
#include "strata/importers/keras/window.hpp"

namespace strata::keras {
namespace {

Values make_pool(LayerCall& call, PoolKind kind, std::size_t axes) {
  const Value x = call.image(call.only_input());
  const Config& config = call.config;
  Pool op{.kind = kind};
  op.kernel = config.extents({"pool_size", "pool_length"}, axes, 2);
  const bool has_stride = config.find({"strides", "stride"}) != nullptr;
  op.stride = has_stride ? config.extents({"strides", "stride"}, axes) : op.kernel;
  const Padding padding = padding_of(call, x, {op.kernel, op.stride, {}});
  op.pad_begin = padding.begin;
  op.pad_end = padding.end;
  return {{call.add(op, {x.id}), x.channels_at}};
}

// Over time of N, T, features: the graph's sequences need no transposition for that.
Values over_time(LayerCall& call, PoolKind kind, Value x) {
  const Reduce op{.kind = kind == PoolKind::maximum ? ReduceKind::maximum : ReduceKind::mean,
                  .axes = {1},
                  .keep_axes = call.config.truth({"keepdims"}, false)};
  return {{call.add(op, {x.id}), 0}};
}

Values make_global_pool(LayerCall& call, PoolKind kind) {
  const Value x = call.only_input();
  if (call.rank(x) < 3) {
    fail(ErrorKind::input, "expected an input with spatial axes, got {}",
         call.net.text(call.shape(x)));
  }
  if (call.rank(x) == 3 && x.channels_at == 0 && !call.is_channels_first()) {
    return over_time(call, kind, x);
  }
  const Value image = call.image(x);
  const TensorId pooled = call.add(AdaptivePool{.kind = kind}, {image.id});
  if (call.config.truth({"keepdims"}, false)) return {{pooled, image.channels_at}};
  return {{call.add(Flatten{}, {pooled}, "flatten"), 0}};
}

Values make_adaptive_pool(LayerCall& call, PoolKind kind) {
  const Value x = call.image(call.only_input());
  if (call.rank(x) < 3) {
    fail(ErrorKind::input, "expected an input with spatial axes, got {}",
         call.net.text(call.shape(x)));
  }
  const AdaptivePool op{.kind = kind,
                        .output = call.config.extents({"output_size"}, call.rank(x) - 2)};
  return {{call.add(op, {x.id}), x.channels_at}};
}

}  // namespace

Values make_max_pooling1d(LayerCall& call) { return make_pool(call, PoolKind::maximum, 1); }
Values make_max_pooling2d(LayerCall& call) { return make_pool(call, PoolKind::maximum, 2); }
Values make_max_pooling3d(LayerCall& call) { return make_pool(call, PoolKind::maximum, 3); }
Values make_average_pooling1d(LayerCall& call) { return make_pool(call, PoolKind::average, 1); }
Values make_average_pooling2d(LayerCall& call) { return make_pool(call, PoolKind::average, 2); }
Values make_average_pooling3d(LayerCall& call) { return make_pool(call, PoolKind::average, 3); }

Values make_global_max_pooling(LayerCall& call) {
  return make_global_pool(call, PoolKind::maximum);
}
Values make_global_average_pooling(LayerCall& call) {
  return make_global_pool(call, PoolKind::average);
}
Values make_adaptive_max_pooling(LayerCall& call) {
  return make_adaptive_pool(call, PoolKind::maximum);
}
Values make_adaptive_average_pooling(LayerCall& call) {
  return make_adaptive_pool(call, PoolKind::average);
}

}  // namespace strata::keras
