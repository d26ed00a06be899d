/* SPDX-License-Identifier: Apache-2.0
 *
 * Plug-ins that are wrong in one way each; FAULT says in which.
 */
#include "strata/convolution/lab/strata_conv_plugin.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define NO_ENTRY 1
#define WRONG_VERSION 2
#define NO_NAME 3
#define NO_RUN 4
#define WRONG_RESULT 5
#define FAILS 6
#define DIES 7
#define ENTRY_DIES 8
#define DAMAGED_NAME 9
#define REFUSAL_DIES 10

#if FAULT == DIES
__attribute__((constructor)) static void die(void) { raise(SIGSEGV); }
#endif

static int refusal(const strata_conv_problem* problem, char* reason, size_t bytes) {
  (void)problem;
  (void)reason;
  (void)bytes;
  if (FAULT == REFUSAL_DIES) raise(SIGSEGV);
  return 0;
}

static int run(const strata_conv_problem* problem, const strata_conv_run* run, char* reason,
               size_t bytes) {
  const strata_conv_shape* s = &problem->shape;
  memset(run->output, 0,
         (size_t)(s->batch * s->filters * s->output_height * s->output_width) * sizeof(float));
  snprintf(reason, bytes, "the accelerator is asleep");
  return FAULT == FAILS;
}

#if FAULT != NO_ENTRY
const strata_conv_plugin_description* strata_conv_plugin(void)
#else
const strata_conv_plugin_description* another_function(void)
#endif
{
  static strata_conv_plugin_description description;
  description.version = STRATA_CONV_PLUGIN_VERSION + (FAULT == WRONG_VERSION);
  if (FAULT == ENTRY_DIES) raise(SIGSEGV);
  description.name = FAULT == NO_NAME ? NULL : FAULT == DAMAGED_NAME ? (const char*)16 : "faulty";
  description.refusal = refusal;
  description.run = FAULT == NO_RUN ? NULL : run;
  return &description;
}
