// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/ops/einsum.hpp"

#include "strata/base/error.hpp"
#include "strata/importers/onnx/ops/ops.hpp"
#include "strata/importers/onnx/ops/product.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace strata::onnx {
namespace {

using Labels = std::string;  // one letter per axis

bool contains(const Labels& labels, char label) { return labels.find(label) != Labels::npos; }

bool repeats_a_label(const Labels& labels) {
  Labels sorted = labels;
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
}

/// "ij,jk->ik" taken apart; "…" becomes upper-case marks that no equation uses.
struct Equation {
  std::vector<Labels> inputs;
  Labels output;
  std::map<char, Dim> extents;
};

class EquationReader {
 public:
  explicit EquationReader(OpContext& context) : context_(context) {}

  Equation read() {
    std::string text;
    for (const char c : context_.word("equation", "")) {
      if (c != ' ') text += c;
    }
    const std::size_t arrow = text.find("->");
    const std::string terms = text.substr(0, arrow);
    Equation equation;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < context_.input_count(); ++i) {
      if (begin > terms.size()) fail_equation();
      const std::size_t end = std::min(terms.find(',', begin), terms.size());
      equation.inputs.push_back(labels_of(terms.substr(begin, end - begin), context_.rank(i)));
      begin = end + 1;
    }
    if (begin <= terms.size()) fail_equation();
    set_extents(equation);
    equation.output = arrow == std::string::npos ? implied_output(equation)
                                                 : labels_of(text.substr(arrow + 2), ellipsis_);
    for (const char label : equation.output) {
      if (!equation.extents.contains(label)) fail_equation();
    }
    return equation;
  }

 private:
  [[noreturn]] void fail_equation() {
    fail(ErrorKind::input, "the equation {} does not fit its {} inputs",
         quoted(context_.word("equation", "")), context_.input_count());
  }

  // For an input the axes decide how many the dots stand for; the output has as many as they do.
  Labels labels_of(const std::string& term, std::size_t axes) {
    const std::size_t dots = term.find("...");
    const bool is_output = axes == ellipsis_ && dots != std::string::npos;
    if (dots == std::string::npos) {
      if (!is_output && axes != ellipsis_ && term.size() != axes) fail_equation();
      return term;
    }
    const std::size_t named = term.size() - 3;
    std::size_t hidden = widest_ellipsis_;
    if (!is_output) {
      if (axes < named) fail_equation();
      hidden = axes - named;
      widest_ellipsis_ = std::max(widest_ellipsis_, hidden);
    }
    Labels labels = term.substr(0, dots);
    // Dots are counted from the right, as broadcasting does.
    for (std::size_t i = hidden; i > 0; --i) labels += static_cast<char>('0' + i);
    return labels + term.substr(dots + 3);
  }

  void set_extents(Equation& equation) {
    for (std::size_t i = 0; i < equation.inputs.size(); ++i) {
      const Shape& shape = context_.shape(i);
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        const char label = equation.inputs[i][axis];
        const bool is_letter = (label >= 'a' && label <= 'z') || (label >= 'A' && label <= 'Z');
        const bool is_dot = label > '0' && label <= '9';
        if (!is_letter && !is_dot) fail_equation();
        const auto [place, is_new] = equation.extents.emplace(label, shape[axis]);
        if (!is_new && place->second.is(1)) place->second = shape[axis];
      }
    }
  }

  // Without an arrow: labels that occur once, in the alphabet's order.
  static Labels implied_output(const Equation& equation) {
    Labels all;
    for (const Labels& labels : equation.inputs) all += labels;
    Labels output;
    for (const auto& [label, extent] : equation.extents) {
      const bool is_dot = label <= '9';
      if (is_dot || std::count(all.begin(), all.end(), label) == 1) output += label;
    }
    return output;
  }

  static constexpr std::size_t ellipsis_ = ~std::size_t{0};
  OpContext& context_;
  std::size_t widest_ellipsis_ = 0;
};

/// One operand on its way: its tensor and what its axes are.
struct Term {
  DraftId tensor;
  Labels labels;
};

class Contraction {
 public:
  Contraction(OpContext& context, const Equation& equation)
      : context_(context), equation_(equation) {}

  DraftId of_one() { return arranged(summed({context_.tensor(0), equation_.inputs[0]}, {})); }

  // Labels of both and the result are a batch; of both only, what is summed over.
  DraftId of_two() {
    const Labels& other_a = equation_.inputs[1];
    const Labels& other_b = equation_.inputs[0];
    const Term a = summed({context_.tensor(0), equation_.inputs[0]}, other_a);
    const Term b = summed({context_.tensor(1), equation_.inputs[1]}, other_b);
    const Labels batch = chosen(
        a.labels, [&](char l) { return contains(b.labels, l) && contains(equation_.output, l); });
    const Labels inner = chosen(
        a.labels, [&](char l) { return contains(b.labels, l) && !contains(equation_.output, l); });
    const Labels rows = chosen(a.labels, [&](char l) { return !contains(b.labels, l); });
    const Labels columns = chosen(b.labels, [&](char l) { return !contains(a.labels, l); });
    const bool is_layer = batch.empty() && context_.is_constant(1) && !context_.is_constant(0) &&
                          b.labels == inner + columns && a.labels == rows + inner;
    if (is_layer) return arranged(layer(a, rows, inner, columns));
    const DraftId left = grouped(a, {batch, rows, inner});
    const DraftId right = grouped(b, {batch, inner, columns});
    const DraftId product = context_.add(MatMul{}, {left, right});
    const Labels labels = batch + rows + columns;
    return arranged({context_.reshaped(product, shape_of(labels), "ungroup"), labels});
  }

