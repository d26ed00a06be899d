// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/onednn/computation.hpp"

#include "strata/base/error.hpp"
#include "strata/measure/cpu/operators.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace strata::cpu_training::onednn {
namespace {

dnnl::stream& cpu_stream() {
  static dnnl::stream stream(cpu_engine());
  return stream;
}

}  // namespace

std::int64_t bytes_of(const Layout& layout) { return static_cast<std::int64_t>(layout.get_size()); }

std::int64_t aligned(std::int64_t bytes) {
  constexpr std::int64_t line = 64;
  return (bytes + line - 1) / line * line;
}

const dnnl::engine& cpu_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::primitive_attr attributes(float scale) {
  dnnl::primitive_attr made;
  made.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (scale != 1) made.set_output_scales(0, {scale});
  return made;
}

Layout strided(const Dims& dims, const Dims& strides) {
  return Layout(dims, dnnl::memory::data_type::f32, strides);
}

Layout dense(const Dims& dims) {
  Dims strides(dims.size());
  std::int64_t step = 1;
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    strides[axis] = step;
    step *= dims[axis];
  }
  return strided(dims, strides);
}

Layout any_layout(const Dims& dims) {
  return Layout(dims, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any);
}

Dims dims_of(const BoundTensor& tensor) {
  if (tensor.axes() == 0) return {1};
  return Dims(tensor.shape.begin(), tensor.shape.end());
}

Layout dense(const BoundTensor& tensor) { return dense(dims_of(tensor)); }

dnnl::prop_kind forward_kind(const NodeContext& context) {
  return context.wants_any() ? dnnl::prop_kind::forward_training
                             : dnnl::prop_kind::forward_inference;
}

void* Place::in(const NodeMemory& memory) const {
  const auto block = [&]() -> void* {
    switch (of) {
      case Of::input: return memory.inputs[index];
      case Of::output: return memory.outputs[index];
      case Of::output_gradient: return memory.output_gradients[index];
      case Of::input_gradient: return memory.input_gradients[index];
      case Of::saved: return memory.saved;
      case Of::scratch: return memory.scratch;
    }
    return nullptr;
  }();
  return block == nullptr ? nullptr : static_cast<std::byte*>(block) + offset_bytes;
}

Place Computation::scratch(std::int64_t bytes) {
  const Place place{Place::Of::scratch, 0, scratch_bytes_};
  scratch_bytes_ += aligned(bytes);
  return place;
}

Tensor Computation::scratch(const Layout& layout) { return {scratch(bytes_of(layout)), layout}; }

void Computation::bind(Step& step, int name, const Tensor& tensor) {
  step.arguments.emplace(name, dnnl::memory(tensor.layout, cpu_engine(), DNNL_MEMORY_NONE));
  step.places.emplace_back(name, tensor.place);
}

void Computation::add(const dnnl::primitive_desc_base& description,
                      const std::vector<Argument>& reads, const std::vector<Argument>& writes) {
  Step step{
      .primitive = dnnl::primitive(description.get()), .arguments = {}, .places = {}, .plain = {}};
  const auto wanted_layout = [&](const Argument& argument) {
    const Layout wanted = description.query_md(dnnl::query::exec_arg_md, argument.name);
    return wanted.is_zero() ? argument.tensor.layout : wanted;
  };
  std::vector<std::pair<Tensor, Tensor>> results;  // in the primitive's layout, and as asked for
  for (const Argument& read : reads) {
    const Layout wanted = wanted_layout(read);
    if (wanted == read.tensor.layout) {
      bind(step, read.name, read.tensor);
      continue;
    }
    const Tensor reordered = scratch(wanted);
    add_reorder(read.tensor, reordered, false);
    bind(step, read.name, reordered);
  }
  for (const Argument& write : writes) {
    if (write.tensor.place.of == Place::Of::input_gradient) {
      gradients_.push_back(write.tensor.place.index);
    }
    const Layout wanted = wanted_layout(write);
    if (wanted == write.tensor.layout) {
      bind(step, write.name, write.tensor);
      continue;
    }
    results.emplace_back(scratch(wanted), write.tensor);
    bind(step, write.name, results.back().first);
  }
  if (const Layout scratchpad = description.scratchpad_desc(); !scratchpad.is_zero()) {
    bind(step, DNNL_ARG_SCRATCHPAD, scratch(scratchpad));
  }
  steps_.push_back(std::move(step));
  names_.push_back(version() + " " + description.impl_info_str());
  for (const auto& [from, to] : results) add_reorder(from, to, false);
}

