// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/convolution.hpp"

#include "strata/reproduce/claim_counts.hpp"
#include "strata/reproduce/convolution_claims.hpp"

namespace strata {

std::vector<Finding> reproduce_convolution(const ConvResults& results,
                                           std::span<const HotLayers> networks) {
  const ConvStudy study(results);
  ConvFindings findings;
  add_speed_rows(study, findings);
  add_memory_rows(study, findings);
  add_kernel_rows(study, findings);
  add_copy_rows(study, findings);
  add_shape_rows(study, findings);
  add_efficiency_rows(study, findings);
  add_library_rows(study, findings);
  add_network_rows(networks, findings);
  std::vector<Finding> rows = std::move(findings).take();
  group_by_sentence(rows);
  return rows;
}

}  // namespace strata
