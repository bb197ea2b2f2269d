#include "simmpi/run/libc_calls.h"

#include <dlfcn.h>
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <unordered_map>

#include "os/process/process.h"
#include "simmpi/run/entries.h"
#include "simmpi/run/getopt.h"
#include "simmpi/run/rank.h"
#include "simmpi/run/simulation.h"

namespace tasuki::simmpi {
namespace {

using Function = void (*)();

Rank& me() {
  return *running_rank();
}

// ---- start and end
void call_array(const char* base, const elf::Range& array, bool backwards, int argc = 0,
                char** argv = nullptr, char** envp = nullptr) {
  const size_t n = array.size / sizeof(void*);
  for (size_t i = 0; i < n; i++) {
    void* f = nullptr;
    memcpy(&f, base + array.address + (backwards ? n - 1 - i : i) * sizeof f, sizeof f);
    if (f != nullptr && f != reinterpret_cast<void*>(-1))
      reinterpret_cast<void (*)(int, char**, char**)>(f)(argc, argv, envp);
  }
}

void construct(const Rank& rank, size_t image, int argc, char** argv, char** envp) {
  const elf::Linking& i = rank.simulation.program->images()[image]->linking();
  char* base = rank.loaded.bases[image];
  if (image == 0) call_array(base, i.preinit_array, false, argc, argv, envp);
  if (i.init != 0) reinterpret_cast<Function>(base + i.init)();
  call_array(base, i.init_array, false, argc, argv, envp);
}

// Handlers of atexit, of one library or of all, last first; one may register another.
void run_exit_functions(void* library) {
  Rank& rank = me();
  for (;;) {
    size_t i = rank.exit_functions.size();
    while (i != 0 && library != nullptr && rank.exit_functions[i - 1].library != library) i--;
    if (i == 0) return;
    const Rank::ExitFunction f = rank.exit_functions[i - 1];
    rank.exit_functions.erase(rank.exit_functions.begin() + static_cast<ptrdiff_t>(i) - 1);
    f.plain(f.argument);
  }
}

[[noreturn]] void sim_exit(int code) {
  run_exit_functions(nullptr);
  const Rank& rank = me();
  const auto& images = rank.simulation.program->images();
  for (size_t i = 0; i < images.size(); i++) {
    const elf::Linking& linking = images[i]->linking();
    call_array(rank.loaded.bases[i], linking.fini_array, true);
    if (linking.fini != 0) reinterpret_cast<Function>(rank.loaded.bases[i] + linking.fini)();
  }
  end_rank(code & 0xff);
}

[[noreturn]] void sim_quick_exit(int code) {
  end_rank(code & 0xff);
}
[[noreturn]] void sim_abort() {
  fail_rank(128 + SIGABRT, "called abort()");
}

[[noreturn]] void sim_assert_fail(const char* what, const char* file, unsigned line, const char* function) {
  fail_rank(128 + SIGABRT, std::string(file) + ":" + std::to_string(line) + ": " +
                               (function != nullptr ? function : "?") + ": assertion failed: " + what);
}

int sim_cxa_atexit(void (*f)(void*), void* argument, void* library) {
  me().exit_functions.push_back({f, argument, library});
  return 0;
}
int sim_atexit(void (*f)()) {
  return sim_cxa_atexit([](void* p) { reinterpret_cast<Function>(p)(); }, reinterpret_cast<void*>(f),
                        nullptr);
}
void sim_cxa_finalize(void* library) {
  run_exit_functions(library);
}

[[noreturn]] void sim_libc_start_main(int (*main)(int, char**, char**), int argc, char** argv,
                                      void (*init)(int, char**, char**), void (*)(), void (*)(), void*) {
  Rank& rank = me();
  char** envp = argv + argc + 1;
  for (size_t i = rank.loaded.bases.size(); i-- > 1;) construct(rank, i, argc, argv, envp);
  if (init != nullptr)
    init(argc, argv, envp);  // programs linked with a C library before 2.34 construct by themselves
  else
    construct(rank, 0, argc, argv, envp);
  sim_exit(main(argc, argv, envp));
}

// ---- environment
char* keep(Rank* rank, std::string_view text) {
  rank->kept_texts.emplace_back(new char[text.size() + 1]);
  char* p = rank->kept_texts.back().get();
  memcpy(p, text.data(), text.size());
  p[text.size()] = 0;
  return p;
}

std::pair<std::string, std::string>* changed(const char* name) {
  for (auto& e : me().changed_environment)
    if (e.first == name) return &e;
  return nullptr;
}

char* sim_getenv(const char* name) {
  // The second half of an entry is '=' and the value; empty: taken away.
  if (const auto* e = changed(name))
    return e->second.empty() ? nullptr : keep(&me(), std::string_view(e->second).substr(1));
  return getenv(name);
}
int sim_setenv(const char* name, const char* value, int overwrite) {
  if (name == nullptr || *name == 0 || strchr(name, '=') != nullptr) {
    errno = EINVAL;
    return -1;
  }
  if (overwrite == 0 && sim_getenv(name) != nullptr) return 0;
  const std::string text = std::string("=") + value;
  if (auto* e = changed(name))
    e->second = text;
  else
    me().changed_environment.emplace_back(name, text);
  return 0;
}
int sim_unsetenv(const char* name) {
  if (auto* e = changed(name))
    e->second.clear();
  else
    me().changed_environment.emplace_back(name, "");
  return 0;
}
int sim_putenv(char* text) {
  const char* equal = strchr(text, '=');
  if (equal == nullptr) return sim_unsetenv(text);
  return sim_setenv(std::string(text, static_cast<size_t>(equal - text)).c_str(), equal + 1, 1);
}
// The same on every machine and in every run.
int sim_getpid() {
  return 1000 + static_cast<int>(me().number);
}
int sim_gethostname(char* name, size_t n) {
  snprintf(name, n, "node%05u", me().node.id);
  return 0;
}

// ---- time: simulated. Reading the clock takes a moment, else a program that waits for it would never see it
// move.
constexpr Time kClockRead = 1000;  // 1 ns

Time read_clock() {
  spend(kClockRead);
  return running_task()->clock;
}
int sim_gettimeofday(timeval* t, void*) {
  const Time now = read_clock();
  if (t != nullptr)
    *t = {static_cast<time_t>(now / 1'000'000'000'000),
          static_cast<suseconds_t>(now / 1'000'000 % 1'000'000)};
  return 0;
}
int sim_clock_gettime(clockid_t, timespec* t) {
  const Time now = read_clock();
  *t = {static_cast<time_t>(now / 1'000'000'000'000), static_cast<long>(now / 1000 % 1'000'000'000)};
  return 0;
}
int sim_clock_getres(clockid_t, timespec* t) {
  if (t != nullptr) *t = {0, 1};
  return 0;
}
time_t sim_time(time_t* t) {
  const auto now = static_cast<time_t>(read_clock() / 1'000'000'000'000);
  if (t != nullptr) *t = now;
  return now;
}
clock_t sim_clock() {
  return static_cast<clock_t>(read_clock() / 1'000'000);
}
void sleep_for(Time t) {
  me().log.computing += t;
  yield(t);
}
unsigned sim_sleep(unsigned seconds) {
  sleep_for(Time{seconds} * 1'000'000'000'000);
  return 0;
}
int sim_usleep(useconds_t microseconds) {
  sleep_for(Time{microseconds} * 1'000'000);
  return 0;
}
int sim_nanosleep(const timespec* t, timespec* left) {
  if (t->tv_sec < 0 || t->tv_nsec < 0 || t->tv_nsec >= 1'000'000'000) {
    errno = EINVAL;
    return -1;
  }
  sleep_for(static_cast<Time>(t->tv_sec) * 1'000'000'000'000 + static_cast<Time>(t->tv_nsec) * 1000);
  if (left != nullptr) *left = {0, 0};
  return 0;
}
int sim_sched_yield() {
  yield(kClockRead);
  return 0;
}

// ---- random numbers: each rank has its own sequence, as each process has. 48 bits as POSIX defines them for
// drand48; rand and random are ours (SplitMix64), so programs get other numbers than from glibc, but the same
// in every run.
uint64_t next_random(uint64_t* state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}
int sim_rand() {
  return static_cast<int>(next_random(&me().random_state) >> 33);
}
void sim_srand(unsigned seed) {
  me().random_state = seed;
}
long sim_random() {
  return static_cast<long>(next_random(&me().random_state) >> 33);
}
uint64_t step48(uint64_t* x) {
  return *x = (*x * 0x5deece66d + 0xb) & ((uint64_t{1} << 48) - 1);
}
void sim_srand48(long seed) {
  me().random48_state = (static_cast<uint64_t>(static_cast<uint32_t>(seed)) << 16) + 0x330e;
}
double sim_drand48() {
  return static_cast<double>(step48(&me().random48_state)) / 281474976710656.0;
}
long sim_lrand48() {
  return static_cast<long>(step48(&me().random48_state) >> 17);
}
long sim_mrand48() {
  return static_cast<int32_t>(step48(&me().random48_state) >> 16);
}
unsigned short* sim_seed48(unsigned short* x) {
  static thread_local unsigned short old[3];
  uint64_t& s = me().random48_state;
  for (int i = 0; i < 3; i++) old[i] = static_cast<unsigned short>(s >> (16 * i));
  s = uint64_t{x[0]} | uint64_t{x[1]} << 16 | uint64_t{x[2]} << 32;
  return old;
}

// ---- others that have a state
char* sim_strtok(char* text, const char* separators) {
  return strtok_r(text, separators, &me().token);
}
// stdout and stderr write by lines whatever a program wishes: their buffer would be one for all ranks.
int sim_setvbuf(FILE* file, char* buffer, int mode, size_t n) {
  return is_rank_stream(file) ? 0 : setvbuf(file, buffer, mode, n);
}
void sim_setbuf(FILE* file, char* buffer) {
  if (!is_rank_stream(file)) setbuf(file, buffer);
}
bool sim_sync_with_stdio(bool) {
  return true;
}  // std::ios_base's
ssize_t sim_write(int descriptor, const void* text, size_t n) {
  if (descriptor != 1 && descriptor != 2) return write(descriptor, text, n);
  write_lines(&me().output, descriptor, {static_cast<const char*>(text), n});
  return static_cast<ssize_t>(n);
}
sighandler_t sim_signal(int, sighandler_t) {
  return SIG_DFL;
}
int sim_sigaction(int, const struct sigaction*, struct sigaction* old) {
  if (old != nullptr) memset(old, 0, sizeof *old);
  return 0;
}
// getpid() is not a process of the host: a signal to it must not reach one.
int sim_raise(int number) {
  if (number == 0) return 0;
  fail_rank(128 + number,
            std::string("raised signal ") + std::to_string(number) + " (" + strsignal(number) + ")");
}
int sim_kill(pid_t process, int number) {
  const Rank& rank = me();
  if (process == 1000 + static_cast<pid_t>(rank.number)) return sim_raise(number);
  if (process == 0 || (process >= 1000 && process < 1000 + static_cast<pid_t>(rank.simulation.rank_count())))
    fail_rank(128 + number, "sends a signal to another rank, which the simulator cannot");
  errno = EPERM;
  return -1;
}
// Handlers are not kept, so a timer could only end the simulator.
unsigned sim_alarm(unsigned) {
  return 0;
}
int sim_setitimer(int, const void*, void* old) {
  if (old != nullptr) memset(old, 0, sizeof(itimerval));
  return 0;
}
int sim_no_exec() {
  fail_rank(1, "wants to become another program, which ranks of the simulator cannot");
}
[[noreturn]] void sim_thread_exit(void*) {
  sim_exit(0);
}
// These call exit() within the C library.
[[noreturn]] void sim_err(int code, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vwarn(format, arguments);
  va_end(arguments);
  sim_exit(code);
}
[[noreturn]] void sim_errx(int code, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vwarnx(format, arguments);
  va_end(arguments);
  sim_exit(code);
}
void sim_error(int code, int number, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "%s: ", me().simulation.path.c_str());
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  if (number != 0) fprintf(stderr, ": %s", strerror(number));
  fputc('\n', stderr);
  if (code != 0) sim_exit(code);
}
int sim_no_process() {
  fail_rank(1, "wants to start a process or a thread, which ranks of the simulator cannot");
}
void* sim_dlsym(void* library, const char* name) {
  const Rank& rank = me();
  if (library == RTLD_DEFAULT || library == RTLD_NEXT)
    return rank.simulation.program->find(rank.loaded, name);
  return dlsym(library, name);
}

struct Named {
  const char* name;
  void* function;
};
template <typename F>
Named entry(const char* name, F* f) {
  return {name, reinterpret_cast<void*>(f)};
}

const std::unordered_map<std::string_view, void*>& functions() {
  static const std::unordered_map<std::string_view, void*> table = [] {
    std::unordered_map<std::string_view, void*> t;
    for (const Named& n : {entry("__libc_start_main", sim_libc_start_main),
                           entry("exit", sim_exit),
                           entry("_exit", sim_quick_exit),
                           entry("_Exit", sim_quick_exit),
                           entry("quick_exit", sim_quick_exit),
                           entry("abort", sim_abort),
                           entry("__assert_fail", sim_assert_fail),
                           entry("atexit", sim_atexit),
                           entry("__cxa_atexit", sim_cxa_atexit),
                           entry("__cxa_finalize", sim_cxa_finalize),
                           entry("getenv", sim_getenv),
                           entry("secure_getenv", sim_getenv),
                           entry("setenv", sim_setenv),
                           entry("unsetenv", sim_unsetenv),
                           entry("putenv", sim_putenv),
                           entry("getpid", sim_getpid),
                           entry("gethostname", sim_gethostname),
                           entry("gettimeofday", sim_gettimeofday),
                           entry("clock_gettime", sim_clock_gettime),
                           entry("clock_getres", sim_clock_getres),
                           entry("time", sim_time),
                           entry("clock", sim_clock),
                           entry("sleep", sim_sleep),
                           entry("usleep", sim_usleep),
                           entry("nanosleep", sim_nanosleep),
                           entry("sched_yield", sim_sched_yield),
                           entry("rand", sim_rand),
                           entry("srand", sim_srand),
                           entry("random", sim_random),
                           entry("srandom", sim_srand),
                           entry("srand48", sim_srand48),
                           entry("drand48", sim_drand48),
                           entry("lrand48", sim_lrand48),
                           entry("mrand48", sim_mrand48),
                           entry("seed48", sim_seed48),
                           entry("strtok", sim_strtok),
                           entry("setvbuf", sim_setvbuf),
                           entry("setbuf", sim_setbuf),
                           entry("_ZNSt8ios_base15sync_with_stdioEb", sim_sync_with_stdio),
                           entry("write", sim_write),
                           entry("signal", sim_signal),
                           entry("sigaction", sim_sigaction),
                           entry("raise", sim_raise),
                           entry("kill", sim_kill),
                           entry("alarm", sim_alarm),
                           entry("setitimer", sim_setitimer),
                           entry("execv", sim_no_exec),
                           entry("execve", sim_no_exec),
                           entry("execvp", sim_no_exec),
                           entry("execvpe", sim_no_exec),
                           entry("execl", sim_no_exec),
                           entry("execlp", sim_no_exec),
                           entry("execle", sim_no_exec),
                           entry("fexecve", sim_no_exec),
                           entry("pthread_exit", sim_thread_exit),
                           entry("err", sim_err),
                           entry("errx", sim_errx),
                           entry("error", sim_error),
                           entry("daemon", sim_no_process),
                           entry("thrd_create", sim_no_process),
                           entry("fork", sim_no_process),
                           entry("vfork", sim_no_process),
                           entry("pthread_create", sim_no_process),
                           entry("dlsym", sim_dlsym),
                           entry("getopt", sim_getopt),
                           entry("getopt_long", sim_getopt_long),
                           entry("getopt_long_only", sim_getopt_long_only)})
      t.emplace(n.name, n.function);
    return t;
  }();
  return table;
}

}  // namespace

void* process_function(std::string_view name) {
  const auto i = functions().find(name);
  return i == functions().end() ? nullptr : i->second;
}

// As the kernel starts a program: argc, argv, null, environment, null, auxiliary vector on the stack, then
// its entry, which calls __libc_start_main.
void run_main(Rank* rank) {
  std::vector<uintptr_t> words;
  const auto& command = rank->simulation.options.command;
  words.push_back(command.size());
  for (const std::string& argument : command)
    words.push_back(reinterpret_cast<uintptr_t>(keep(rank, argument)));
  words.push_back(0);
  for (char** e = environ; *e != nullptr; e++) words.push_back(reinterpret_cast<uintptr_t>(*e));
  for (int i = 0; i < 3; i++) words.push_back(0);
  if (words.size() % 2 != 0) words.push_back(0);
  auto* stack = static_cast<uintptr_t*>(__builtin_alloca_with_align(words.size() * sizeof(uintptr_t), 128));
  memcpy(stack, words.data(), words.size() * sizeof(uintptr_t));
  void* start = rank->loaded.bases[0] + rank->simulation.program->images()[0]->file().entry;
  std::vector<uintptr_t>().swap(words);
  os::jump_to(start, stack);
}

}  // namespace tasuki::simmpi
