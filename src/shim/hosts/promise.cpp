// One rank of each space, its smallest, publishes which ranks the space has and whether they can take part.
// Rank 0 looks for the smallest rank that it has not heard of, which is the smallest of its space, until it
// knows all; then it publishes the answer for which the others look. So rank 0 asks as often as there are
// hosts, and each of the others until there is an answer. Inside a space the answer stands in the board.
#include "shim/hosts/promise.h"

#include <mpi.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/settings.h"
#include "generated/pmpi.h"
#include "os/clock.h"
#include "shim/errors.h"
#include "shim/hosts/agreements.h"
#include "shim/hosts/look_until.h"
#include "shim/objects/handle_map.h"

namespace tasuki::shim {
namespace {

// How long a rank waits for the others, in units of TASUKI_JOIN_TIMEOUT: they come from other hosts and from
// the library's own start.
constexpr int64_t kTimeouts = 12;
// Rank 0 knows who is missing: its line comes first.
constexpr int64_t kAfterRank0 = 2'000;
// What a name may stand for, at least: MPICH has room for 255 characters.
constexpr size_t kMostText = 200;
constexpr const char* kLine =
    "tasuki: rank %d: TASUKI_EVERYWHERE is on, but %s did not confirm it within %ld s. It has to be set for "
    "all ranks, and all "
    "have to run under tasuki run.\n";

// Names of this job in the launcher's service. Its errors are answers here.
class Names {
 public:
  Names() {
    for (const char* variable :
         {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "I_MPI_HYDRA_UUID", "PMI_JOBID", "PALS_APID"}) {
      const char* value = getenv(variable);
      if (value == nullptr) continue;
      for (; *value != 0; value++) prefix_ += isalnum(static_cast<unsigned char>(*value)) != 0 ? *value : '-';
      break;
    }
    prefix_ += '.';
    for (Handler& h : handlers_) {
      pmpi().Comm_get_errhandler(h.comm, &h.saved);
      pmpi().Comm_set_errhandler(h.comm, MPI_ERRORS_RETURN);
    }
  }
  ~Names() {
    for (Handler& h : handlers_) {
      pmpi().Comm_set_errhandler(h.comm, h.saved);
      pmpi().Errhandler_free(&h.saved);
    }
  }
  Names(const Names&) = delete;
  Names& operator=(const Names&) = delete;

  bool publish(const std::string& name, const std::string& text) const {
    return pmpi().Publish_name((prefix_ + name).c_str(), MPI_INFO_NULL, text.c_str()) == MPI_SUCCESS;
  }
  bool look_up(const std::string& name, std::string* text) const {
    char value[MPI_MAX_PORT_NAME + 1] = {};
    if (pmpi().Lookup_name((prefix_ + name).c_str(), MPI_INFO_NULL, value) != MPI_SUCCESS) return false;
    *text = value;
    return true;
  }

