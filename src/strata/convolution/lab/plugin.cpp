// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/lab/plugin.hpp"

#include "strata/base/child_process.hpp"
#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/convolution/lab/encoded_numbers.hpp"
#include "strata/convolution/lab/strata_conv_plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>

namespace strata {
namespace {

constexpr std::size_t reason_bytes = 512;
constexpr std::size_t most_name_bytes = 40;
using ReasonText = std::array<char, reason_bytes>;

std::string reason_text(ReasonText& reason) {
  reason.back() = '\0';
  const std::string text = printable(reason.data());
  return text.empty() ? "it does not say why" : text;
}

std::int32_t dtype_number(DType dtype) {
  switch (dtype) {
    case DType::tf32: return STRATA_CONV_TF32;
    case DType::fp16: return STRATA_CONV_FP16;
    case DType::bf16: return STRATA_CONV_BF16;
    default: return STRATA_CONV_FP32;
  }
}

strata_conv_problem plain_problem(const ConvProblem& problem, bool is_cuda) {
  const ConvShape& s = problem.shape;
  return {.shape = {.batch = s.batch,
                    .channels = s.channels,
                    .height = s.height,
                    .width = s.width,
                    .filters = s.filters,
                    .kernel_height = s.kernel_height,
                    .kernel_width = s.kernel_width,
                    .stride_height = s.stride_height,
                    .stride_width = s.stride_width,
                    .pad_height = s.pad_height,
                    .pad_width = s.pad_width,
                    .dilation_height = s.dilation_height,
                    .dilation_width = s.dilation_width,
                    .groups = s.groups,
                    .output_height = s.output_height(),
                    .output_width = s.output_width()},
          .pass = static_cast<std::int32_t>(problem.pass),
          .dtype = dtype_number(problem.dtype),
          .device = is_cuda ? STRATA_CONV_CUDA : STRATA_CONV_CPU};
}

class PreparedPlugin final : public PreparedConvolution {
 public:
  PreparedPlugin(const strata_conv_plugin_description& plugin, const strata_conv_problem& problem,
                 std::int64_t scratch_bytes, ConvDevice& device)
      : plugin_(plugin),
        problem_(problem),
        scratch_bytes_(scratch_bytes),
        scratch_(scratch_bytes > 0 ? device.allocate(scratch_bytes) : nullptr),
        stream_(device.stream()) {}

  std::int64_t scratch_bytes() const override { return scratch_bytes_; }

  void run(const ConvTensors& tensors, RoleMarks& marks) override {
    marks.begin(KernelRole::other);
    const strata_conv_run call{tensors.input, tensors.weights, tensors.output, scratch_.get(),
                               stream_};
    ReasonText reason{};
    if (plugin_.run(&problem_, &call, reason.data(), reason.size()) != 0)
      fail(ErrorKind::environment, "{}", reason_text(reason));
  }

 private:
  const strata_conv_plugin_description& plugin_;
  strata_conv_problem problem_;
  std::int64_t scratch_bytes_;
  std::shared_ptr<void> scratch_;
  void* stream_;
};

class PluginStrategy final : public ConvStrategy {
 public:
  PluginStrategy(std::shared_ptr<void> library, const strata_conv_plugin_description& plugin,
                 ConvDevice& device)
      : library_(std::move(library)), plugin_(plugin), device_(device), name_(plugin.name) {}

  std::string_view name() const override { return name_; }

  std::optional<std::string> refusal(const ConvProblem& problem) const override {
    if (!is_conv_dtype(problem.dtype)) return "plug-ins know no such data type";
    ReasonText reason{};
    const auto plain = plain_of(problem);
    if (plugin_.refusal(&plain, reason.data(), reason.size()) == 0) return std::nullopt;
    return reason_text(reason);
  }
  std::int64_t scratch_bytes(const ConvProblem& problem) const override {
    const auto plain = plain_of(problem);
    const std::int64_t bytes = plugin_.scratch_bytes == nullptr ? 0 : plugin_.scratch_bytes(&plain);
    if (bytes < 0) fail(ErrorKind::input, "scratch_bytes says {}", bytes);
    return bytes;
  }
  std::optional<std::int64_t> flop(const ConvProblem& problem) const override {
    const auto plain = plain_of(problem);
    if (plugin_.flop == nullptr) return std::nullopt;
    const std::int64_t flop = plugin_.flop(&plain);
    return flop < 0 ? std::nullopt : std::optional(flop);
  }
  double tolerance(const ConvProblem& problem) const override {
    const auto plain = plain_of(problem);
    if (plugin_.tolerance != nullptr) return plugin_.tolerance(&plain);
    return problem.dtype == DType::fp32 ? 1e-5 : problem.dtype == DType::bf16 ? 2e-2 : 2e-3;
  }
  std::unique_ptr<PreparedConvolution> prepare(const ConvProblem& problem) const override {
    return std::make_unique<PreparedPlugin>(plugin_, plain_of(problem), scratch_bytes(problem),
                                            device_);
  }

