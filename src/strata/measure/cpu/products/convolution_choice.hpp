// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/lab/strategy.hpp"
#include "strata/measure/engine/device.hpp"

#include <cstdint>
#include <list>
#include <memory>
#include <string>

namespace strata::cpu_training {

/// Which strategy computes a convolution. Unless one is asked for, those that can are timed on a
/// batch small enough not to keep people waiting, once per shape and pass within the process.
class ConvolutionChoice {
 public:
  /// Errors: a strategy or an engine that does not exist (usage) or that this build lacks
  /// (environment).
  explicit ConvolutionChoice(const DeviceChoices& choices);

  struct Chosen {
    const ConvStrategy* strategy = nullptr;  ///< none: no strategy computes this
    std::string implementation;              ///< its name, and more where a library says
  };
  Chosen choose(const ConvProblem& problem);

  /// Knows the CPU's name and how much memory is free.
  const ConvDevice& device() const { return *device_; }

  void run(const Chosen& chosen, const ConvProblem& problem, const ConvTensors& tensors);

 private:
  const ConvStrategy* fastest(const ConvProblem& problem) const;

  std::unique_ptr<ConvDevice> device_;
  std::string wanted_;  ///< a strategy by name; empty: the fastest

  /// Plans and scratch memory are kept for the next iteration, those used last first, up to a share
  /// of the memory that was free.
  struct Kept {
    const ConvStrategy* strategy;
    ConvProblem problem;
    std::int64_t bytes;
    std::unique_ptr<PreparedConvolution> prepared;
  };
  std::list<Kept> kept_;
  std::int64_t kept_bytes_ = 0;
  std::int64_t most_kept_bytes_ = 0;
};

}  // namespace strata::cpu_training
