// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/api/validate.hpp"
#include "strata/machine/calibration.hpp"
#include "strata/machine/machine.hpp"
#include "strata/predict/expected/factor_fit.hpp"

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

/// What is known of a GPU that nobody calibrated: tables of kernels, and iterations of networks.
/// What neither says is carried over from a calibration of another GPU.
namespace strata {

struct FitTransferRequest {
  /// Tables (.csv, .csv.gz; kernel_table.hpp) and truth sets, by name or file, of which runs on
  /// other machines are left out.
  std::vector<std::string> from;
  std::string source;  ///< of the tables
  /// That the tables were measured on, where it differs from the machine; null: the machine.
  const Machine* measured_on = nullptr;
};

struct FittedNetworks {
  NetworkFactors factors;
  FactorFit fit;
  std::size_t host_bound = 0;  ///< runs that were left out, as the host bounds them
};

struct FittedTransfer {
  Calibration calibration;
  std::vector<FittedNetworks> networks;
  std::vector<std::string> notes;  ///< what was left out, and why
};

/// Errors (input) name the file. `progress(done, all)` after each run of a network.
FittedTransfer fit_transfer(const Machine& machine, const FitTransferRequest& request,
                            const std::function<void(std::size_t, std::size_t)>& progress = {});

/// For runs that factors which ship were fitted to: the same factors fitted without their network,
/// so that no run is held against what it was fitted to.
class LeftOutTransfers {
 public:
  LeftOutTransfers();
  ~LeftOutTransfers();
  LeftOutTransfers(const LeftOutTransfers&) = delete;
  LeftOutTransfers& operator=(const LeftOutTransfers&) = delete;

  /// Null: nothing that ships of the machine was fitted to the set. Valid as long as this.
  const Calibration* without_network_of(const MeasuredRun& run, const TruthSet& set,
                                        const Machine& machine);

 private:
  struct Fits;
  std::map<std::string, std::unique_ptr<Fits>> fits_;  // by machine and kind of run
};

}  // namespace strata
