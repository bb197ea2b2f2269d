// MPICH's launcher Hydra answers requests of the protocol PMI-1 on a descriptor that every rank inherits:
// lines of words "name=value". A client begins with cmd=init; Hydra takes a second beginning, that of the MPI
// library in MPI_Init, for a new one, and keeps what was put before. A look-up takes 40 us where the text is
// known to the host's proxy. Measured with MPICH 4.0.2.
//
// Once a rank has spoken, Hydra takes the end of its connection for a crash and kills the job with code 9,
// where it passes the exit code of a rank on that never spoke. So a rank that ends inside MPI_Init, which may
// be before the library has spoken, says with which code: abort is what the library itself would say.
//
// Other process managers that speak PMI-1 (Slurm's plugin pmi2 does) refuse the second beginning. So only
// Hydra is asked, which tells every rank its place on the host in MPI_LOCALRANKID; Slurm's plugin sets
// PMI_JOBID instead.
#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "shim/hosts/keys.h"

namespace tasuki::shim {
namespace {

// The number in an environment variable, or -1.
int number_in(const char* variable) {
  const char* text = getenv(variable);
  if (text == nullptr || *text == 0) return -1;
  char* end = nullptr;
  const long value = strtol(text, &end, 10);
  return *end == 0 && value >= 0 && value < 1 << 30 ? static_cast<int>(value) : -1;
}

bool usable() {
  const int version = number_in("MPIR_CVAR_PMI_VERSION");
  return getenv("MPI_LOCALRANKID") != nullptr && getenv("PMI_JOBID") == nullptr &&
         getenv("PMI_SPAWNED") == nullptr && getenv("PMI_PORT") == nullptr && number_in("PMI_RANK") >= 0 &&
         (getenv("MPIR_CVAR_PMI_VERSION") == nullptr || version == 1);
}

// The value of a word "name=value" in an answer.
bool value_of(const std::string& answer, const std::string& name, std::string* value) {
  for (size_t at = 0; at < answer.size();) {
    const size_t end = std::min(answer.find_first_of(" \n", at), answer.size());
    if (answer.compare(at, name.size() + 1, name + "=") == 0) {
      *value = answer.substr(at + name.size() + 1, end - at - name.size() - 1);
      return true;
    }
    at = end + 1;
  }
  return false;
}

// The connection of a rank that is inside MPI_Init, else -1.
std::atomic<int> connection_in_init{-1};

void say_how_it_ends(int code, void*) {
  const int fd = connection_in_init.exchange(-1);
  if (fd < 0) return;
  const std::string line = "cmd=abort exitcode=" + std::to_string(code) + "\n";
  if (write(fd, line.data(), line.size()) < 0) return;  // the launcher is gone
}

std::string key_of_rank(int rank) {
  return "tasuki-" + std::to_string(rank);
}

}  // namespace

struct Keys::Channel {
  int fd;
  std::string space;  // the job's name for what it keeps

  // Sends a line and hears the answer to it. False: the connection is lost, or the answer is another one.
  bool ask(const std::string& line, const std::string& expected, std::string* answer) const {
    for (size_t sent = 0; sent < line.size();) {
      const ssize_t n = write(fd, line.data() + sent, line.size() - sent);
      if (n < 0 && errno != EINTR) return false;
      if (n > 0) sent += static_cast<size_t>(n);
    }
    answer->clear();
    // By single characters: what follows is not ours. Answers are short, and few.
    for (char c = 0; c != '\n';) {
      const ssize_t n = read(fd, &c, 1);
      if (n == 0 || (n < 0 && errno != EINTR)) return false;
      if (n > 0) *answer += c;
    }
    std::string kind;
    return value_of(*answer, "cmd", &kind) && kind == expected;
  }
};

Keys::Keys() = default;
Keys::~Keys() {
  close();
}

bool Keys::leave(const std::string& text) {
  const int fd = number_in("PMI_FD");
  if (fd < 0 || !usable()) return false;
  connection_in_init = fd;
  on_exit(say_how_it_ends, nullptr);
  Channel channel{fd, {}};
  std::string answer, code;
  if (!channel.ask("cmd=init pmi_version=1 pmi_subversion=1\n", "response_to_init", &answer) ||
      !value_of(answer, "rc", &code) || code != "0" ||
      !channel.ask("cmd=get_my_kvsname\n", "my_kvsname", &answer) ||
      !value_of(answer, "kvsname", &channel.space) ||
      !channel.ask("cmd=put kvsname=" + channel.space + " key=" + key_of_rank(number_in("PMI_RANK")) +
                       " value=" + text + "\n",
                   "put_result", &answer) ||
      !value_of(answer, "rc", &code) || code != "0")
    return false;
  channel_ = new Channel(channel);
  return true;
}

// MPICH meets all ranks in MPI_Init before it reads what they have put.
bool Keys::exchanged() const {
  return channel_ != nullptr;
}

bool Keys::find(int world_rank, std::string* text) {
  std::string answer, code;
  return channel_ != nullptr &&
         channel_->ask("cmd=get kvsname=" + channel_->space + " key=" + key_of_rank(world_rank) + "\n",
                       "get_result", &answer) &&
         value_of(answer, "rc", &code) && code == "0" && value_of(answer, "value", text);
}

void Keys::close() {
  connection_in_init = -1;
  delete channel_;
  channel_ = nullptr;
}

}  // namespace tasuki::shim
