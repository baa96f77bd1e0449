// SPDX-License-Identifier: Apache-2.0
#include "launcher/diagnose/error_file.hpp"

#include "launcher/diagnose/exit_words.hpp"
#include "rendezvous/base/env_view.hpp"
#include "rendezvous/base/unique_fd.hpp"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cmath>
#include <fcntl.h>
#include <unistd.h>

namespace muster::launch {
namespace {

using nlohmann::json;

std::string dump(json const& object) {
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

// Seconds as a number or as a string with or without a fraction; 0 for anything else.
std::int64_t seconds_of(json const& value) {
  if (value.is_number()) {
    auto const number = value.get<double>();
    return std::isfinite(number) && std::abs(number) < 1e15 ? static_cast<std::int64_t>(number) : 0;
  }
  if (!value.is_string()) return 0;
  auto const& text = value.get_ref<std::string const&>();
  return parse_int(text.substr(0, text.find('.'))).value_or(0);
}

std::string text_at(json const& object, char const* key) {
  auto const found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// As torchrun: negative for a signal.
int error_code_of(FailedWorker const& worker) {
  return worker.signal != 0 ? -worker.signal : worker.exit_code;
}

json message_object(std::string const& message, std::string const& traceback, std::int64_t time_s) {
  return json{{"message", message},
              {"extraInfo", {{"py_callstack", traceback}, {"timestamp", std::to_string(time_s)}}}};
}

}  // namespace

Result<ErrorFile> parse_error_file(std::string_view text) {
  auto const wrong = [](std::string what) { return Error{Errc::protocol, std::move(what), {}}; };
  auto const object = json::parse(text, nullptr, false);
  if (!object.is_object()) return wrong("is no JSON object");
  auto const message = object.find("message");
  if (message == object.end()) return wrong("has no field 'message'");
  ErrorFile file;
  if (message->is_string()) {
    file.message = message->get<std::string>();
    if (auto const time = object.find("timestamp"); time != object.end())
      file.time_s = seconds_of(*time);
    return file;
  }
  if (!message->is_object()) return wrong("has a 'message' that is neither text nor object");
  file.message = text_at(*message, "message");
  if (auto const extra = message->find("extraInfo");
      extra != message->end() && extra->is_object()) {
    file.traceback = text_at(*extra, "py_callstack");
    if (auto const time = extra->find("timestamp"); time != extra->end())
      file.time_s = seconds_of(*time);
  }
  return file;
}

void take_error_file(FailedWorker& worker, std::string const& path,
                     std::optional<std::string> const& text) {
  if (!text || text->empty()) return;
  worker.error_file = path;
  auto file = parse_error_file(*text);
  if (!file) {
    worker.message = "its error file " + path + " cannot be read: it " + file.error().what;
    return;
  }
  worker.message = std::move(file->message);
  worker.traceback = std::move(file->traceback);
  worker.error_time_s = file->time_s;
}

std::string error_file_for(FailedWorker const& root, std::optional<std::string> const& text) {
  if (text) {
    auto object = json::parse(*text, nullptr, false);
    if (object.is_object() && object.contains("message")) {
      auto& message = object["message"];
      if (message.is_object() && error_code_of(root) != 0)
        message["errorCode"] = error_code_of(root);
      return dump(object);
    }
  }
  constexpr std::int64_t kNsPerSecond = 1'000'000'000;
  auto const time_s = root.error_time_s != 0 ? root.error_time_s : root.wall_ns / kNsPerSecond;
  auto message = message_object(root.message.empty() ? exit_words(root) : root.message,
                                root.traceback, time_s);
  if (error_code_of(root) != 0) message["errorCode"] = error_code_of(root);
  return dump(json{{"message", std::move(message)}});
}

std::string error_file_for(Error const& error, std::int64_t time_s) {
  return dump(json{{"message", message_object("muster: " + to_string(error), {}, time_s)}});
}

Result<void> write_error_file(std::string const& path, std::string const& text) {
  UniqueFd const file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file) return from_errno(errno, "open the error file " + path);
  std::string_view rest = text;
  while (!rest.empty()) {
    auto const written = ::write(file.get(), rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return from_errno(errno, "write the error file " + path);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  return ok();
}

}  // namespace muster::launch
