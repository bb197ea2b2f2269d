#include "counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
  kMost = 4,
  kReadMiss = (PERF_COUNT_HW_CACHE_OP_READ << 8) | (PERF_COUNT_HW_CACHE_RESULT_MISS << 16),
};

struct event {
  const char* name;
  uint32_t type;
  uint64_t config;
};

static const struct event kEvents[] = {
    {"l1d-misses", PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_L1D | kReadMiss},
    {"llc-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"dtlb-misses", PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_DTLB | kReadMiss},
    {"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES}};

// The value, and for how long it was wanted and counted: counters may have to take turns.
struct reading {
  uint64_t value, enabled, running;
};

static struct {
  const char* name;
  int fd;
  struct reading begin, end;
} g_counters[kMost];
static int g_open;
static char g_why[300];

static const struct event* find_event(const char* name, size_t length) {
  for (size_t i = 0; i < sizeof kEvents / sizeof *kEvents; i++)
    if (strlen(kEvents[i].name) == length && memcmp(kEvents[i].name, name, length) == 0) return &kEvents[i];
  return NULL;
}

static int open_event(const struct event* e) {
  struct perf_event_attr attr = {.size = sizeof attr, .type = e->type, .config = e->config, .disabled = 1};
  attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  // What the kernel does in between is not the message's; and to see it may need a right.
  attr.exclude_kernel = attr.exclude_hv = e->type != PERF_TYPE_SOFTWARE;
  return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static const char* why_not(const char* name, int error) {
  if (error == ENOENT || error == EOPNOTSUPP || error == ENODEV || error == EINVAL)
    snprintf(
        g_why, sizeof g_why,
        "this machine does not count %s (perf_event_open: %s): its processor, or the virtual machine, has no "
        "such counter",
        name, strerror(error));
  else if (error == EACCES || error == EPERM)
    snprintf(
        g_why, sizeof g_why,
        "counting %s is not permitted (perf_event_open: %s): lower /proc/sys/kernel/perf_event_paranoid, or "
        "ask for it in the container's profile",
        name, strerror(error));
  else
    snprintf(g_why, sizeof g_why, "cannot count %s (perf_event_open: %s)", name, strerror(error));
  return g_why;
}

const char* counters_open(const char* names) {
  for (const char* at = names; *at != 0;) {
    const size_t length = strcspn(at, " ");
    const struct event* e = find_event(at, length);
    if (e == NULL || g_open == kMost) {
      snprintf(g_why, sizeof g_why, "%s: %.*s", e == NULL ? "no such event" : "too many events", (int)length,
               at);
      return g_why;
    }
    const int fd = open_event(e);
    if (fd < 0) return why_not(e->name, errno);
    g_counters[g_open].name = e->name;
    g_counters[g_open++].fd = fd;
    at += length + (at[length] == ' ');
  }
  return NULL;
}

static struct reading read_counter(int fd) {
  struct reading r = {0, 0, 0};
  if (read(fd, &r, sizeof r) != (ssize_t)sizeof r) r = (struct reading){0, 0, 0};
  return r;
}

void counters_begin(void) {
  for (int i = 0; i < g_open; i++) {
    g_counters[i].begin = read_counter(g_counters[i].fd);
    ioctl(g_counters[i].fd, PERF_EVENT_IOC_ENABLE, 0);
  }
}

void counters_end(void) {
  for (int i = 0; i < g_open; i++) {
    ioctl(g_counters[i].fd, PERF_EVENT_IOC_DISABLE, 0);
    g_counters[i].end = read_counter(g_counters[i].fd);
  }
}

void counter_fields(double n, char* text, size_t bytes) {
  text[0] = 0;
  size_t used = 0;
  for (int i = 0; i < g_open && used < bytes; i++) {
    const struct reading a = g_counters[i].begin, b = g_counters[i].end;
    if (b.running <= a.running) continue;  // it never got its turn
    const double all = (double)(b.enabled - a.enabled) / (double)(b.running - a.running);
    used += (size_t)snprintf(text + used, bytes - used, "\t%s=%.9g", g_counters[i].name,
                             (double)(b.value - a.value) * all / n);
  }
}