void Computation::add_reorder(const Tensor& from, const Tensor& to, bool is_named) {
  const dnnl::reorder::primitive_desc description(cpu_engine(), from.layout, cpu_engine(),
                                                  to.layout, attributes());
  Step step{.primitive = dnnl::reorder(description),
            .arguments = {},
            .places = {},
            .plain = {},
            .is_copy = from.layout == to.layout};
  bind(step, DNNL_ARG_FROM, from);
  bind(step, DNNL_ARG_TO, to);
  if (const Layout scratchpad = description.scratchpad_desc(); !scratchpad.is_zero()) {
    bind(step, DNNL_ARG_SCRATCHPAD, scratch(scratchpad));
  }
  if (to.place.of == Place::Of::input_gradient) gradients_.push_back(to.place.index);
  if (is_named) names_.push_back(version() + " " + description.impl_info_str());
  steps_.push_back(std::move(step));
}

void Computation::add_step(Compute step) {
  steps_.push_back({.primitive = {}, .arguments = {}, .places = {}, .plain = std::move(step)});
}

void Computation::run(const NodeMemory& memory) {
  for (const std::size_t i : gradients_) {
    if (memory.input_gradients[i] == nullptr) return;
  }
  try {
    for (Step& step : steps_) {
      if (step.plain) {
        step.plain(memory);
        continue;
      }
      if (step.is_copy && step.places[0].second.in(memory) == step.places[1].second.in(memory)) {
        continue;
      }
      for (const auto& [name, place] : step.places) {
        // A new address makes oneDNN clear the padding of blocked layouts.
        dnnl::memory& argument = step.arguments.at(name);
        void* const address = place.in(memory);
        if (argument.get_data_handle() != address) argument.set_data_handle(address);
      }
      step.primitive.execute(cpu_stream(), step.arguments);
    }
    cpu_stream().wait();
  } catch (const dnnl::error& error) {
    fail(ErrorKind::environment, "oneDNN failed: {}", error.what());
  }
}

std::string Computation::implementation() const { return joined_names(names_); }

KernelPair pair_of(Computation forward, std::vector<Computation> backward, NodeNeeds needs,
                   const NodeContext& context) {
  KernelPair pair{.forward = {},
                  .backward = {},
                  .needs = needs,
                  .forward_by = forward.implementation(),
                  .input_gradients_by = {},
                  .weight_gradients_by = {}};
  std::vector<std::string> of_inputs, of_weights;
  pair.needs.scratch_bytes = std::max(pair.needs.scratch_bytes, forward.scratch_bytes());
  for (const Computation& each : backward) {
    pair.needs.scratch_bytes = std::max(pair.needs.scratch_bytes, each.scratch_bytes());
    const auto is_weight = [&](std::size_t i) { return context.is_parameter(i); };
    const auto& made = each.gradients();
    const bool has_weights = std::any_of(made.begin(), made.end(), is_weight);
    if (has_weights) of_weights.push_back(each.implementation());
    if (!std::all_of(made.begin(), made.end(), is_weight)) {
      of_inputs.push_back(each.implementation());
    }
  }
  pair.input_gradients_by = joined_names(of_inputs);
  pair.weight_gradients_by = joined_names(of_weights);
  const auto shared_forward = std::make_shared<Computation>(std::move(forward));
  const auto shared_backward = std::make_shared<std::vector<Computation>>(std::move(backward));
  pair.forward = [shared_forward](const NodeMemory& m) { shared_forward->run(m); };
  pair.backward = [shared_backward](const NodeMemory& m) {
    for (Computation& each : *shared_backward) each.run(m);
  };
  return pair;
}

KernelPair with_forward(KernelPair plain_pair, Computation forward) {
  plain_pair.needs.scratch_bytes =
      std::max(plain_pair.needs.scratch_bytes, forward.scratch_bytes());
  plain_pair.forward_by = forward.implementation();
  const auto shared = std::make_shared<Computation>(std::move(forward));
  plain_pair.forward = [shared](const NodeMemory& m) { shared->run(m); };
  return plain_pair;
}

}  // namespace strata::cpu_training::onednn
