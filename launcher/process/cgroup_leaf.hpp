// SPDX-License-Identifier: Apache-2.0
#pragma once
// A cgroup v2 leaf for this node's workers: whoever they start is in it, whatever sessions and
// parents they choose, and cgroup.kill ends all of them in one call. Below muster's own cgroup, and
// only where one can be made there: no foreign process is moved, no controller is switched on.

#include "rendezvous/base/unique_fd.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace muster::launch {

class CgroupLeaf {
 public:
  // "muster-<our pid>.<number>". Nothing where there is no cgroup v2, or our own cannot be written:
  // it is one more net, no condition. Also removes empty leaves whose process is gone.
  static std::optional<CgroupLeaf> make(int number);

  CgroupLeaf(CgroupLeaf&&) noexcept = default;
  CgroupLeaf& operator=(CgroupLeaf&&) noexcept = default;
  ~CgroupLeaf();  // removes it; stays if somebody is still in it

  std::string const& path() const { return path_; }
  int folder() const { return folder_.get(); }  // for Command::cgroup

  // Whether a process can be born in it: since 6.13 the kernel compares how often this cgroup and
  // its parent's were killed (cgroup.kill), and where muster's own was, kills whoever is born below
  // it. Tried with a child that ends at once. Main thread only.
  bool lets_live() const;

  // SIGKILL for everybody in it. It is spent then: since 6.13 the kernel takes a process that is
  // born in a cgroup which was killed once for a straggler, and kills it, too.
  void kill();
  bool is_spent() const { return spent_; }

 private:
  CgroupLeaf(std::string path, UniqueFd folder)
      : path_(std::move(path)), folder_(std::move(folder)) {}

  std::string path_;
  UniqueFd folder_;
  bool spent_ = false;
};

// The path after "0::" in /proc/self/cgroup, if it lies in our sight; pure.
std::optional<std::string> own_cgroup(std::string_view proc_self_cgroup);

}  // namespace muster::launch
