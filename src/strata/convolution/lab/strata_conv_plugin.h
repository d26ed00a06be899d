/* SPDX-License-Identifier: Apache-2.0
 *
 * A strategy of convolution of your own, for `strata conv --plugin mine.so`. It is checked against
 * double precision and timed like those of Strata. This header is C, and needs nothing else.
 *
 *     cc -O3 -shared -fPIC -o mine.so mine.c
 *     strata conv --plugin ./mine.so --base 2,32,8,3,1 --sweep k=2:7
 *
 * The library defines one function, strata_conv_plugin, that returns a description which lives as
 * long as the program. See examples/conv_plugin/.
 */
#ifndef STRATA_CONV_PLUGIN_H
#define STRATA_CONV_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of this header. A plug-in that was compiled with another one is refused. */
#define STRATA_CONV_PLUGIN_VERSION 1

/* Tensors are stored whole, last index fastest: input [batch, channels, height, width], weights
 * [filters, channels/groups, kernel_height, kernel_width], output [batch, filters, output_height,
 * output_width]. */
typedef struct strata_conv_shape {
  int64_t batch, channels, height, width, filters;
  int64_t kernel_height, kernel_width;
  int64_t stride_height, stride_width;
  int64_t pad_height, pad_width; /* zeros on either side */
  int64_t dilation_height, dilation_width;
  int64_t groups;
  int64_t output_height, output_width;
} strata_conv_shape;

enum strata_conv_pass {
  STRATA_CONV_FORWARD = 0,        /* reads input and weights, writes output */
  STRATA_CONV_BACKWARD_INPUT = 1, /* reads weights and output, writes input */
  STRATA_CONV_BACKWARD_WEIGHT = 2 /* reads input and output, writes weights */
};

enum strata_conv_dtype {
  STRATA_CONV_FP32 = 0,
  STRATA_CONV_TF32 = 1, /* stored as fp32 */
  STRATA_CONV_FP16 = 2,
  STRATA_CONV_BF16 = 3
};

enum strata_conv_device { STRATA_CONV_CPU = 0, STRATA_CONV_CUDA = 1 };

typedef struct strata_conv_problem {
  strata_conv_shape shape;
  int32_t pass;   /* enum strata_conv_pass */
  int32_t dtype;  /* enum strata_conv_dtype */
  int32_t device; /* enum strata_conv_device: where the memory of the tensors is */
} strata_conv_problem;

typedef struct strata_conv_run {
  void* input;
  void* weights;
  void* output;
  void* scratch; /* as many bytes as scratch_bytes said; aligned to 64 bytes or more */
  void* stream;  /* cudaStream_t on a CUDA device: put the work there and do not wait */
} strata_conv_run;

typedef struct strata_conv_plugin_description {
  uint32_t version; /* STRATA_CONV_PLUGIN_VERSION */
  const char* name; /* as it stands in tables; printable, not the name of another strategy */

  /* 0: it can do this. Otherwise writes why not into `reason`, ended by 0, within `bytes`. */
  int (*refusal)(const strata_conv_problem* problem, char* reason, size_t bytes);

  /* Memory beside the tensors; 0 or more. May be NULL: none. */
  int64_t (*scratch_bytes)(const strata_conv_problem* problem);

  /* Multiplications and additions of the algorithm. May be NULL: not known. */
  int64_t (*flop)(const strata_conv_problem* problem);

  /* The largest relative error (L2) that is still right, such as 1e-5. May be NULL: 1e-5 for fp32,
   * 2e-3 for tf32 and fp16, 2e-2 for bf16. */
  double (*tolerance)(const strata_conv_problem* problem);

  /* Computes the pass once. 0: done. Otherwise writes what went wrong into `reason`. Every number
   * of the result is written, whatever was there before. */
  int (*run)(const strata_conv_problem* problem, const strata_conv_run* run, char* reason,
             size_t bytes);
} strata_conv_plugin_description;

const strata_conv_plugin_description* strata_conv_plugin(void);

#ifdef __cplusplus
}
#endif
#endif
