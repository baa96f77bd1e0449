// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/secure_module.hpp"

#include "rendezvous/base/assert.hpp"
#include "rendezvous/secure/secure_api.hpp"

#include <dlfcn.h>
#include <unistd.h>

namespace muster::net {
namespace {

constexpr char kFile[] = "libmuster_secure.so";

std::string own_folder() {
  std::string path(4096, '\0');
  auto const size = ::readlink("/proc/self/exe", path.data(), path.size());
  path.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return path.substr(0, path.rfind('/') + 1);  // npos + 1 is 0
}

Error unusable(std::string const& path, std::string const& why) {
  return {Errc::unsupported, "cannot use " + path + ": " + why,
          "job tokens and TLS need it: install muster anew, and OpenSSL 3 (libssl3)"};
}

}  // namespace

std::vector<std::string> module_places(std::string const& folder) {
  return {folder + kFile, folder + "../lib/muster/" + kFile, folder + "../lib/" + kFile};
}

Result<SecureModule> SecureModule::find() {
  auto const folder = own_folder();
  for (auto const& path : module_places(folder))
    if (::access(path.c_str(), F_OK) == 0) return open(path);
  return Error{Errc::unsupported,
               "job tokens and TLS need " + std::string(kFile) + ", which is neither in " + folder +
                   " nor in the lib folder beside it",
               "build muster where OpenSSL 3's development files are (libssl-dev), and install "
               "that file too"};
}

Result<SecureModule> SecureModule::open(std::string const& path) {
  auto const fault = [] {
    auto const* const text = ::dlerror();
    return std::string(text ? text : "unknown error");
  };
  void* const module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!module) return unusable(path, fault());
  using EntryPoint = secure::Api const* (*)();
  auto const entry = reinterpret_cast<EntryPoint>(::dlsym(module, secure::kEntryPoint));
  if (!entry) return unusable(path, fault());
  auto const* const api = entry();
  if (!api) return unusable(path, "OpenSSL cannot be set up");
  if (api->version != secure::kApiVersion)
    return unusable(path, "it is of version " + std::to_string(api->version) +
                              ", this program of " + std::to_string(secure::kApiVersion));
  return SecureModule(api);
}

control::Mac SecureModule::mac() const {
  return [api = api_](std::string_view key, std::span<std::string_view const> parts) {
    std::vector<secure::Bytes> list;
    list.reserve(parts.size());
    for (auto const part : parts) list.push_back({part.data(), part.size()});
    std::string out(control::kMacBytes, '\0');
    auto const good =
        api->hmac_sha256({key.data(), key.size()}, list.data(), list.size(), out.data());
    MUSTER_ASSERT(good == 1, "OpenSSL computes no HMAC");  // a default answer would be a secret
    return out;
  };
}

Result<std::string> SecureModule::random(std::size_t count) const {
  std::string bytes(count, '\0');
  if (api_->random(bytes.data(), count) != 1)
    return Error{Errc::system, "the system gives no random bytes for a job token's handshake", ""};
  return bytes;
}

}  // namespace muster::net
