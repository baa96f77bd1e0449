// SPDX-License-Identifier: Apache-2.0
#pragma once
// One request of each kind, and how two are compared: for the tests of the codec.

#include "rendezvous/wire/encoder.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace muster::wire {

inline std::string bytes_of(Request const& request) {
  std::string out;
  encode(request, out);
  return out;
}

// Each of the 19, some twice; views into static storage.
inline std::vector<Request> const& request_samples() {
  static std::string storage_two, storage_pairs;
  static EncodedList const none{0, {}};
  static std::vector<std::string> const two_keys{"/a", std::string("/b\0c", 4)};
  static std::vector<std::string> const two_pairs{"/a", "1", "/b", ""};
  static EncodedList const two = encode_list(two_keys, storage_two);
  static EncodedList const pairs = encode_list(two_pairs, storage_pairs);
  static std::vector<Request> const all{Validate{},
                                        Set{"/k", "v"},
                                        Set{"", ""},
                                        CompareSet{"/cs", "", "a"},
                                        CompareSet{"/cs", "old", ""},
                                        Get{"/k"},
                                        Add{"/n", -2},
                                        Check{two},
                                        Check{none},
                                        Wait{two},
                                        GetNumKeys{},
                                        DeleteKey{"/k"},
                                        Append{"/k", "more"},
                                        MultiGet{two},
                                        MultiSet{pairs},
                                        MultiSet{none},
                                        CancelWait{},
                                        Ping{0x77a2},
                                        QueuePush{"/q", "x"},
                                        QueuePop{"/q"},
                                        QueueLen{"/q"},
                                        ListKeys{},
                                        Barrier{"/b", 8}};
  return all;
}

}  // namespace muster::wire
