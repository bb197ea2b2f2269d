#!/usr/bin/env python3
"""scripts/dist/older_glibc.c in a program and in a library that it loads: what stands in for newer functions of glibc is what runs, nothing
else sees it, and it does what they do.

    older_glibc_test.py OLDER_GLIBC_C CC CXX"""
import pathlib
import subprocess
import sys
import tempfile

source, cc, cxx = sys.argv[1:4]
NAMES = {"_dl_find_object", "arc4random", "__libc_single_threaded", "gettid", "getcpu"}
# Exceptions of a program and of a library with an unwinder of its own, in threads, and after the library was closed and opened again.
LIBRARY = r"""
#include <stdexcept>
static int odd(int n) { return n % 2 ? throw std::runtime_error("odd") : n; }
extern "C" __attribute__((visibility("default"))) int library_call(int n) {
  try {
    return odd(n);
  } catch (const std::exception&) {
    return -1;
  }
}
"""
PROGRAM = r"""
#include <dlfcn.h>
#include <sched.h>
#include <unistd.h>
#include <cstdio>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
static int far(int n) { return n > 90 ? throw std::out_of_range("far") : n; }
static int wrong = 0;
static void expect(bool good, const char* what) {
  if (!good) printf("%s\n", what), wrong = 1;
}
static int calls(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return printf("%s\n", dlerror()), -1;
  auto call = reinterpret_cast<int (*)(int)>(dlsym(library, "library_call"));
  int thrown = 0, caught = 0;
  for (int n = 0; n < 100; n++) try {
      caught += call(n) == -1;
      far(n);
    } catch (const std::exception& e) {
      thrown += e.what() == std::string("far");
    }
  dlclose(library);
  return thrown * 1000 + caught;  // 9 and 50
}
int main(int, char** argv) {
  expect(calls(argv[1]) == 9050, "exceptions of the first thread");
  std::vector<std::thread> threads;
  std::vector<int> results(4);
  for (int& result : results) threads.emplace_back([&] { result = calls(argv[1]); });
  for (std::thread& thread : threads) thread.join();
  for (int result : results) expect(result == 9050, "exceptions of threads");
  expect(gettid() == getpid(), "gettid");
  pid_t other = 0;
  std::thread([&] { other = gettid(); }).join();
  expect(other > 0 && other != getpid(), "gettid of a thread");
  cpu_set_t one;
  CPU_ZERO(&one);
  unsigned cpu = 99999, node = 99999;
  expect(getcpu(&cpu, &node) == 0 && cpu < 99999 && node < 99999, "getcpu");
  CPU_SET(cpu, &one);
  if (sched_setaffinity(0, sizeof one, &one) == 0) {
    unsigned here = 99999;
    expect(getcpu(&here, nullptr) == 0 && here == cpu, "getcpu of a bound thread");
  }
  std::random_device random;
  std::set<unsigned> values;
  for (int i = 0; i < 64; i++) values.insert(random());
  expect(values.size() > 60, "random numbers");
  return wrong;
}
"""
failures = 0


def check(what, good, detail=""):
    global failures
    if not good:
        print(f"FAIL {what} {detail}")
        failures += 1


def symbols(path):
    lines = subprocess.run(["nm", "-D", path], check=True, capture_output=True, text=True).stdout.splitlines()
    return {line.split()[-1].partition("@")[0] for line in lines}


with tempfile.TemporaryDirectory() as work:
    work = pathlib.Path(work)
    subprocess.run([cc, "-O2", "-fPIC", "-Wall", "-Wextra", "-Werror", "-c", source, "-o", work / "older.o"], check=True)
    for name, text, flags in (("library.so", LIBRARY, ["-shared", "-fPIC", "-fvisibility=hidden"]), ("program", PROGRAM, [])):
        subprocess.run([cxx, "-std=c++20", "-O2", "-pthread", *flags, "-static-libstdc++", "-static-libgcc", "-x", "c++", "-", "-x", "none",
                        work / "older.o", "-ldl", "-o", work / name], input=text, text=True, check=True)
        check(f"{name} takes none of them from glibc, and gives none", not symbols(work / name) & NAMES, symbols(work / name) & NAMES)
    done = subprocess.run([work / "program", work / "library.so"], capture_output=True, text=True, timeout=60)
    check("they do what glibc's do", done.returncode == 0 and not done.stdout, done)
sys.exit(1 if failures else 0)
