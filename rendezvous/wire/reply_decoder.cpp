// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/wire/reply_decoder.hpp"

namespace muster::wire {
namespace {

using Found = std::optional<Decoded<Reply>>;

Result<Found> finish(FieldReader const& in, Reply const& reply) {
  switch (in.state()) {
    case FieldReader::State::complete:
      return Found{Decoded<Reply>{reply, in.position()}};
    case FieldReader::State::incomplete:
      return Found{};
    case FieldReader::State::refused:
      return in.error();
  }
  return Found{};
}

template <class T>
Result<Found> number(std::string_view input) {
  FieldReader in{input};
  Reply reply;
  reply.number = in.number<T>();
  return finish(in, reply);
}

// A value may have grown past kMaxValueBytes by APPEND.
Result<Found> value(std::string_view input) {
  FieldReader in{input};
  Reply reply;
  reply.value = in.sized(limits::kMaxRequestBytes);
  return finish(in, reply);
}

Result<Found> popped(std::string_view input) {
  FieldReader in{input};
  Reply reply;
  reply.number = in.number<std::int64_t>();
  if (reply.number > 0) reply.value = in.sized(limits::kMaxRequestBytes);
  return finish(in, reply);
}

}  // namespace

Result<Found> ReplyDecoder::list(std::uint64_t count, std::size_t begin, std::string_view input) {
  if (!in_list_) scan_.restart(begin);
  in_list_ = true;
  MUSTER_TRY(bool const complete, scan_.advance(input, count, limits::kMaxRequestBytes));
  if (!complete) return Found{};
  in_list_ = false;
  Reply reply;
  reply.number = static_cast<std::int64_t>(count);
  reply.list = {count, input.substr(begin, scan_.position() - begin)};
  return Found{Decoded<Reply>{reply, scan_.position()}};
}

Result<Found> ReplyDecoder::next(Opcode asked, std::uint64_t keys, std::string_view input) {
  switch (asked) {
    case Opcode::validate:
    case Opcode::set:
    case Opcode::append:
    case Opcode::multi_set:
    case Opcode::queue_push:
      return Found{Decoded<Reply>{Reply{}, 0}};
    case Opcode::check:
    case Opcode::wait:
    case Opcode::cancel_wait:
    case Opcode::barrier:
      return number<std::uint8_t>(input);
    case Opcode::ping:
      return number<std::uint32_t>(input);
    case Opcode::add:
    case Opcode::get_num_keys:
    case Opcode::delete_key:
    case Opcode::queue_len:
      return number<std::int64_t>(input);
    case Opcode::get:
    case Opcode::compare_set:
      return value(input);
    case Opcode::queue_pop:
      return popped(input);
    case Opcode::multi_get:
      return list(keys, 0, input);
    case Opcode::list_keys: {
      ByteReader in{input};
      auto const count = in.number<std::int64_t>();
      if (!count) return Found{};
      if (*count < 0)
        return Error{Errc::protocol, "a list of " + std::to_string(*count) + " keys", {}};
      return list(static_cast<std::uint64_t>(*count), sizeof *count, input);
    }
  }
  return Found{};
}

}  // namespace muster::wire
