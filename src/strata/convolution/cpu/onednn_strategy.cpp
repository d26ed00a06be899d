// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/base/loaded_library.hpp"
#include "strata/convolution/cpu/scratch.hpp"
#include "strata/convolution/cpu/strategies.hpp"

#include <oneapi/dnnl/dnnl.h>

#include <array>
#include <vector>

namespace strata::cpu {
namespace {

// The functions of oneDNN that Strata calls, without the dnnl_ in front.
#define STRATA_ONEDNN_FUNCTIONS(each)                                                          \
  each(version) each(engine_create) each(stream_create) each(stream_wait)                      \
      each(memory_desc_init_by_tag) each(memory_desc_equal) each(memory_desc_get_size)         \
          each(memory_create) each(memory_set_data_handle) each(memory_destroy)                \
              each(dilated_convolution_forward_desc_init)                                      \
                  each(dilated_convolution_backward_data_desc_init)                            \
                      each(dilated_convolution_backward_weights_desc_init)                     \
                          each(primitive_attr_create) each(primitive_attr_set_scratchpad_mode) \
                              each(primitive_attr_destroy) each(primitive_desc_create)         \
                                  each(primitive_desc_query) each(primitive_desc_query_md)     \
                                      each(primitive_desc_destroy)                             \
                                          each(reorder_primitive_desc_create)                  \
                                              each(primitive_create) each(primitive_execute)   \
                                                  each(primitive_destroy)

struct OneDnn {
#define STRATA_DECLARE(name) decltype(&dnnl_##name) name;
  STRATA_ONEDNN_FUNCTIONS(STRATA_DECLARE)
#undef STRATA_DECLARE
  dnnl_engine_t engine = nullptr;  ///< of the CPU; lives as long as the program
  dnnl_stream_t stream = nullptr;
};

void check_onednn(dnnl_status_t status, const char* function) {
  if (status == dnnl_success) return;
  if (status == dnnl_out_of_memory) {
    fail(ErrorKind::environment, "{}: there is not enough memory", function);
  }
  fail(ErrorKind::environment, "{}: oneDNN reports status {}", function, static_cast<int>(status));
}

OneDnn load_onednn() {
  const LoadedLibrary library(STRATA_ONEDNN_LIBRARY);
  OneDnn dnn{};
#define STRATA_FIND(name) library.find("dnnl_" #name, dnn.name);
  STRATA_ONEDNN_FUNCTIONS(STRATA_FIND)
#undef STRATA_FIND
  check_onednn(dnn.engine_create(&dnn.engine, dnnl_cpu, 0), "dnnl_engine_create");
  check_onednn(dnn.stream_create(&dnn.stream, dnn.engine, dnnl_stream_default_flags),
               "dnnl_stream_create");
  return dnn;
}

const OneDnn& onednn() {
  static const OneDnn dnn = load_onednn();
  return dnn;
}

template <class Handle, auto Destroy>
struct DestroyOneDnn {
  void operator()(Handle handle) const { (onednn().*Destroy)(handle); }
};
template <class Handle, auto Destroy>
using OneDnnOwner = std::unique_ptr<std::remove_pointer_t<Handle>, DestroyOneDnn<Handle, Destroy>>;

using OneDnnMemory = OneDnnOwner<dnnl_memory_t, &OneDnn::memory_destroy>;
using OneDnnPrimitive = OneDnnOwner<dnnl_primitive_t, &OneDnn::primitive_destroy>;
using OneDnnDescription = OneDnnOwner<dnnl_primitive_desc_t, &OneDnn::primitive_desc_destroy>;
using OneDnnAttributes = OneDnnOwner<dnnl_primitive_attr_t, &OneDnn::primitive_attr_destroy>;

dnnl_alg_kind_t kind_of(OneDnnAlgorithm algorithm) {
  switch (algorithm) {
    case OneDnnAlgorithm::own_pick: return dnnl_convolution_auto;
    case OneDnnAlgorithm::direct: return dnnl_convolution_direct;
    case OneDnnAlgorithm::winograd: return dnnl_convolution_winograd;
  }
  return dnnl_convolution_auto;
}

/// How one of the three tensors is called in a pass.
struct TensorRole {
  int argument;
  dnnl_query_t query;
  bool is_written = false;
};

std::array<TensorRole, 3> roles_of(ConvPass pass) {  // input, weights, output
  const TensorRole input{DNNL_ARG_SRC, dnnl_query_src_md};
  const TensorRole weights{DNNL_ARG_WEIGHTS, dnnl_query_weights_md};
  const TensorRole gradient{DNNL_ARG_DIFF_DST, dnnl_query_diff_dst_md};
  switch (pass) {
    case ConvPass::forward: return {input, weights, {DNNL_ARG_DST, dnnl_query_dst_md, true}};
    case ConvPass::input_gradient:
      return {TensorRole{DNNL_ARG_DIFF_SRC, dnnl_query_diff_src_md, true}, weights, gradient};
    case ConvPass::weight_gradient:
      return {input, {DNNL_ARG_DIFF_WEIGHTS, dnnl_query_diff_weights_md, true}, gradient};
  }
  return {};
}

struct Descriptions {
  std::array<dnnl_memory_desc_t, 3> plain;   ///< as ConvShape says
  std::array<dnnl_memory_desc_t, 3> wanted;  ///< as oneDNN likes them best
  dnnl_memory_desc_t scratchpad;
  OneDnnDescription primitive;
  std::string implementation;
};

std::array<dnnl_memory_desc_t, 3> tensor_descriptions(const ConvShape& s, bool is_any) {
  const dnnl_dims_t input = {s.batch, s.channels, s.height, s.width};
  const dnnl_dims_t output = {s.batch, s.filters, s.output_height(), s.output_width()};
  const dnnl_dims_t weights = {s.filters, s.channels, s.kernel_height, s.kernel_width};
  const dnnl_dims_t grouped = {s.groups, s.filters / s.groups, s.channels / s.groups,
                               s.kernel_height, s.kernel_width};
  const auto describe = [&](dnnl_memory_desc_t& to, int extents, const dnnl_dims_t& sizes,
                            dnnl_format_tag_t tag) {
    check_onednn(onednn().memory_desc_init_by_tag(&to, extents, sizes, dnnl_f32,
                                                  is_any ? dnnl_format_tag_any : tag),
                 "dnnl_memory_desc_init_by_tag");
  };
  std::array<dnnl_memory_desc_t, 3> result{};
  describe(result[0], 4, input, dnnl_nchw);
  if (s.groups == 1) {
    describe(result[1], 4, weights, dnnl_oihw);
  } else {
    describe(result[1], 5, grouped, dnnl_goihw);
  }
  describe(result[2], 4, output, dnnl_nchw);
  return result;
}

/// Zeros after the last row or column; fewer than before it where the stride leaves some unread.
std::int64_t padding_after(std::int64_t input, std::int64_t output, std::int64_t kernel,
                           std::int64_t stride, std::int64_t pad, std::int64_t dilation) {
  return (output - 1) * stride + (kernel - 1) * dilation + 1 - input - pad;
}

/// Nothing where oneDNN has no such algorithm for the problem.
OneDnnDescription primitive_description(const ConvProblem& problem, OneDnnAlgorithm algorithm) {
  const OneDnn& dnn = onednn();
  const ConvShape& s = problem.shape;
  const auto any = tensor_descriptions(s, true);
  const dnnl_dims_t strides = {s.stride_height, s.stride_width};
  const dnnl_dims_t dilations = {s.dilation_height - 1, s.dilation_width - 1};
  const dnnl_dims_t before = {s.pad_height, s.pad_width};
  const dnnl_dims_t after = {padding_after(s.height, s.output_height(), s.kernel_height,
                                           s.stride_height, s.pad_height, s.dilation_height),
                             padding_after(s.width, s.output_width(), s.kernel_width,
                                           s.stride_width, s.pad_width, s.dilation_width)};
  const dnnl_alg_kind_t kind = kind_of(algorithm);
  dnnl_primitive_attr_t attributes = nullptr;
  check_onednn(dnn.primitive_attr_create(&attributes), "dnnl_primitive_attr_create");
  const OneDnnAttributes owner(attributes);
  check_onednn(dnn.primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user),
               "dnnl_primitive_attr_set_scratchpad_mode");