 private:
  template <class Choose>
  static Labels chosen(const Labels& labels, Choose&& choose) {
    Labels result;
    std::copy_if(labels.begin(), labels.end(), std::back_inserter(result), choose);
    return result;
  }

  // What neither the result nor the other operand has is summed away first.
  Term summed(const Term& term, const Labels& other) {
    Reduce op{ReduceKind::sum, {}, false};
    Term rest{term.tensor, {}};
    for (std::size_t axis = 0; axis < term.labels.size(); ++axis) {
      const char label = term.labels[axis];
      if (contains(equation_.output, label) || contains(other, label)) {
        rest.labels += label;
      } else {
        op.axes.push_back(static_cast<std::int64_t>(axis));
      }
    }
    if (!op.axes.empty()) rest.tensor = context_.add(op, {term.tensor}, {}, "sum");
    return rest;
  }

  // A stored operand that is summed over its first axes: a linear layer on the last axes of x.
  Term layer(const Term& a, const Labels& rows, const Labels& inner, const Labels& columns) {
    const auto count = [&](const Labels& labels) {
      return number_of(context_, elements_of(shape_of(labels), context_.symbols()),
                       "an extent of the weight");
    };
    const std::int64_t inputs = count(inner);
    const std::int64_t outputs = count(columns);
    Shape joined = shape_of(rows);
    joined.push_back(inputs);
    const DraftId x = context_.reshaped(a.tensor, joined, "join");
    const DraftId weight = context_.weight(1, {outputs, inputs}, "weight");
    const DraftId y = context_.add(Linear{outputs, false}, {x}, {weight});
    return {context_.reshaped(y, shape_of(rows + columns), "split"), rows + columns};
  }

  Term permuted(const Term& term, const Labels& order) {
    if (term.labels == order) return term;
    Axes permutation;
    for (const char label : order) {
      permutation.push_back(static_cast<std::int64_t>(term.labels.find(label)));
    }
    return {context_.transposed(term.tensor, permutation), order};
  }

  // [batch, x, y] with each group of labels as one axis.
  DraftId grouped(const Term& term, const std::array<Labels, 3>& groups) {
    const Term ordered = permuted(term, groups[0] + groups[1] + groups[2]);
    Shape shape;
    for (const Labels& group : groups) {
      shape.push_back(elements_of(extents_of(ordered, group), context_.symbols()));
    }
    return context_.reshaped(ordered.tensor, shape, "group");
  }

  Shape extents_of(const Term& term, const Labels& labels) const {
    Shape shape;
    for (const char label : labels) {
      shape.push_back(context_.draft().shape(term.tensor)[term.labels.find(label)]);
    }
    return shape;
  }

  Shape shape_of(const Labels& labels) const {
    Shape shape;
    for (const char label : labels) shape.push_back(equation_.extents.at(label));
    return shape;
  }

  DraftId arranged(const Term& term) { return permuted(term, equation_.output).tensor; }

  OpContext& context_;
  const Equation& equation_;
};

// Where an operand has extent 1 and another more, a product would have to broadcast.
bool broadcasts(OpContext& context, const Equation& equation) {
  for (std::size_t i = 0; i < equation.inputs.size(); ++i) {
    for (std::size_t axis = 0; axis < equation.inputs[i].size(); ++axis) {
      const Dim extent = context.shape(i)[axis];
      if (extent.is(1) && !equation.extents.at(equation.inputs[i][axis]).is(1)) return true;
    }
  }
  return false;
}

}  // namespace

void lower_einsum(OpContext& context) {
  const Equation equation = EquationReader(context).read();
  bool is_plain = equation.inputs.size() <= 2 && !equation.inputs.empty();
  for (const Labels& labels : equation.inputs) is_plain = is_plain && !repeats_a_label(labels);
  if (repeats_a_label(equation.output)) {
    fail(ErrorKind::input, "the equation names an axis of the result twice");
  }
  is_plain = is_plain && !broadcasts(context, equation);
  if (!is_plain) {
    Shape shape;
    for (const char label : equation.output) shape.push_back(equation.extents.at(label));
    set_uncounted(context, {{shape, context.dtype(0)}});
    return;
  }
  Contraction contraction(context, equation);
  context.set(0, equation.inputs.size() == 1 ? contraction.of_one() : contraction.of_two());
}

}  // namespace strata::onnx
