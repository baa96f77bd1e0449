// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/port_holder.hpp"

#include "rendezvous/base/unique_fd.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

namespace muster::net {
namespace {

constexpr std::size_t kMostCommand = 80;
constexpr std::string_view kListening = "0A";  // TCP_LISTEN in the kernel's tables

std::string read_all(std::string const& path) {
  std::string text;
  UniqueFd const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 16384> buffer{};
  for (;;) {
    auto const count = ::read(file.get(), buffer.data(), buffer.size());
    if (count <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

std::vector<std::string> names_in(std::string const& path) {
  std::vector<std::string> names;
  std::unique_ptr<DIR, CloseFolder> const folder(::opendir(path.c_str()));
  if (!folder) return names;  // another user's, or gone
  while (auto const* entry = ::readdir(folder.get())) names.emplace_back(entry->d_name);
  return names;
}

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  while (!line.empty()) {
    auto const begin = line.find_first_not_of(' ');
    if (begin == std::string_view::npos) break;
    line.remove_prefix(begin);
    auto const end = std::min(line.find(' '), line.size());
    fields.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return fields;
}

std::uint64_t number(std::string_view text, int base) {
  std::uint64_t value = 0;
  auto const [end, status] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return status == std::errc{} && end == text.data() + text.size() ? value : 0;
}

bool holds(std::string const& process, std::vector<std::string> const& links) {
  for (auto const& name : names_in(process + "/fd")) {
    std::array<char, 64> target{};
    auto const path = process + "/fd/" + name;
    auto const length = ::readlink(path.c_str(), target.data(), target.size());
    std::string_view const link(target.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
    if (std::find(links.begin(), links.end(), link) != links.end()) return true;
  }
  return false;
}

std::string describe(std::string const& pid) {
  auto const process = "/proc/" + pid;
  auto command = read_all(process + "/cmdline");
  while (!command.empty() && command.back() == '\0') command.pop_back();
  for (auto& c : command)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  if (command.size() > kMostCommand) {
    command.resize(kMostCommand);
    command += "...";
  }
  auto text = "pid " + pid + " (" + command + ")";
  struct stat owner {};
  if (::stat(process.c_str(), &owner) == 0) text += ", user " + std::to_string(owner.st_uid);
  return text;
}

}  // namespace

std::vector<std::uint64_t> listening_sockets(std::string_view table, std::uint16_t port) {
  std::vector<std::uint64_t> inodes;
  while (!table.empty()) {
    auto const line = table.substr(0, table.find('\n'));
    table.remove_prefix(std::min(line.size() + 1, table.size()));
    // "0: 0100007F:7308 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 1234 ..."
    auto const fields = fields_of(line);
    if (fields.size() < 10 || fields[3] != kListening) continue;
    auto const colon = fields[1].rfind(':');
    if (colon == std::string_view::npos || number(fields[1].substr(colon + 1), 16) != port)
      continue;
    if (auto const inode = number(fields[9], 10); inode != 0) inodes.push_back(inode);
  }
  return inodes;
}

std::optional<std::string> port_holder(std::uint16_t port) {
  std::vector<std::string> links;
  for (auto const* table : {"/proc/net/tcp", "/proc/net/tcp6"})
    for (auto const inode : listening_sockets(read_all(table), port))
      links.push_back("socket:[" + std::to_string(inode) + "]");
  if (links.empty()) return std::nullopt;
  for (auto const& name : names_in("/proc"))
    if (number(name, 10) != 0 && holds("/proc/" + name, links)) return describe(name);
  return std::nullopt;
}

Error name_port_holder(Error error, std::uint16_t port, std::string_view remedy) {
  if (error.code != Errc::address_in_use) return error;
  auto const holder = port_holder(port);
  error.hint = holder
                   ? *holder + " has it"
                   : "see who has it with ss -ltnp 'sport = :" + std::to_string(port) + "' as root";
  error.hint += "; stop it, or " + std::string(remedy);
  return error;
}

}  // namespace muster::net
