// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/cuda/context.cuh"
#include "strata/convolution/lab/strategy.hpp"
#include "strata/measure/cuda/convolutions/convolution_request.cuh"
#include "strata/measure/engine/remembered_choices.hpp"
#include "strata/measure/engine/way_experience.hpp"

#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Ways to compute a pass of a convolution in a network, and the choice among them: each is tried
/// on the GPU once per shape, and the fastest stays.
namespace strata::cuda::train {

class Products;
class ConvTrial;

/// A pass made ready. Memory that it needs comes with each run.
class ConvRunner {
 public:
  virtual ~ConvRunner() = default;
  virtual std::string name() const = 0;
  /// What it is built again from in a later run: its name, and more where that is not enough.
  virtual std::string recipe() const { return name(); }
  virtual std::int64_t scratch_bytes() const = 0;
  /// Enqueues it; the pass says which of the tensors is written. False: the library refuses.
  virtual bool run(const ConvTensors& tensors, void* scratch) = 0;
};
using ConvRunners = std::vector<std::unique_ptr<ConvRunner>>;
/// The one of that recipe; nothing where it is not among them.
std::unique_ptr<ConvRunner> taken(ConvRunners runners, const std::string& recipe);

/// Which runners are wanted. Making one ready takes time, so others are not even made.
struct ConvLimits {
  std::int64_t most_scratch = 0;
  std::function<bool(std::string_view)> wants = {};  ///< by name; empty: all
  bool admits(std::string_view name) const { return !wants || wants(name); }
};
inline ConvLimits only_named(std::int64_t most_scratch, const std::string& name) {
  return {most_scratch, [name](std::string_view other) { return other == name; }};
}

/// The request as the lab knows convolutions, which have two axes; nothing where it has no such
/// ones.
std::optional<ConvProblem> flat_problem(const ConvRequest& request);

/// Strategies of the lab by name, and what this part of the program adds, of one library each.
class ConvSource {
 public:
  virtual ~ConvSource() = default;
  /// Everything that may compute the request within the limits.
  virtual ConvRunners runners(const ConvRequest& request, const ConvLimits& limits) = 0;
  /// What the library itself proposes, best first; by default everything.
  virtual ConvRunners proposals(const ConvRequest& request, const ConvLimits& limits) {
    return runners(request, limits);
  }
  /// The one of that recipe; nothing where this source has none.
  virtual std::unique_ptr<ConvRunner> again(const ConvRequest& request, const std::string& recipe,
                                            std::int64_t most_scratch) {
    return taken(runners(request, only_named(most_scratch, recipe)), recipe);
  }
};
/// The name by which one forces what the library proposes first, instead of measuring.
inline constexpr std::string_view proposed_convolution = "heuristic";

std::unique_ptr<ConvSource> make_cudnn_source(const std::shared_ptr<ConvContext>& context,
                                              std::vector<std::string>& versions);
std::unique_ptr<ConvSource> make_own_source(const std::shared_ptr<ConvContext>& context);
/// Windows of one pixel, as products.
std::unique_ptr<ConvSource> make_product_source(const std::shared_ptr<ConvContext>& context,
                                                const std::shared_ptr<Products>& products);
/// cuDNN's engines on tensors with the channels last, turned before and after; 16 bits.
std::unique_ptr<ConvSource> make_channels_last_source(const std::shared_ptr<ConvContext>& context);
/// Our strategies of the convolution lab.
std::unique_ptr<ConvSource> make_lab_source(const std::shared_ptr<ConvContext>& context);

/// One that was tried, for who wants to know what choosing takes.
struct TriedConvolution {
  std::string name;
  double first_s = 0;          ///< the first run, which also loads the kernel
  double second_s = INFINITY;  ///< infinite: there was none, it is hopeless
  double seconds = INFINITY;   ///< the shortest; infinite: refused, wrong or clearly behind
  double preparing_s = 0;      ///< all of its source, said at the first of them
};

class Convolutions {
 public:
  Convolutions(std::shared_ptr<ConvContext> context, std::string forced,
               std::vector<std::unique_ptr<ConvSource>> sources,
               std::shared_ptr<RememberedChoices> choices)
      : context_(std::move(context)),
        forced_(std::move(forced)),
        sources_(std::move(sources)),
        choices_(std::move(choices)) {}

  /// Nothing where a strategy is forced that cannot do this.
  std::shared_ptr<ConvRunner> fastest(const ConvRequest& request);
  const std::string& forced() const { return forced_; }
  /// Of the last request that was measured.
  const std::vector<TriedConvolution>& tried() const { return tried_; }

 private:
  std::string question(const ConvRequest& request, std::int64_t most_scratch) const;
  std::shared_ptr<ConvRunner> remembered(const ConvRequest& request, const ConvTrial& trial,
                                         std::int64_t most_scratch);
  double tolerance_of(const ConvTrial& trial) const;
  using Names = std::set<std::string, std::less<>>;
  struct Fastest {
    std::shared_ptr<ConvRunner> runner = {};
    double seconds = INFINITY;
  };
  Fastest fastest_of(const ConvRequest& request, const ConvTrial& trial, const ConvLimits& limits);
  std::optional<Names> promising(const ConvRequest& request);
  void learn(const ConvRequest& request, std::span<const TriedConvolution> tried,
             double best_seconds);
  ConvLimits hopeful(const ConvRequest& request, std::int64_t most_scratch) const;
  std::shared_ptr<ConvRunner> choose(const ConvRequest& request);
  std::shared_ptr<ConvRunner> first_proposal(const ConvRequest& request);
  std::shared_ptr<ConvContext> context_;
  std::string forced_;
  std::vector<std::unique_ptr<ConvSource>> sources_;
  std::shared_ptr<RememberedChoices> choices_;
  std::map<ConvRequest, std::shared_ptr<ConvRunner>> known_;
  std::vector<TriedConvolution> tried_;
  WayExperience experience_;  ///< by pass and type
};
/// Products may be missing, and so may cuDNN's.
std::shared_ptr<Convolutions> make_convolutions(const std::shared_ptr<ConvContext>& context,
                                                const std::shared_ptr<Products>& products,
                                                std::unique_ptr<ConvSource> cudnn,
                                                const std::string& forced,
                                                const std::shared_ptr<RememberedChoices>& choices);

}  // namespace strata::cuda::train
