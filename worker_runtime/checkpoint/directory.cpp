// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/checkpoint/directory.hpp"

#include "rendezvous/base/env_view.hpp"
#include "rendezvous/base/unique_fd.hpp"
#include "worker_runtime/checkpoint/checksum.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <limits>
#include <optional>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace muster::worker {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kAside = ".tmp-";

Error failed(std::error_code const& code, std::string const& doing) {
  return from_errno(code.value(), doing);
}

// The step of a name like "step-00000563", and what follows the digits.
struct StepName {
  std::uint64_t step = 0;
  std::string_view rest;
};

std::optional<StepName> parse_step_name(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  auto const digits = std::min(name.find_first_not_of("0123456789"), name.size());
  auto const step = parse_int(name.substr(0, digits));
  if (digits < 8 || !step) return std::nullopt;
  return StepName{static_cast<std::uint64_t>(*step), name.substr(digits)};
}

Result<void> sync_folder(std::string const& path) {
  UniqueFd const folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return from_errno(errno, "open " + path);
  if (::fsync(folder.get()) != 0) return from_errno(errno, "sync " + path);
  return ok();
}

Result<void> write_whole(int fd, std::string_view bytes, std::string const& path) {
  while (!bytes.empty()) {
    auto const put = ::write(fd, bytes.data(), std::min<std::size_t>(bytes.size(), 1 << 30));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return from_errno(errno, "write " + path);
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return ok();
}

template <class Visit>
Result<void> each_entry(std::string const& root, Visit visit) {
  std::error_code code;
  fs::directory_iterator entry(root, code);
  if (code) return failed(code, "list " + root);
  for (; entry != fs::directory_iterator{}; entry.increment(code)) {
    if (code) return failed(code, "list " + root);
    visit(*entry);
  }
  return ok();
}

// Removal that a crash cannot leave half done under a valid name: renamed first.
Result<void> remove_step(std::string const& path) {
  auto const aside = path + std::string(kAside) + "old";
  std::error_code code;
  fs::remove_all(aside, code);
  fs::rename(path, aside, code);
  if (code) return failed(code, "rename " + path);
  fs::remove_all(aside, code);
  if (code) return failed(code, "remove " + aside);
  return ok();
}

}  // namespace

std::string step_name(std::uint64_t step) {
  auto const digits = std::to_string(step);
  return std::string(kPrefix) + std::string(8 - std::min<std::size_t>(digits.size(), 8), '0') +
         digits;
}

Result<std::vector<StoredStep>> list_steps(std::string const& root) {
  std::vector<StoredStep> steps;
  std::error_code code;
  auto const status = fs::status(root, code);
  if (status.type() == fs::file_type::not_found) return steps;
  if (code) return failed(code, "look at " + root);
  MUSTER_CHECK(each_entry(root, [&](fs::directory_entry const& entry) {
    auto const name = entry.path().filename().string();
    auto const parsed = parse_step_name(name);
    std::error_code missing;
    if (parsed && parsed->rest.empty() && fs::exists(entry.path() / kManifestName, missing))
      steps.push_back({parsed->step, entry.path().string()});
  }));
  std::sort(steps.begin(), steps.end(),
            [](auto const& a, auto const& b) { return a.step > b.step; });
  return steps;
}

Result<std::string> begin_step(std::string const& root, std::uint64_t step, std::uint64_t nonce) {
  std::error_code code;
  fs::create_directories(root, code);
  if (code) return failed(code, "create " + root);
  std::vector<fs::path> leftovers;
  MUSTER_CHECK(each_entry(root, [&](fs::directory_entry const& entry) {
    auto const name = entry.path().filename().string();
    auto const parsed = parse_step_name(name);
    if (parsed && parsed->rest.starts_with(kAside)) leftovers.push_back(entry.path());
  }));
  for (auto const& leftover : leftovers) {
    fs::remove_all(leftover, code);
    if (code) return failed(code, "remove " + leftover.string());
  }
  auto const aside =
      (fs::path(root) / step_name(step)).string() + std::string(kAside) + std::to_string(nonce);
  if (::mkdir(aside.c_str(), 0777) != 0) return from_errno(errno, "create " + aside);
  return aside;
}

Result<Written> write_synced(std::string const& path, std::span<std::string_view const> pieces) {
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file) return from_errno(errno, "create " + path);
  Written written;
  for (auto const piece : pieces) {
    MUSTER_CHECK(write_whole(file.get(), piece, path));
    written.bytes += piece.size();
    written.crc32 = crc32_of(piece, written.crc32);
  }
  if (::fsync(file.get()) != 0) return from_errno(errno, "sync " + path);
  if (::close(file.release()) != 0) return from_errno(errno, "close " + path);  // NFS tells it here
  return written;
}

Result<std::string> publish_step(std::string const& root, std::string const& aside,
                                 std::uint64_t step) {
  auto const path = (fs::path(root) / step_name(step)).string();
  MUSTER_CHECK(sync_folder(aside));
  // A step that was reached again: the two trade names at once, so that one is always there.
  if (::renameat2(AT_FDCWD, aside.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0) {
    MUSTER_CHECK(sync_folder(root));
    discard_step(aside);
    return path;
  }
  if (errno != ENOENT) {  // a file system without exchange: the old one steps aside first
    auto const gone = remove_step(path);
    if (!gone && gone.error().code != Errc::not_found) return gone.error();
  }
  if (::rename(aside.c_str(), path.c_str()) != 0) return from_errno(errno, "rename " + aside);
  MUSTER_CHECK(sync_folder(root));
  return path;
}

void discard_step(std::string const& aside) {
  std::error_code ignored;
  fs::remove_all(aside, ignored);
}

Result<void> keep_newest(std::string const& root, std::size_t keep) {
  MUSTER_TRY(auto const steps, list_steps(root));
  for (std::size_t i = keep; i < steps.size(); ++i) MUSTER_CHECK(remove_step(steps[i].path));
  return ok();
}

Result<void> set_aside(std::string const& path) {
  std::error_code code;
  fs::remove_all(path + ".bad", code);
  fs::rename(path, path + ".bad", code);
  if (code) return failed(code, "rename " + path);
  return ok();
}

Result<std::string> read_file(std::string const& path, std::uint64_t limit_bytes) {
  UniqueFd const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return from_errno(errno, "open " + path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return from_errno(errno, "stat " + path);
  auto const size = static_cast<std::uint64_t>(status.st_size);
  if (!S_ISREG(status.st_mode)) return Error{Errc::corrupt, path + ": not a regular file", ""};
  if (size > limit_bytes)
    return Error{Errc::corrupt,
                 path + ": " + std::to_string(size) + " bytes, " + std::to_string(limit_bytes) +
                     " at most expected",
                 "use an earlier checkpoint"};
  std::string bytes(size, '\0');
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    auto const got = ::read(file.get(), bytes.data() + filled, bytes.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return from_errno(errno, "read " + path);
    if (got == 0) break;  // became shorter; the caller's sizes and checksums tell
    filled += static_cast<std::size_t>(got);
  }
  bytes.resize(filled);
  return bytes;
}

}  // namespace muster::worker