 private:
  struct Handler {
    MPI_Comm comm;
    MPI_Errhandler saved;
  };
  Handler handlers_[2] = {{MPI_COMM_WORLD, MPI_ERRHANDLER_NULL}, {MPI_COMM_SELF, MPI_ERRHANDLER_NULL}};
  std::string prefix_ = "tasuki.everywhere.";
};

// A space's ranks as texts of at most kMostText characters: "y" or "n" for all of them, ranges, and "+" where
// another text follows.
std::vector<std::string> describe(const std::vector<char>& here, bool in) {
  std::vector<std::string> texts{in ? "y" : "n"};
  const int n = static_cast<int>(here.size());
  for (int first = 0, next; first < n; first = next) {
    next = first + 1;
    if (here[static_cast<size_t>(first)] == 0) continue;
    while (next < n && here[static_cast<size_t>(next)] != 0) next++;
    if (texts.back().size() > kMostText - 32) {
      texts.back() += '+';
      texts.emplace_back(in ? "y" : "n");
    }
    texts.back() += std::to_string(first) + "-" + std::to_string(next - 1) + ",";
  }
  return texts;
}

// Enters a text's ranks. *more: another one follows. Returns its vote.
bool enter(const std::string& text, std::vector<char>* known, bool* more) {
  const char* at = text.c_str();
  const bool in = *at != 0 && *at++ == 'y';
  int first, last, length;
  while (sscanf(at, "%d-%d,%n", &first, &last, &length) == 2) {
    for (int i = std::max(first, 0); i <= last && i < static_cast<int>(known->size()); i++)
      (*known)[static_cast<size_t>(i)] = 1;
    at += length;
  }
  *more = *at == '+';
  return in;
}

std::string name_of(int rank, size_t part) {
  return std::to_string(rank) + "." + std::to_string(part);
}

[[noreturn]] void give_up(const char* who, int64_t limit_ms) {
  int rank = 0;
  pmpi().Comm_rank(MPI_COMM_WORLD, &rank);
  fprintf(stderr, kLine, rank, who, static_cast<long>(limit_ms / 1000));
  end_job();
}

// Rank 0: hears all spaces.
bool hear_all(const Names& names, std::vector<char> known, bool in, int64_t limit_ms) {
  const int64_t end = os::monotonic_ms() + limit_ms;
  for (;;) {
    const auto missing = std::find(known.begin(), known.end(), 0);
    if (missing == known.end() || !in) return in;
    const int rank = static_cast<int>(missing - known.begin());
    bool more = true;
    for (size_t part = 0; more; part++) {
      std::string text;
      if (!look_until(end - os::monotonic_ms(), [&] { return names.look_up(name_of(rank, part), &text); }))
        give_up(("rank " + std::to_string(rank)).c_str(), limit_ms);
      in = enter(text, &known, &more) && in;
    }
    // Whatever stood there, the search goes on behind it.
    known[static_cast<size_t>(rank)] = 1;
  }
}

// Between the spaces: called by one rank of each, the smallest.
bool ask_all_spaces(int rank, const std::vector<char>& here, bool in, int64_t limit_ms) {
  const Names names;
  const std::vector<std::string> texts = describe(here, in);
  for (size_t part = texts.size(); part-- > 0;) {  // whoever sees the first one finds all
    if (names.publish(name_of(rank, part), texts[part])) continue;
    log(LogLevel::warning,
        "rank %d: TASUKI_EVERYWHERE has no effect: the launcher keeps no names (MPI_Publish_name), by which "
        "ranks could tell each "
        "other that it is on",
        rank);
    return false;
  }
  if (rank == 0) {
    in = hear_all(names, here, in, limit_ms);
    names.publish("all", in ? "y" : "n");
    return in;
  }
  std::string answer;
  if (!look_until(limit_ms + kAfterRank0, [&] { return names.look_up("all", &answer); }))
    give_up("some rank", limit_ms);
  return answer == "y";
}

}  // namespace

bool everyone_confirms(bool mine, Board* board, const int* slot_of_world_rank) {
  int rank = 0, size = 0;
  pmpi().Comm_rank(MPI_COMM_WORLD, &rank);
  pmpi().Comm_size(MPI_COMM_WORLD, &size);
  std::vector<char> here(static_cast<size_t>(size), 0);
  here[static_cast<size_t>(rank)] = 1;
  const int64_t limit_ms = 1000 * kTimeouts * static_cast<int64_t>(setting_count("TASUKI_JOIN_TIMEOUT"));
  if (board == nullptr) return ask_all_spaces(rank, here, false, limit_ms);

  for (int i = 0; i < size; i++) here[static_cast<size_t>(i)] = slot_of_world_rank[i] >= 0 ? 1 : 0;
  const auto members = std::count(here.begin(), here.end(), 1);
  const int leader = static_cast<int>(std::find(here.begin(), here.end(), 1) - here.begin());
  if (!mine) agreements(board).promise.store(Decision::off, std::memory_order_release);
  agreements(board).promised.fetch_add(1, std::memory_order_acq_rel);
  if (rank == leader) {
    if (!look_until(limit_ms,
                    [&] { return agreements(board).promised.load(std::memory_order_acquire) == members; }))
      give_up("some rank of this host", limit_ms);
    const bool in = agreements(board).promise.load(std::memory_order_acquire) == Decision::open;
    agreements(board).promise.store(
        ask_all_spaces(rank, here, in, limit_ms) ? Decision::accelerated : Decision::off,
        std::memory_order_release);
    agreements(board).promise_settled.store(1, std::memory_order_release);
  } else if (!look_until(2 * limit_ms + kAfterRank0, [&] {
               return agreements(board).promise_settled.load(std::memory_order_acquire) != 0;
             })) {
    give_up("some rank", limit_ms);
  }
  return agreements(board).promise.load(std::memory_order_acquire) == Decision::accelerated;
}

}  // namespace tasuki::shim
