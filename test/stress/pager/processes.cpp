// Other processes: they read and write the memory of this one, or are forked and go on with a copy of it.
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "operations.h"

namespace tasuki::stress {
namespace {

bool copied(ssize_t got, size_t bytes) {
  return got == static_cast<ssize_t>(bytes);
}

void wait_for(pid_t pid, const char* what) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) wrong("waitpid: %s", strerror(errno));
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  wrong("%s ended with %s %d", what, WIFEXITED(status) ? "code" : "signal",
        WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

// A child that has the memory as it was, and does to it what its parent could.
void live(World& w, Thread& t) {
  close_ends(t.ends);
  t.ends = open_ends(w.tcp);
  std::array<const Operation*, kMostOperations> allowed;
  size_t count = 0;
  for (const Operation& o : operations())
    if (o.in_children && (o.possible == nullptr || o.possible(w))) allowed[count++] = &o;
  for (uint64_t i = t.random() % 24; i > 0; i--) {
    const Operation& o = *allowed[t.random() % count];
    t.what = o.name;
    o.run(w, t, any_block(t));
    if (t.random() % 4 == 0) usleep(200);
  }
  t.what = "the last check of a forked child";
  const uint64_t first = t.random() % 2 * t.blocks.size();  // all, or those from here on
  for (uint64_t i = first > 0 ? t.random() % first : 0; i < t.blocks.size(); i++)
    check(t, t.blocks[i], 0, t.blocks[i].bytes);
}

// A child that has none of it must not read zeros.
void look(Thread& t) {
  for (int i = 0; i < 8; i++) {
    const Block& b = any_block(t);
    const std::byte* p = b.at + t.random() % b.bytes;
    if (!refused([p] { (void)*const_cast<const volatile std::byte*>(p); }))
      wrong("thread %d: a forked child reads memory that it has not", t.id);
  }
}

}  // namespace

// By the kernel's way into other processes, which may be this one.
void by_own_process(World& w, Thread& t, Block& b) {
  Range r = any_range(t, b, 64 * kPage);
  const bool writes = t.random() % 2 == 0;
  const Held held(w, b, &r, writes);
  if (r.bytes == 0) return;
  const iovec plain = {t.local, r.bytes}, cluster = {b.at + r.from, r.bytes};
  if (writes) {
    fill(t, b.copy + r.from, r.bytes);
    memcpy(t.local, b.copy + r.from, r.bytes);
    expect("process_vm_writev", process_vm_writev(getpid(), &plain, 1, &cluster, 1, 0), r.bytes);
    check(t, b, r.from, r.bytes);
  } else {
    expect("process_vm_readv", process_vm_readv(getpid(), &plain, 1, &cluster, 1, 0), r.bytes);
    check_local(t, b.copy + r.from, r.bytes);
  }
}

// It writes to one block and reads another one.
void by_another_process(World& w, Thread& t, Block& b) {
  Range in = any_range(t, b, Thread::kLocal);
  const Block& other = any_block(t);
  Range out = any_range(t, other, 64 * kPage);
  if (&other == &b) out.bytes = 0;
  const Held writes(w, b, &in, true), reads(w, other, &out, false);
  if (in.bytes == 0) return;
  fill(t, b.copy + in.from, in.bytes);
  const NoHandlers none;
  const pid_t parent = getpid(), pid = fork();
  if (pid < 0) return;
  if (pid == 0) {
    const iovec own = {b.copy + in.from, in.bytes}, written = {b.at + in.from, in.bytes};
    if (!copied(process_vm_writev(parent, &own, 1, &written, 1, 0), in.bytes)) _exit(1);
    const iovec local = {t.local, out.bytes}, read = {other.at + out.from, out.bytes};
    if (out.bytes > 0 && !copied(process_vm_readv(parent, &local, 1, &read, 1, 0), out.bytes)) _exit(2);
    _exit(memcmp(t.local, other.copy + out.from, out.bytes) == 0 ? 0 : 3);
  }
  wait_for(pid, "another process, which writes here (1) and reads (2: fails, 3: wrong bytes)");
  check(t, b, in.from, in.bytes);
}

void wait_for_child(Thread& t) {
  if (t.child > 0) wait_for(t.child, "a forked child");
  t.child = 0;
}

// The last one may live until the next one comes.
void fork_child(World& w, Thread& t, Block&) {
  wait_for_child(t);
  if (t.depth == 2) return;
  const uint64_t seed = t.random();
  const NoHandlers none;
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // with the thread that forked
    t.depth++;
    t.random.seed(seed);
    if (w.children_read)
      live(w, t);
    else
      look(t);
    wait_for_child(t);
    _exit(0);
  }
  if (pid < 0) return;
  t.child = pid;
  if (t.random() % 3 == 0) wait_for_child(t);
}

}  // namespace tasuki::stress