  const auto make = [&](const dnnl_convolution_desc_t& description,
                        const_dnnl_primitive_desc_t hint) {
    dnnl_primitive_desc_t made = nullptr;
    const dnnl_status_t status =
        dnn.primitive_desc_create(&made, &description, attributes, dnn.engine, hint);
    return OneDnnDescription(status == dnnl_success ? made : nullptr);
  };
  dnnl_convolution_desc_t forward{};
  const dnnl_prop_kind_t purpose =
      problem.pass == ConvPass::forward ? dnnl_forward_inference : dnnl_forward_training;
  if (dnn.dilated_convolution_forward_desc_init(&forward, purpose, kind, &any[0], &any[1], nullptr,
                                                &any[2], strides, dilations, before,
                                                after) != dnnl_success) {
    return nullptr;
  }
  OneDnnDescription hint = make(forward, nullptr);
  if (problem.pass == ConvPass::forward || !hint) return hint;
  dnnl_convolution_desc_t backward{};
  const dnnl_status_t status =
      problem.pass == ConvPass::input_gradient
          ? dnn.dilated_convolution_backward_data_desc_init(
                &backward, kind, &any[0], &any[1], &any[2], strides, dilations, before, after)
          : dnn.dilated_convolution_backward_weights_desc_init(&backward, kind, &any[0], &any[1],
                                                               nullptr, &any[2], strides, dilations,
                                                               before, after);
  return status == dnnl_success ? make(backward, hint.get()) : nullptr;
}

std::optional<Descriptions> describe_problem(const ConvProblem& problem,
                                             OneDnnAlgorithm algorithm) {
  const OneDnn& dnn = onednn();
  Descriptions d{};
  d.primitive = primitive_description(problem, algorithm);
  if (!d.primitive) return std::nullopt;
  d.plain = tensor_descriptions(problem.shape, false);
  const auto roles = roles_of(problem.pass);
  for (std::size_t i = 0; i < roles.size(); ++i) {
    d.wanted[i] = *dnn.primitive_desc_query_md(d.primitive.get(), roles[i].query, 0);
  }
  d.scratchpad = *dnn.primitive_desc_query_md(d.primitive.get(), dnnl_query_scratchpad_md, 0);
  const char* name = nullptr;
  if (dnn.primitive_desc_query(d.primitive.get(), dnnl_query_impl_info_str, 0, &name) ==
          dnnl_success &&
      name != nullptr) {
    d.implementation = name;
  }
  return d;
}

struct OneDnnScratch {
  std::array<std::int64_t, 3> tensors{};  ///< where those begin that are reordered
  std::array<bool, 3> is_reordered{};
  std::int64_t scratchpad = 0;
  ScratchPlan plan;
};

OneDnnScratch scratch_of(const Descriptions& d) {
  const auto floats = [](const dnnl_memory_desc_t& description) {
    return (static_cast<std::int64_t>(onednn().memory_desc_get_size(&description)) + 3) / 4;
  };
  OneDnnScratch scratch;
  for (std::size_t i = 0; i < 3; ++i) {
    scratch.is_reordered[i] = onednn().memory_desc_equal(&d.plain[i], &d.wanted[i]) == 0;
    if (scratch.is_reordered[i]) scratch.tensors[i] = scratch.plan.add(floats(d.wanted[i]));
  }
  scratch.scratchpad = scratch.plan.add(floats(d.scratchpad));
  return scratch;
}

OneDnnPrimitive primitive_of(const_dnnl_primitive_desc_t description) {
  dnnl_primitive_t made = nullptr;
  check_onednn(onednn().primitive_create(&made, description), "dnnl_primitive_create");
  return OneDnnPrimitive(made);
}

OneDnnMemory memory_of(const dnnl_memory_desc_t& description, void* data) {
  dnnl_memory_t made = nullptr;
  check_onednn(onednn().memory_create(&made, &description, onednn().engine, data),
               "dnnl_memory_create");
  return OneDnnMemory(made);
}

OneDnnPrimitive reorder(const dnnl_memory_desc_t& from, const dnnl_memory_desc_t& to) {
  const OneDnn& dnn = onednn();
  dnnl_primitive_desc_t made = nullptr;
  check_onednn(
      dnn.reorder_primitive_desc_create(&made, &from, dnn.engine, &to, dnn.engine, nullptr),
      "dnnl_reorder_primitive_desc_create");
  const OneDnnDescription owner(made);
  return primitive_of(made);
}

class OneDnnConvolution : public PreparedConvolution {
 public:
  OneDnnConvolution(const Descriptions& d, ConvPass pass)
      : roles_(roles_of(pass)),
        plan_(scratch_of(d)),
        scratch_(plan_.plan.bytes()),
        scratchpad_(memory_of(d.scratchpad, scratch_.at(plan_.scratchpad))),
        convolution_(primitive_of(d.primitive.get())) {
    for (std::size_t i = 0; i < 3; ++i) {
      plain_[i] = memory_of(d.plain[i], DNNL_MEMORY_NONE);
      if (!plan_.is_reordered[i]) continue;
      wanted_[i] = memory_of(d.wanted[i], scratch_.at(plan_.tensors[i]));
      reorders_[i] = roles_[i].is_written ? reorder(d.wanted[i], d.plain[i])
                                          : reorder(d.plain[i], d.wanted[i]);
    }
  }

