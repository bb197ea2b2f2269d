#include "os/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "os/descriptor.h"

namespace tasuki::os {

std::vector<char*> pointers_to(const std::vector<std::string>& list) {
  std::vector<char*> pointers;
  for (const std::string& s : list) pointers.push_back(const_cast<char*>(s.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

namespace {

Finished run(const char* path, const std::vector<std::string>& argv,
             const std::vector<std::string>& environment, bool with_errors) {
  Finished result;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return result;
  Fd out(ends[0]), in(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, in.get(), 1);
  if (with_errors)
    posix_spawn_file_actions_adddup2(&actions, in.get(), 2);
  else
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  pid_t pid = 0;
  const std::vector<char*> args = pointers_to(argv), env = pointers_to(environment);
  const int rc = posix_spawnp(&pid, path, &actions, &attributes, args.data(), env.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  in.reset();
  if (rc != 0) return result;
  char buffer[4096];
  for (;;) {
    const ssize_t n = read(out.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    result.output.append(buffer, static_cast<size_t>(n));
  }
  while (waitpid(pid, &result.status, 0) < 0)
    if (errno != EINTR) break;
  return result;
}

}  // namespace

std::string output_of(const std::string& path, const std::vector<std::string>& argv,
                      const std::vector<std::string>& environment) {
  const Finished f = run(path.c_str(), argv, environment, false);
  return f.status == 0 ? f.output : std::string();
}

Finished run_to_end(const std::vector<std::string>& argv, const std::vector<std::string>& environment) {
  return run(argv[0].c_str(), argv, environment, true);
}

}  // namespace tasuki::os
