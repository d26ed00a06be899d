// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.hpp"

namespace strata {

// Each lives in the file of its name.
extern const Command predict_command;
extern const Command sweep_command;
extern const Command measure_command;
extern const Command capture_command;
extern const Command record_command;
extern const Command compare_command;
extern const Command conv_command;
extern const Command show_command;
extern const Command convert_command;
extern const Command roofline_command;
extern const Command explain_command;
extern const Command trace_command;
extern const Command plot_command;
extern const Command report_command;
extern const Command reproduce_command;
extern const Command validate_command;
extern const Command machine_command;
extern const Command list_command;
extern const Command doctor_command;
extern const Command setup_command;
extern const Command help_command;
extern const Command generate_command;

}  // namespace strata