 private:
  strata_conv_problem plain_of(const ConvProblem& problem) const {
    return plain_problem(problem, device_.is_cuda());
  }

  std::shared_ptr<void> library_;
  const strata_conv_plugin_description& plugin_;
  ConvDevice& device_;
  std::string name_;
};

const strata_conv_plugin_description& description_in(void* library) {
  using Entry = const strata_conv_plugin_description* (*)();
  auto* const entry = reinterpret_cast<Entry>(::dlsym(library, "strata_conv_plugin"));
  if (entry == nullptr)
    fail(ErrorKind::input, "has no function strata_conv_plugin (see strata_conv_plugin.h)");
  const strata_conv_plugin_description* plugin = entry();
  if (plugin == nullptr) fail(ErrorKind::input, "strata_conv_plugin returns nothing");
  if (plugin->version != STRATA_CONV_PLUGIN_VERSION) {
    fail(ErrorKind::input, "is for version {} of plug-ins, this program has {}", plugin->version,
         STRATA_CONV_PLUGIN_VERSION);
  }
  if (plugin->refusal == nullptr || plugin->run == nullptr)
    fail(ErrorKind::input, "lacks refusal or run");
  const std::string_view name = plugin->name == nullptr ? "" : plugin->name;
  if (name.empty() || name.size() > most_name_bytes || !is_printable(name) ||
      name.find_first_of(", ") != std::string_view::npos) {
    fail(ErrorKind::input, "its name must be 1 to {} printable characters without space or comma",
         most_name_bytes);
  }
  return *plugin;
}

/// Calls the functions that every run calls first, with a small convolution.
void ask_all(const strata_conv_plugin_description& plugin) {
  const strata_conv_problem problem = plain_problem(
      {.shape = {.batch = 1, .channels = 4, .height = 8, .width = 8, .filters = 4}}, false);
  ReasonText reason{};
  plugin.refusal(&problem, reason.data(), reason.size());
  if (plugin.scratch_bytes != nullptr) plugin.scratch_bytes(&problem);
  if (plugin.flop != nullptr) plugin.flop(&problem);
  if (plugin.tolerance != nullptr) plugin.tolerance(&problem);
}

/// A damaged file can bring down whoever calls its functions: a child calls them first. One that
/// does not come back is ended, too.
void call_in_a_child(const std::filesystem::path& place) {
  constexpr unsigned most_s = 10;
  const auto signal = signal_of_child([&] {
    std::signal(SIGALRM, SIG_DFL);
    ::alarm(most_s);
    void* const library = ::dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    try {
      ask_all(description_in(library));
    } catch (const Error&) {
      // The caller finds the same, and says it.
    }
  });
  if (!signal) return;
  fail(ErrorKind::input, "its functions {} (signal {}): it is damaged, or they are at fault",
       *signal == SIGALRM ? fmt::format("take more than {} s", most_s) : "die when they are called",
       *signal);
}

/// A damaged file can bring down the loader itself: a child loads it first.
void try_in_a_child(const std::filesystem::path& place) {
  const auto signal = signal_of_child([&] { ::dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL); });
  if (signal) {
    fail(ErrorKind::input,
         "cannot be loaded: the loader itself dies of it (signal {}); it is damaged, or its own "
         "initialisation is at fault",
         *signal);
  }
}

}  // namespace

std::unique_ptr<ConvStrategy> load_conv_plugin(const std::filesystem::path& path,
                                               ConvDevice& device) {
  try {
    // Without a '/' the loader would look into its own folders.
    const auto place = std::filesystem::absolute(path);
    if (!std::filesystem::is_regular_file(place)) fail(ErrorKind::input, "no such file");
    try_in_a_child(place);
    call_in_a_child(place);
    ::dlerror();
    std::shared_ptr<void> library(::dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL), [](void* handle) {
      if (handle != nullptr) ::dlclose(handle);
    });
    if (!library) {
      const char* problem = ::dlerror();
      fail(ErrorKind::input, "cannot be loaded: {}",
           printable(problem == nullptr ? "unknown" : problem));
    }
    const strata_conv_plugin_description& plugin = description_in(library.get());
    return std::make_unique<PluginStrategy>(std::move(library), plugin, device);
  } catch (Error& error) {
    error.add_context(path.string());
    throw;
  }
}

}  // namespace strata
