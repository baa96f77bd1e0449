// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/wire/decoder.hpp"

#include <string>

namespace muster::wire {
namespace {

using Found = std::optional<Decoded<Request>>;

// What the fields were read into, if they were all there.
template <class T>
Result<Found> finish(FieldReader const& in, T&& request) {
  switch (in.state()) {
    case FieldReader::State::complete:
      return Found{Decoded<Request>{Request{request}, in.position()}};
    case FieldReader::State::incomplete:
      return Found{};
    case FieldReader::State::refused:
      return in.error();
  }
  return Found{};
}

template <class T>
Result<Found> keyed(FieldReader& in) {
  T request;
  request.key = in.key();
  return finish(in, request);
}

template <class T>
Result<Found> key_and_value(FieldReader& in) {
  T request;
  request.key = in.key();
  request.value = in.value();
  return finish(in, request);
}

Result<Found> compare_set(FieldReader& in) {
  CompareSet request;
  request.key = in.key();
  request.expected = in.value();
  request.desired = in.value();
  return finish(in, request);
}

Result<Found> add(FieldReader& in) {
  Add request;
  request.key = in.key();
  request.amount = in.number<std::int64_t>();
  return finish(in, request);
}

Result<Found> barrier(FieldReader& in) {
  Barrier request;
  request.key = in.key();
  request.world_size = in.number<std::int64_t>();
  return finish(in, request);
}

Request list_request(Opcode opcode, EncodedList list) {
  if (opcode == Opcode::check) return Check{list};
  if (opcode == Opcode::wait) return Wait{list};
  if (opcode == Opcode::multi_get) return MultiGet{list};
  return MultiSet{list};
}

}  // namespace

Result<Found> RequestDecoder::list(Opcode opcode, std::string_view input) {
  constexpr std::size_t kBegin = 1 + sizeof(std::uint64_t);
  std::string_view const after_opcode = input.substr(1);
  FieldReader in{after_opcode};
  auto count = in.number<std::uint64_t>();
  if (in.state() == FieldReader::State::incomplete) return Found{};
  if (count > limits::kMaxKeyCount)
    return Error{Errc::limit,
                 std::string(name_of(opcode)) + " with " + std::to_string(count) +
                     " keys exceeds the limit of " + std::to_string(limits::kMaxKeyCount),
                 {}};
  bool const pairs = opcode == Opcode::multi_set;
  if (pairs) count *= 2;
  if (!in_list_) scan_.restart(kBegin);
  in_list_ = true;
  MUSTER_TRY(bool const complete, scan_.advance(input, count, limits::kMaxKeyBytes, pairs));
  if (!complete) return Found{};
  in_list_ = false;
  EncodedList const items{count, input.substr(kBegin, scan_.position() - kBegin)};
  return Found{Decoded<Request>{list_request(opcode, items), scan_.position()}};
}

Result<Found> RequestDecoder::next(std::string_view input) {
  if (input.empty()) return Found{};
  auto const opcode = opcode_of(static_cast<std::uint8_t>(input.front()));
  if (!opcode)
    return Error{Errc::protocol,
                 "request type " + std::to_string(static_cast<std::uint8_t>(input.front())) +
                     " is unknown, expected 0 to " + std::to_string(kOpcodeCount - 1),
                 {}};
  FieldReader in{input};
  in.number<std::uint8_t>();
  switch (*opcode) {
    case Opcode::validate:
      return finish(in, Validate{in.number<std::uint32_t>()});
    case Opcode::set:
      return key_and_value<Set>(in);
    case Opcode::compare_set:
      return compare_set(in);
    case Opcode::get:
      return keyed<Get>(in);
    case Opcode::add:
      return add(in);
    case Opcode::check:
    case Opcode::wait:
    case Opcode::multi_get:
    case Opcode::multi_set:
      return list(*opcode, input);
    case Opcode::get_num_keys:
      return finish(in, GetNumKeys{});
    case Opcode::delete_key:
      return keyed<DeleteKey>(in);
    case Opcode::append:
      return key_and_value<Append>(in);
    case Opcode::cancel_wait:
      return finish(in, CancelWait{});
    case Opcode::ping:
      return finish(in, Ping{in.number<std::uint32_t>()});
    case Opcode::queue_push:
      return key_and_value<QueuePush>(in);
    case Opcode::queue_pop:
      return keyed<QueuePop>(in);
    case Opcode::queue_len:
      return keyed<QueueLen>(in);
    case Opcode::list_keys:
      return finish(in, ListKeys{});
    case Opcode::barrier:
      return barrier(in);
  }
  return Found{};
}

}  // namespace muster::wire
