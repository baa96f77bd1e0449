// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/nn/functions.hpp"

#include "worker_runtime/cpu/elementwise.hpp"
#include "worker_runtime/cpu/loss.hpp"

#include <array>
#include <string>

namespace muster::worker {
namespace {

Tensor scalar(double value) {
  auto made = Tensor::zeros({1});
  made.as<float>()[0] = static_cast<float>(value);
  return made;
}

Var refuse(Tape& tape, Var in, std::string what, std::string hint) {
  tape.fail({Errc::bad_input, std::move(what), std::move(hint)});
  return in;
}

}  // namespace

Var softmax_cross_entropy(Tape& tape, Var logits, Tensor const& labels) {
  if (tape.failed()) return logits;
  auto const x = tape.value(logits);
  if (x.shape.dims() != 2 || labels.dtype != DType::i64 || labels.elements() != x.shape[0])
    return refuse(tape, logits,
                  "cross-entropy: logits of shape " + to_string(x.shape) + ", labels of shape " +
                      to_string(labels.shape) + " and type " + std::string(name_of(labels.dtype)) +
                      ", expected [rows, classes] and I64 [rows]",
                  "give one label a row");
  if (auto const bad =
          cpu::first_bad_label(labels.as<std::int64_t>(), static_cast<std::size_t>(x.shape[1])))
    return refuse(tape, logits,
                  "cross-entropy: label " + std::to_string(labels.as<std::int64_t>()[*bad]) +
                      " in row " + std::to_string(*bad) + ", expected 0 to " +
                      std::to_string(x.shape[1] - 1),
                  "fit the last layer's size to the number of classes");
  auto const softmax = Tensor::zeros(x.shape);
  auto const loss = cpu::softmax_cross_entropy_forward(x.as<float>(), labels.as<std::int64_t>(),
                                                       softmax.as<float>());
  return tape.record(
      {&logits, 1}, scalar(loss), {}, [logits, softmax, labels](Tape& t, Tensor const& dout) {
        // The softmax is this node's own and not needed again.
        cpu::softmax_cross_entropy_backward(softmax.as<float>(), labels.as<std::int64_t>(),
                                            dout.as<float>()[0], softmax.as<float>());
        t.accumulate(logits, softmax);
      });
}

Var squared_error(Tape& tape, Var prediction, Tensor const& target) {
  if (tape.failed()) return prediction;
  auto const x = tape.value(prediction);
  if (x.shape != target.shape || target.dtype != DType::f32)
    return refuse(tape, prediction,
                  "squared error: prediction of shape " + to_string(x.shape) +
                      ", target of shape " + to_string(target.shape) + " and type " +
                      std::string(name_of(target.dtype)) + ", expected equal shapes in F32",
                  "reshape the target");
  auto const loss = cpu::squared_error_forward(x.as<float>(), target.as<float>());
  return tape.record({&prediction, 1}, scalar(loss), {},
                     [prediction, x, target](Tape& t, Tensor const& dout) {
                       auto const dx = Tensor::zeros(x.shape);
                       cpu::squared_error_backward(x.as<float>(), target.as<float>(),
                                                   dout.as<float>()[0], dx.as<float>());
                       t.accumulate(prediction, dx);
                     });
}

Var add(Tape& tape, Var a, Var b) {
  if (tape.failed()) return a;
  if (tape.value(a).shape != tape.value(b).shape)
    return refuse(tape, a,
                  "add: shapes " + to_string(tape.value(a).shape) + " and " +
                      to_string(tape.value(b).shape) + ", expected equal ones",
                  "there is no broadcasting");
  auto sum = tape.value(a).clone();
  cpu::add_into(sum.as<float>(), tape.value(b).as<float>());
  std::array const in{a, b};
  return tape.record(in, std::move(sum), {}, [a, b](Tape& t, Tensor const& dout) {
    t.accumulate(a, dout);
    t.accumulate(b, dout);
  });
}

}  // namespace muster::worker
