// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/job_token.hpp"

#include "rendezvous/base/unique_fd.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>

namespace muster::net {
namespace {

constexpr char kMakeOne[] = "make one with: openssl rand -hex 32";

Result<std::string> checked(std::string_view token, std::string const& where) {
  while (token.ends_with('\n') || token.ends_with('\r')) token.remove_suffix(1);
  if (token.size() < kMinTokenBytes || token.size() > kMaxTokenBytes)
    return Error{Errc::bad_input,
                 where + " holds a token of " + std::to_string(token.size()) +
                     " characters; allowed are " + std::to_string(kMinTokenBytes) + " to " +
                     std::to_string(kMaxTokenBytes),
                 kMakeOne};
  if (token.find('\0') != std::string::npos)
    return Error{Errc::bad_input, where + " holds a token with a zero byte", kMakeOne};
  return std::string(token);
}

std::string octal(unsigned mode) {
  std::string text = "0";
  for (int shift = 6; shift >= 0; shift -= 3)
    text += static_cast<char>('0' + ((mode >> shift) & 7));
  return text;
}

Result<std::string> token_of_file(std::string const& path) {
  auto const where = "the token file " + path;
  // Not blocked by a FIFO, which is refused below.
  UniqueFd const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) {
    auto error = from_errno(errno, "opening " + where);
    error.hint = kMakeOne;
    return error;
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return from_errno(errno, "reading " + where);
  if (!S_ISREG(status.st_mode))
    return Error{Errc::bad_input, where + " is no regular file", kMakeOne};
  if ((status.st_mode & 077u) != 0)
    return Error{Errc::bad_input,
                 where + " can be read or written by others: its mode is " +
                     octal(status.st_mode & 0777u) + ", allowed is 0600",
                 "chmod 600 " + path};
  std::string bytes(kMaxTokenBytes + 3, '\0');
  auto const count = ::read(file.get(), bytes.data(), bytes.size());
  if (count < 0) return from_errno(errno, "reading " + where);
  bytes.resize(static_cast<std::size_t>(count));
  return checked(bytes, where);
}

}  // namespace

Result<std::optional<std::string>> read_job_token(std::optional<std::string_view> variable,
                                                  std::optional<std::string> const& file) {
  std::optional<std::string> token;
  if (variable) {
    MUSTER_TRY(token, checked(*variable, kTokenVariable));
  }
  if (!file) return token;
  MUSTER_TRY(auto from_file, token_of_file(*file));
  if (token && *token != from_file)
    return Error{Errc::bad_input,
                 "the token file " + *file + " holds another token than MUSTER_TOKEN",
                 "leave out one of the two"};
  return std::optional(std::move(from_file));
}

}  // namespace muster::net
