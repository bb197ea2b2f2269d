// memory-<kind> KERNEL [options] [-- settings of the pager]: see memory.h. Writes one line of JSON:
//
//   kernel, size, kind, threads, warm, repetitions
//   bytes          that the kernel allocated
//   parts          [{name, seconds: one of each timed repetition, bytes, operations, counters}]
//   counters       {before, after} the timed repetitions (cluster memory): the fields of struct dlm_counters
//   faults         {minor, major} of the timed repetitions, as the system counts them
//   resident       {anonymous, file, shared} bytes of this process after the timed repetitions
//   checksum, verified, failure
//   setup_seconds, check_seconds, job_seconds: of all from the first allocation to the check
//
// TASUKI_BENCH_CORRUPT=KIND or KIND:low (for tests): a program of that kind changes a byte of its results
// before it checks them: the highest of a word, which every kernel must notice, or the lowest.
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "measure/memory/memory.h"

enum { kMostCounters = 32, kMostRepetitions = 500 };

static const struct memory_kernel* const kKernels[] = {&kStream, &kHimeno, &kHimenoDouble, &kMatvec,    &kIs,
                                                       &kCg,     &kMg,     &kFt,           &kBt,        &kSp,
                                                       &kLu,     &kEp,     &kRandomUpdate, &kRandomRead};
enum { kKernelCount = sizeof kKernels / sizeof *kKernels };

static const char* g_folder;
static size_t g_bytes;

void* memory_get(size_t bytes) {
  void* p = memory_kind_get(g_folder, bytes);
  if (p == NULL) {
    fprintf(stderr, "memory-%s: no memory of %zu bytes after %zu bytes: %s\n", memory_kind(g_folder), bytes,
            g_bytes, strerror(errno));
    exit(memory_kind_end(3));
  }
  g_bytes += bytes;
  return p;
}

bool parse_size(const char* text, uint64_t* bytes) {
  char* end;
  errno = 0;
  const unsigned long long n = strtoull(text, &end, 10);
  if (errno != 0 || end == text || *text == '-') return false;
  int shift = 0;
  for (int i = 0; i < 4; i++)
    if (*end != '\0' && *end == "KMGT"[i]) shift = 10 * (i + 1);
  if (shift != 0) end++;
  if (strcmp(end, "iB") == 0 || strcmp(end, "B") == 0) end += strlen(end);
  if (*end != '\0' || n == 0 || n > UINT64_MAX >> shift) return false;
  *bytes = (uint64_t)n << shift;
  return true;
}

