/* SPDX-License-Identifier: Apache-2.0
 *
 * A strategy of its own for `strata conv --plugin`: the forward pass as sums of scaled rows. For
 * each weight, a row of the input is added to a row of the output, which compilers vectorise.
 */
#include "strata/convolution/lab/strata_conv_plugin.h"

#include <stdio.h>
#include <string.h>

static int refusal(const strata_conv_problem* problem, char* reason, size_t bytes) {
  const strata_conv_shape* s = &problem->shape;
  const char* why = NULL;
  if (problem->device != STRATA_CONV_CPU) why = "runs on the CPU only";
  else if (problem->dtype != STRATA_CONV_FP32) why = "fp32 only";
  else if (problem->pass != STRATA_CONV_FORWARD) why = "forward only";
  else if (s->stride_width != 1) why = "stride 1 only";
  if (why == NULL) return 0;
  snprintf(reason, bytes, "%s", why);
  return 1;
}

/* One row of the output: every weight of its kernel row by row. */
static void add_rows(const strata_conv_shape* s, const float* image, const float* kernel, int64_t oy,
                     float* row) {
  for (int64_t ky = 0; ky < s->kernel_height; ++ky) {
    const int64_t iy = oy * s->stride_height - s->pad_height + ky * s->dilation_height;
    if (iy < 0 || iy >= s->height) continue;
    for (int64_t kx = 0; kx < s->kernel_width; ++kx) {
      const float weight = kernel[ky * s->kernel_width + kx];
      const int64_t shift = kx * s->dilation_width - s->pad_width;
      const float* from = image + iy * s->width + shift;
      const int64_t begin = shift < 0 ? -shift : 0;
      const int64_t room = s->width - shift;
      const int64_t end = room < s->output_width ? room : s->output_width;
      for (int64_t ox = begin; ox < end; ++ox) row[ox] += weight * from[ox];
    }
  }
}

static int run(const strata_conv_problem* problem, const strata_conv_run* run, char* reason,
               size_t bytes) {
  (void)reason;
  (void)bytes;
  const strata_conv_shape* s = &problem->shape;
  const int64_t channels = s->channels / s->groups;
  const int64_t image_size = s->height * s->width;
  const int64_t kernel_size = s->kernel_height * s->kernel_width;
  memset(run->output, 0,
         (size_t)(s->batch * s->filters * s->output_height * s->output_width) * sizeof(float));
  for (int64_t n = 0; n < s->batch; ++n) {
    for (int64_t f = 0; f < s->filters; ++f) {
      const int64_t group = f / (s->filters / s->groups);
      float* plane =
          (float*)run->output + (n * s->filters + f) * s->output_height * s->output_width;
      for (int64_t c = 0; c < channels; ++c) {
        const float* image =
            (const float*)run->input + (n * s->channels + group * channels + c) * image_size;
        const float* kernel = (const float*)run->weights + (f * channels + c) * kernel_size;
        for (int64_t oy = 0; oy < s->output_height; ++oy)
          add_rows(s, image, kernel, oy, plane + oy * s->output_width);
      }
    }
  }
  return 0;
}

const strata_conv_plugin_description* strata_conv_plugin(void) {
  static const strata_conv_plugin_description description = {
      .version = STRATA_CONV_PLUGIN_VERSION, .name = "rows", .refusal = refusal, .run = run};
  return &description;
}
