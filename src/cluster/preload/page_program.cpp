#include "cluster/preload/page_program.h"

#include <signal.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "cluster/preload/preload.h"
#include "generated/next.h"
#include "os/memory/memory_file.h"
#include "os/process/command.h"

namespace tasuki::cluster::preload {
namespace {

// The program's handler would run when its exit handlers have run and its cluster memory is gone, for a child
// that is not the program's; and what ignores SIGCHLD cannot learn how a child ended.
class NoHandlerOfChildren {
 public:
  NoHandlerOfChildren() { next_sigaction()(SIGCHLD, &default_, &before_); }
  ~NoHandlerOfChildren() {
    // Discards what is pending: for a thread that blocks it, a signal waits though nobody would handle it.
    next_sigaction()(SIGCHLD, &default_, nullptr);
    next_sigaction()(SIGCHLD, &before_, nullptr);
  }
  NoHandlerOfChildren(const NoHandlerOfChildren&) = delete;
  NoHandlerOfChildren& operator=(const NoHandlerOfChildren&) = delete;

 private:
  struct sigaction default_ = {}, before_ = {};
};

// lib/tasuki/<MPI>/libtasuki-mem.so and libexec/tasuki/memory-page have one prefix.
std::string page_program() {
  const std::string library = library_path();
  return library.substr(0, library.rfind('/') + 1) + "../../../libexec/tasuki/memory-page";
}

Status write_page(const std::string& json, const std::string& file) {
  const std::string why = "--stats " + file + ": ";
  const Result<os::Fd> input = os::memory_file(json.size());
  if (!input.ok()) return Status::error(input.status().err(), why + input.status().message());
  if (const int error = os::write_at(input.value().get(), json.data(), json.size(), 0); error != 0)
    return Status::error(error, why + strerror(error));
  const NoHandlerOfChildren as_if_there_were_none;
  // Without the program's environment: it may have changed anything in it, and preload libraries of its own.
  Result<os::Child> page = os::start({.argv = {page_program(), file},
                                      .environment = std::vector<std::string>(),
                                      .input = input.value().get(),
                                      .default_signals = true});
  if (!page.ok()) return Status::error(page.status().err(), why + page.status().message());
  const os::ExitStatus ended = page.value().wait();
  return ended.ok() ? Status() : Status::error(EIO, why + page_program() + ": " + ended.text());
}

}  // namespace

Status write_report(const Report& report, const std::string& file) {
  if (!is_page(file)) return write_plain_report(report, file);
  const Status written = write_page(report_json(report), file);
  if (!written.ok()) static_cast<void>(write_plain_report(report, {}));  // what was counted is not lost
  return written;
}

}  // namespace tasuki::cluster::preload
