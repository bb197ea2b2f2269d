// `tasuki lend`: memory of this host for programs on any other.
#include <cstdio>
#include <memory>

#include "base/bytes.h"
#include "cluster/lend/lender_process.h"
#include "os/files/streams.h"
#include "os/memory/host_memory.h"
#include "os/process/self.h"
#include "tools/command.h"

namespace tasuki::tool {
namespace {

namespace lend = cluster::lend;

struct LendCommand {
  std::string listen, memory = "auto", quota = "all";
};

lend::LenderProcess* g_lender = nullptr;

Status read_options(const LendCommand& c, lend::LenderOptions* options) {
  options->listen.port = lend::kPort;
  if (!c.listen.empty()) {
    const Result<os::HostPort> at = os::parse_host_port(c.listen, lend::kPort);
    if (!at.ok()) return Status::error(EINVAL, "--listen " + at.status().message());
    options->listen = at.value();
    if (options->listen.host == "*") options->listen.host.clear();  // as ":7411": all addresses of this host
  }
  options->bytes = os::host_memory().available / 2;
  if (c.memory != "auto" &&
      (!parse_bytes(c.memory, ByteUnits::binary, &options->bytes) || options->bytes == 0))
    return Status::error(EINVAL,
                         "--memory " + c.memory + ": neither auto nor a size such as 500MiB or 20GiB");
  if (c.quota != "all" && (!parse_bytes(c.quota, ByteUnits::binary, &options->quota) || options->quota == 0))
    return Status::error(EINVAL, "--quota " + c.quota + ": neither all nor a size such as 500MiB or 20GiB");
  return {};
}

int fail(const Status& status) {
  fprintf(stderr, "tasuki lend: %s\n", status.message().c_str());
  return status.err() == EINVAL ? 2 : 1;
}

int run(const LendCommand& c) {
  lend::LenderOptions options;
  if (const Status read = read_options(c, &options); !read.ok()) return fail(read);
  const Result<std::string> file = lend::key_file();
  if (!file.ok()) return fail(file.status());
  Result<lend::Key> key = lend::read_key(file.value());
  if (!key.ok() && key.status().err() == ENOENT) key = lend::make_key(file.value());
  if (!key.ok()) return fail(key.status());
  options.key = key.value();
  // Nobody waits for whoever reads this: a line that does not fit is lost.
  options.say = [](const std::string& line) {
    static_cast<void>(os::write_if_room(STDOUT_FILENO, "tasuki lend: " + line + "\n"));
  };
  os::ignore_broken_pipes();
  os::LimitValues files = os::limit_of_self(os::Limit::descriptors);
  files.soft = files.hard;
  os::set_limit(os::Limit::descriptors, files);
  Result<std::unique_ptr<lend::LenderProcess>> lender = lend::LenderProcess::open(options);
  if (!lender.ok()) return fail(lender.status());
  const os::HostPort here = {options.listen.host.empty() ? os::host_name() : options.listen.host,
                             lender.value()->port()};
  printf("tasuki lend: lends %s at %s to who has the key in %s:\n    tasuki mem --lenders %s ./program\n",
         bytes_text(options.bytes, BytesStyle::rounded).c_str(), here.text().c_str(), file.value().c_str(),
         here.port == lend::kPort ? here.host.c_str() : here.text().c_str());
  fflush(stdout);
  g_lender = lender.value().get();
  os::call_when_interrupted([] { g_lender->leave(); });
  os::catch_interrupts(os::Ignored::stays);
  const Status served = lender.value()->serve();
  return served.ok() ? 0 : fail(served);
}

}  // namespace

void add_lend(CLI::App& app, int* exit_code) {
  CLI::App* cmd = app.add_subcommand(
      "lend", "Lend this host's memory to programs under `tasuki mem --lenders` here and on other hosts.");
  auto c = std::make_shared<LendCommand>();
  cmd->add_option("--memory", c->memory,
                  "Bytes to lend, to all programs together; auto: half of what is free")
      ->capture_default_str();
  cmd->add_option("--quota", c->quota, "Bytes that one program (one rank of an MPI program) gets at most")
      ->capture_default_str();
  cmd->add_option("--listen", c->listen,
                  "HOST:PORT or :PORT to listen on; port 0: any that is free [all addresses, port 7411]");
  cmd->footer(
      "The lender runs until it is asked to end (Ctrl-C, kill), and then until the programs that borrow have "
      "ended or have moved their pages to other lenders; asked twice, it ends at once. Programs need the key "
      "that it keeps for its user (TASUKI_LEND_KEY, else ~/.config/tasuki/lend.key). The network is trusted: "
      "pages and the key travel as they are.");
  cmd->callback([c, exit_code] { *exit_code = run(*c); });
}

}  // namespace tasuki::tool
