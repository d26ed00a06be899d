// SPDX-License-Identifier: Apache-2.0
#include "strata/operations/aten_launches.hpp"

#include "strata/operations/one_operation_test.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

std::vector<RecordedLaunch> launches(const OneOperation& one, bool is_tf32 = false) {
  const RecordedOperations recording = one.recording();
  return launches_of(recording, recording.operations.front(), is_tf32);
}

std::string classes_of(const OneOperation& one) {
  std::string text;
  for (const RecordedLaunch& launch : launches(one))
    text += (text.empty() ? "" : " ") + std::string(name_of(launch.kernel_class));
  return text;
}

TEST(AtenLaunches, of_products_go_by_which_operand_lies_transposed) {
  const auto mm = [](Extents64 first, Extents64 second) {
    return OneOperation("aten::mm")
        .reads({3, 5}, DType::fp32, std::move(first))
        .reads({5, 7}, DType::fp32, std::move(second))
        .writes({3, 7});
  };
  EXPECT_EQ(classes_of(mm({5, 1}, {1, 5})), "linear.forward_no_bias");  // x Wᵀ
  EXPECT_EQ(classes_of(mm({5, 1}, {7, 1})), "linear.backward_input");   // dY W
  EXPECT_EQ(classes_of(mm({1, 3}, {7, 1})), "linear.backward_weight");  // dYᵀ X
  const RecordedLaunch one = launches(mm({5, 1}, {1, 5}), true).front();
  EXPECT_EQ(one.dims, (KernelDims{1, 3, 7, 5}));
  EXPECT_EQ(one.precision, DType::tf32);
}

OneOperation convolution(Extents64 stride) {
  return OneOperation("aten::convolution")
      .reads({2, 8, 6, 6}, DType::bf16, std::move(stride))
      .reads({8, 8, 1, 1}, DType::bf16)
      .reads_nothing()
      .writes({2, 8, 6, 6}, DType::bf16);
}

TEST(AtenLaunches, of_convolutions_go_by_the_layout_of_their_images) {
  EXPECT_EQ(classes_of(convolution({})), "convolution.forward");
  EXPECT_EQ(classes_of(convolution({288, 1, 48, 8})), "convolution_nhwc.forward");
}

TEST(AtenLaunches, of_images_of_one_pixel_have_no_order_of_channels) {
  EXPECT_EQ(classes_of(OneOperation("aten::convolution")
                           .reads({2, 8, 1, 1})
                           .reads({4, 8, 1, 1})
                           .reads_nothing()
                           .writes({2, 4, 1, 1})),
            "convolution.forward");
}

TEST(AtenLaunches, of_convolutions_go_by_their_groups_and_biases) {
  const auto grouped = [](double groups, std::int64_t inputs) {
    return OneOperation("aten::convolution")
        .reads({2, 8, 6, 6})
        .reads({8, inputs, 3, 3})
        .reads({8})
        .with("groups", {groups})
        .writes({2, 8, 6, 6});
  };
  EXPECT_EQ(classes_of(grouped(8, 1)), "depthwise.forward channels.add_bias");
  EXPECT_EQ(classes_of(grouped(2, 4)), "grouped.forward channels.add_bias");
}

TEST(AtenLaunches, of_sums_go_by_what_is_summed) {
  const auto sum = [](std::vector<double> dim, Extents64 result) {
    return OneOperation("aten::sum.dim_IntList")
        .reads({4, 6, 8})
        .with("dim", std::move(dim))
        .writes(std::move(result));
  };
  EXPECT_EQ(classes_of(sum({0, 1}, {8})), "column_sum");
  EXPECT_EQ(classes_of(sum({0}, {6, 8})), "stream.copy");  // four numbers each
  EXPECT_EQ(classes_of(sum({-1}, {4, 6})), "global_pool.forward");
  EXPECT_EQ(classes_of(sum({0, 2}, {6})), "channels.sum_to_channels");
  EXPECT_EQ(classes_of(OneOperation("aten::sum").reads({4, 6}).writes({1})), "stream.sum");
}

TEST(AtenLaunches, of_a_repeated_operand_take_the_kernel_that_addresses_every_number) {
  EXPECT_EQ(classes_of(OneOperation("aten::add.Tensor").reads({4, 8}).reads({4, 8}).writes({4, 8})),
            "stream.add");
  EXPECT_EQ(classes_of(OneOperation("aten::add.Tensor").reads({4, 8}).reads({8}).writes({4, 8})),
            "heads.add_mask");
}

