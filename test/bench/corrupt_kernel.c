// Stands in for a kernel that refuses process_vm_readv, and for a program that cannot be run (preloaded by
// space_test.py).
#include <errno.h>
#include <spawn.h>
#include <sys/uio.h>
#include <unistd.h>

ssize_t process_vm_readv(pid_t pid, const struct iovec* to, unsigned long to_count, const struct iovec* from,
                         unsigned long from_count, unsigned long flags) {
  (void)pid, (void)to, (void)to_count, (void)from, (void)from_count, (void)flags;
  errno = EPERM;
  return -1;
}

int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, char* const argv[], char* const env[]) {
  (void)path, (void)actions, (void)attributes, (void)argv, (void)env;
  *pid = fork();
  if (*pid == 0) _exit(3);
  return 0;
}