  std::int64_t scratch_bytes() const override { return scratch_.bytes(); }

  void run(const ConvTensors& tensors, RoleMarks& marks) override {
    const std::array<void*, 3> data{tensors.input, tensors.weights, tensors.output};
    std::vector<dnnl_exec_arg_t> arguments{{DNNL_ARG_SCRATCHPAD, scratchpad_.get()}};
    marks.begin(KernelRole::transpose);
    for (std::size_t i = 0; i < 3; ++i) {
      check_onednn(onednn().memory_set_data_handle(plain_[i].get(), data[i]),
                   "dnnl_memory_set_data_handle");
      if (reorders_[i] && !roles_[i].is_written) {
        execute(reorders_[i], {{DNNL_ARG_FROM, plain_[i].get()}, {DNNL_ARG_TO, wanted_[i].get()}});
      }
      arguments.push_back({roles_[i].argument, (wanted_[i] ? wanted_[i] : plain_[i]).get()});
    }
    marks.begin(KernelRole::direct);
    execute(convolution_, arguments);
    for (std::size_t i = 0; i < 3; ++i) {
      if (!reorders_[i] || !roles_[i].is_written) continue;
      marks.begin(KernelRole::transpose);
      execute(reorders_[i], {{DNNL_ARG_FROM, wanted_[i].get()}, {DNNL_ARG_TO, plain_[i].get()}});
    }
  }