TEST(AtenLaunches, of_point_wise_operations_go_by_their_smaller_operand) {
  const auto mul = [](Extents64 second) {
    return OneOperation("aten::mul.Tensor").reads({4, 8}).reads(std::move(second)).writes({4, 8});
  };
  EXPECT_EQ(classes_of(mul({4, 8})), "stream.mul");
  EXPECT_EQ(classes_of(mul({8})), "heads.add_mask");
  EXPECT_EQ(classes_of(mul({1})), "stream.scale");
  EXPECT_EQ(classes_of(OneOperation("aten::mul.Scalar").reads({4, 8}).writes({4, 8})),
            "stream.scale");
  EXPECT_EQ(classes_of(OneOperation("aten::add.Tensor").reads({8}).reads({4, 8}).writes({4, 8})),
            "heads.add_mask");
}

TEST(AtenLaunches, of_nothing_are_none) {
  EXPECT_EQ(classes_of(OneOperation("aten::add.Tensor").reads({0, 8}).reads({0, 8}).writes({0, 8})),
            "");
  EXPECT_EQ(classes_of(OneOperation("aten::view").reads({4, 8}).writes({32})), "");
}

TEST(AtenLaunches, of_what_nobody_knows_stream_its_bytes) {
  const std::vector<RecordedLaunch> unknown =
      launches(OneOperation("mylib::scan").reads({100}).writes({300}));
  ASSERT_EQ(unknown.size(), 1U);
  EXPECT_EQ(name_of(unknown[0].kernel_class), "stream.copy");
  EXPECT_EQ(unknown[0].dims[0], 200);  // read and written: as many numbers as a copy of this length
}

OneOperation layer_norm(Extents64 stride) {
  return OneOperation("aten::native_layer_norm")
      .reads({4, 6, 8}, DType::fp32, std::move(stride))
      .with("normalized_shape", {8})
      .writes({4, 6, 8});
}

// Images of one pixel's row: sequence first and batch first, as torch.nn.MultiheadAttention turns
// them.
TEST(AtenLaunches, of_layer_norm_copy_what_lies_in_another_order_first) {
  EXPECT_EQ(classes_of(layer_norm({})), "layer_norm.forward");
  EXPECT_EQ(classes_of(layer_norm({8, 32, 1})), "heads.permute_contiguous layer_norm.forward");
}

TEST(AtenLaunches, of_a_tables_gradient_sort_the_words_where_they_are_many) {
  const auto backward = [](std::int64_t words) {
    return OneOperation("aten::embedding_dense_backward")
        .reads({words, 16})
        .reads({words})
        .writes({100, 16});
  };
  EXPECT_EQ(classes_of(backward(3072)), "stream.fill stream.add_");
  EXPECT_EQ(classes_of(backward(3073)), "embedding.backward");
}

OneOperation batch_norm(const char* name, Extents64 stride, double training) {
  return OneOperation(name)
      .reads({2, 8, 6, 6}, DType::fp32, std::move(stride))
      .with("training", {training})
      .writes({2, 8, 6, 6});
}

TEST(AtenLaunches, of_batch_norm_go_by_layout_and_mode) {
  const char* name = "aten::cudnn_batch_norm";
  EXPECT_EQ(classes_of(batch_norm(name, {}, 1)), "batch_norm.forward");
  EXPECT_EQ(classes_of(batch_norm(name, {288, 1, 48, 8}, 1)), "batch_norm_nhwc.forward");
  EXPECT_EQ(classes_of(batch_norm(name, {288, 1, 48, 8}, 0)), "batch_norm_nhwc.inference");
  const RecordedLaunch inference = launches(batch_norm(name, {}, 0)).front();
  EXPECT_EQ(name_of(inference.kernel_class), "batch_norm.inference");
  EXPECT_EQ(inference.dims, (KernelDims{16, 36}));  // images, and the pixels of each
}

TEST(AtenLaunches, of_volumes_are_not_those_of_images) {
  EXPECT_EQ(classes_of(OneOperation("aten::convolution")
                           .reads({2, 8, 6, 6, 6})
                           .reads({8, 8, 3, 3, 3})
                           .reads_nothing()
                           .writes({2, 8, 6, 6, 6})),
            "convolution_3d.forward");
}
}  // namespace
}  // namespace strata