int npb_class(const char* size) {
  static const char letters[] = "SWABCD";
  const char* at = strlen(size) == 1 ? strchr(letters, *size) : NULL;
  return at == NULL ? -1 : (int)(at - letters);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

struct part {
  bool chosen;
  double seconds[kMostRepetitions], counters[kMostCounters];
};

struct options {
  const struct memory_kernel* kernel;
  const char *size, *out;
  int repetitions, warm, threads;
};

static struct part g_parts[kMostParts];

static int usage(const char* wrong, const char* value) {
  fprintf(stderr,
          "memory: %s%s\nusage: memory-<kind> KERNEL [--size SIZE] [--parts NAME,...] [--reps N] [--warm N] "
          "[--threads N] [--folder FOLDER] [--out FILE] [-- settings]\nkernels:\n",
          wrong, value);
  for (int i = 0; i < kKernelCount; i++)
    fprintf(stderr, "  %-14s %s (default %s)\n", kKernels[i]->name, kKernels[i]->sizes, kKernels[i]->size);
  return memory_kind_end(2);
}

static int part_count(const struct memory_kernel* kernel) {
  int n = 0;
  while (n < kMostParts && kernel->parts[n] != NULL) n++;
  return n == 0 ? 1 : n;
}

static bool choose_parts(const struct memory_kernel* kernel, const char* names) {
  const int n = part_count(kernel);
  for (int i = 0; i < n; i++) g_parts[i].chosen = names == NULL;
  while (names != NULL) {
    const size_t length = strcspn(names, ",");
    bool known = false;
    for (int i = 0; i < n && kernel->parts[0] != NULL; i++)
      if (strlen(kernel->parts[i]) == length && strncmp(names, kernel->parts[i], length) == 0)
        known = g_parts[i].chosen = true;
    if (!known) return false;
    names = names[length] == ',' ? names + length + 1 : NULL;
  }
  return true;
}

static bool parse_count(const char* text, int least, int most, int* value) {
  char* end;
  const long n = strtol(text, &end, 10);
  if (end == text || *end != '\0' || n < least || n > most) return false;
  *value = (int)n;
  return true;
}

// Returns 0, or the exit code.
static int parse(int argc, char** argv, struct options* o) {
  const struct option names[] = {
      {"size", required_argument, NULL, 's'},    {"parts", required_argument, NULL, 'p'},
      {"reps", required_argument, NULL, 'r'},    {"warm", required_argument, NULL, 'w'},
      {"threads", required_argument, NULL, 't'}, {"folder", required_argument, NULL, 'f'},
      {"out", required_argument, NULL, 'o'},     {NULL, 0, NULL, 0}};
  const char* parts = NULL;
  opterr = 0;
  for (int c; (c = getopt_long(argc, argv, "", names, NULL)) != -1;) {
    bool good = true;
    switch (c) {
      case 's':
        o->size = optarg;
        break;
      case 'p':
        parts = optarg;
        break;
      case 'r':
        good = parse_count(optarg, 1, kMostRepetitions, &o->repetitions);
        break;
      case 'w':
        good = parse_count(optarg, 0, kMostRepetitions, &o->warm);
        break;
      case 't':
        good = parse_count(optarg, 1, 1024, &o->threads);
        break;
      case 'f':
        g_folder = optarg;
        break;
      case 'o':
        o->out = optarg;
        break;
      default:
        return usage("an option that is not known: ", argv[optind - 1]);
    }
    if (!good) return usage("not a number that can be used: ", optarg);
  }
  if (optind + 1 != argc) return usage("one kernel is needed", "");
  for (int i = 0; i < kKernelCount; i++)
    if (strcmp(kKernels[i]->name, argv[optind]) == 0) o->kernel = kKernels[i];
  if (o->kernel == NULL) return usage("no such kernel: ", argv[optind]);
  if (!choose_parts(o->kernel, parts)) return usage("no such part: ", parts);
  if (o->size == NULL) o->size = o->kernel->size;
#ifdef _OPENMP
  omp_set_num_threads(o->threads);
#else
  if (o->threads > 1) return usage("built without OpenMP, so one thread only", "");
#endif
  return 0;
}

// Four lanes, so that it runs about as fast as the memory.
static uint64_t hash(const struct memory_result* result, uint64_t h) {
  const uint64_t* words = result->data;
  uint64_t lanes[4] = {h, h ^ 1, h ^ 2, h ^ 3};
  const size_t n = result->bytes / 8;
  for (size_t i = 0; i < n; i++) {
    uint64_t* lane = &lanes[i % 4];
    *lane = (*lane ^ words[i]) * 0x9fb21c651e98df25u;
    *lane ^= *lane >> 29;
  }
  uint64_t rest = 0;
  memcpy(&rest, words + n, result->bytes % 8);
  for (int i = 0; i < 4; i++) rest = mix(rest ^ lanes[i]);
  return rest;
}

static void corrupt(const struct memory_result* result) {
  const char* wanted = getenv("TASUKI_BENCH_CORRUPT");
  const char* kind = memory_kind(g_folder);
  const size_t length = strlen(kind);
  if (wanted == NULL || strncmp(wanted, kind, length) != 0) return;
  const bool low = strcmp(wanted + length, ":low") == 0;
  if (wanted[length] != '\0' && !low) return;
  ((unsigned char*)result->data)[result->bytes / 16 * 8 + (low ? 0 : 7)] ^= low ? 1 : 0x40;
}

static void print_counters(FILE* out, const double* values, int n, bool levels) {
  fputc('{', out);
  bool first = true;
  for (int i = 0; i < n; i++) {
    bool level;
    const char* name = memory_kind_counter(i, &level);
    if (level && !levels) continue;
    fprintf(out, "%s\"%s\":%.15g", first ? "" : ",", name, values[i]);
    first = false;
  }
  fputc('}', out);
}

// Of /proc/self/status, in bytes.
static double resident(const char* key) {
  FILE* in = fopen("/proc/self/status", "r");
  double found = 0;
  char line[256];
  while (in != NULL && fgets(line, sizeof line, in) != NULL)
    if (strncmp(line, key, strlen(key)) == 0) found = strtod(line + strlen(key) + 1, NULL) * 1024;
  if (in != NULL) fclose(in);
  return found;
}

int main(int argc, char** argv) {
  memory_kind_start(&argc, &argv);
  struct options o = {.repetitions = 3, .warm = 1, .threads = 1};
  const int wrong = parse(argc, argv, &o);
  if (wrong != 0) return wrong;
  const struct memory_kernel* kernel = o.kernel;
  FILE* out = o.out != NULL ? fopen(o.out, "w") : stdout;
  if (out == NULL) {
    fprintf(stderr, "memory: %s: %s\n", o.out, strerror(errno));
    return memory_kind_end(1);
  }

  const double began = now();
  if (!kernel->setup(o.size)) return usage("a size that this kernel does not know: ", o.size);
  const double set_up = now() - began;

  double before[kMostCounters], after[kMostCounters];
  int counters = 0;
  struct rusage use, used;
  for (int r = 0; r < o.warm + o.repetitions; r++) {
    if (r == o.warm) {
      counters = memory_kind_counters(before, kMostCounters);
      getrusage(RUSAGE_SELF, &use);
    }
    for (int p = 0; p < part_count(kernel); p++) {
      if (!g_parts[p].chosen) continue;
      double here[kMostCounters], there[kMostCounters];
      memory_kind_counters(here, kMostCounters);
      const double start = now();
      kernel->step(p, r);
      if (r < o.warm) continue;
      g_parts[p].seconds[r - o.warm] = now() - start;
      memory_kind_counters(there, kMostCounters);
      for (int i = 0; i < counters; i++) g_parts[p].counters[i] += there[i] - here[i];
    }
  }
  getrusage(RUSAGE_SELF, &used);
  memory_kind_counters(after, kMostCounters);
  const double anonymous = resident("RssAnon"), file = resident("RssFile"), shared = resident("RssShmem");

  struct memory_result results[kMostResults];
  const int n = kernel->results(results);
  corrupt(&results[0]);
  char failure[512] = "";
  const double checking = now();
  const bool verified = kernel->check(o.warm + o.repetitions, failure, sizeof failure);
  uint64_t checksum = 0;
  for (int i = 0; i < n; i++) checksum = hash(&results[i], checksum);
  const double checked = now() - checking, job = now() - began;

  fprintf(out,
          "{\"kernel\":\"%s\",\"size\":\"%s\",\"kind\":\"%s\",\"threads\":%d,\"warm\":%d,\"repetitions\":%d,",
          kernel->name, o.size, memory_kind(g_folder), o.threads, o.warm, o.repetitions);
  fprintf(out, "\"bytes\":%zu,\"parts\":[", g_bytes);
  bool first = true;
  for (int p = 0; p < part_count(kernel); p++) {
    if (!g_parts[p].chosen) continue;
    fprintf(out, "%s{\"name\":\"%s\",\"seconds\":[", first ? "" : ",",
            kernel->parts[p] != NULL ? kernel->parts[p] : "");
    for (int r = 0; r < o.repetitions; r++) fprintf(out, "%s%.9g", r == 0 ? "" : ",", g_parts[p].seconds[r]);
    fprintf(out, "],\"bytes\":%.17g,\"operations\":%.17g,\"counters\":", kernel->bytes(p),
            kernel->operations(p));
    print_counters(out, g_parts[p].counters, counters, false);
    fputc('}', out);
    first = false;
  }
  fputs("],\"counters\":{\"before\":", out);
  print_counters(out, before, counters, true);
  fputs(",\"after\":", out);
  print_counters(out, after, counters, true);
  fprintf(out, "},\"faults\":{\"minor\":%ld,\"major\":%ld},", used.ru_minflt - use.ru_minflt,
          used.ru_majflt - use.ru_majflt);
  fprintf(out, "\"resident\":{\"anonymous\":%.0f,\"file\":%.0f,\"shared\":%.0f},", anonymous, file, shared);
  fprintf(out, "\"checksum\":\"%016llx\",\"verified\":%s,\"failure\":\"%s\",", (unsigned long long)checksum,
          verified ? "true" : "false", failure);
  fprintf(out, "\"setup_seconds\":%.6g,\"check_seconds\":%.6g,\"job_seconds\":%.6g,\"compiler\":\"%s\"}\n",
          set_up, checked, job, __VERSION__);
  const bool written = fflush(out) == 0 && ferror(out) == 0;
  if (out != stdout) fclose(out);
  if (!written) fprintf(stderr, "memory: the results cannot be written: %s\n", strerror(errno));
  return memory_kind_end(!written ? 1 : verified ? 0 : 4);
}