 private:
  static void execute(const OneDnnPrimitive& primitive,
                      const std::vector<dnnl_exec_arg_t>& arguments) {
    check_onednn(onednn().primitive_execute(primitive.get(), onednn().stream,
                                            static_cast<int>(arguments.size()), arguments.data()),
                 "dnnl_primitive_execute");
    check_onednn(onednn().stream_wait(onednn().stream), "dnnl_stream_wait");
  }

  std::array<TensorRole, 3> roles_;
  OneDnnScratch plan_;
  Scratch scratch_;
  OneDnnMemory scratchpad_;
  OneDnnPrimitive convolution_;
  std::array<OneDnnMemory, 3> plain_;
  std::array<OneDnnMemory, 3> wanted_;
  std::array<OneDnnPrimitive, 3> reorders_;
};

/// Tensors are reordered to the layout that oneDNN likes best and back in every run, as a caller
/// with our layout has to; the role transpose says how long that takes.
class OneDnnStrategy : public ConvStrategy {
 public:
  explicit OneDnnStrategy(OneDnnAlgorithm algorithm) : algorithm_(algorithm) {}

  std::string_view name() const override { return name_of(algorithm_); }
  bool is_vendor() const override { return true; }
  std::optional<std::string> refusal(const ConvProblem& problem) const override {
    if (auto reason = type_refusal(problem)) return reason;
    try {
      if (describe_problem(problem, algorithm_)) return std::nullopt;
    } catch (const Error& error) {
      return error.what();
    }
    return algorithm_ == OneDnnAlgorithm::winograd ? "oneDNN has no Winograd for this problem"
                                                   : "oneDNN does not offer it";
  }
  std::int64_t scratch_bytes(const ConvProblem& problem) const override {
    return scratch_of(described(problem)).plan.bytes();
  }
  std::optional<std::int64_t> flop(const ConvProblem&) const override { return std::nullopt; }
  /// Its own pick may be Winograd with tiles of 4.
  double tolerance(const ConvProblem& problem) const override {
    return rounding_tolerance(problem) * (algorithm_ == OneDnnAlgorithm::direct ? 1 : 40);
  }
  std::unique_ptr<PreparedConvolution> prepare(const ConvProblem& problem) const override {
    return std::make_unique<OneDnnConvolution>(described(problem), problem.pass);
  }
  std::vector<KernelFacts> kernels(const ConvProblem& problem) const override {
    return {{.name = described(problem).implementation, .role = KernelRole::direct}};
  }

 private:
  Descriptions described(const ConvProblem& problem) const {
    std::optional<Descriptions> found = describe_problem(problem, algorithm_);
    if (!found) fail(ErrorKind::unsupported, "oneDNN does not offer {}", to_text(problem.shape));
    return std::move(*found);
  }

  OneDnnAlgorithm algorithm_;
};

}  // namespace

std::string onednn_version() {
  try {
    const dnnl_version_t& version = *onednn().version();
    return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
  } catch (const Error&) {
    return "";  // refusals say why
  }
}

std::unique_ptr<ConvStrategy> onednn_strategy(OneDnnAlgorithm algorithm) {
  return std::make_unique<OneDnnStrategy>(algorithm);
}

}  // namespace strata::cpu
