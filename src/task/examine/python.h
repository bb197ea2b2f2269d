// CPython at a fixed address, as Debian's python3 is. What such a program does is all in a library too,
// libpython, which can be loaded anywhere: its tasks are python-main (object/python_main.c) with that
// library.
#pragma once

#include <optional>
#include <string>

#include "elf/image.h"

namespace tasuki::task {

// What an ELF file says of the CPython in it: 3.8 or newer, which has Py_BytesMain.
struct Python {
  std::string version;  // "3.11.2", "3.14.0rc1"
  std::string flavour;  // "t": free-threaded, "d": with assertions, "td"; each has an ABI of its own

  std::string series() const;  // "3.11"
  std::string soname() const;  // of its library: "libpython3.11.so.1.0"
};
std::optional<Python> python_in(const elf::ByteSource& file, const elf::Image& image);

struct PythonLibrary {
  std::string path;      // empty: there is none
  std::string why_none;  // for this reason ("its library libpython3.11.so.1.0 is not installed"),
  std::string remedy;    // and this helps
};

// The library that does what the program at `canonical` (without links) does; nothing if the file is not
// called as Python's command is: a program that embeds an interpreter has CPython's code, too. A library is
// taken if it has the same version and every function and variable that the program has for extension
// modules. It is looked for beside the program's prefix, then where the program's dynamic linker looks.
std::optional<PythonLibrary> find_python_library(const std::string& canonical, const elf::ByteSource& file,
                                                 const elf::Image& image);

// The program that runs such a library.
std::string python_main();

}  // namespace tasuki::task
