// A program that is loaded once for each rank. Its own code and that of its private libraries (found by its
// search path or LD_LIBRARY_PATH outside the system's folders) are mapped anew for each rank: the pages of
// code are the page cache's and shared, the variables are the rank's own. The system's libraries are those of
// this process. Which names are ours (MPI, exit, clocks, random numbers...) is the caller's table.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "simmpi/program/image.h"

namespace tasuki::simmpi {

// One rank's copy.
struct LoadedProgram {
  std::vector<char*> bases;  // of Program::images()
};

class Program {
 public:
  // nullptr: not ours.
  using Ours = std::function<void*(std::string_view name)>;

  static Result<std::unique_ptr<Program>> open(const std::string& path, const Ours& ours);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program();

  const std::vector<std::unique_ptr<Image>>& images() const { return images_; }  // the program first
  Result<LoadedProgram> load() const;                                            // thread-safe
  void unload(LoadedProgram* loaded) const;

  // A name as the program sees it, in its own images or elsewhere; nullptr: nowhere.
  void* find(const LoadedProgram& loaded, std::string_view name) const;
  // In its own images only.
  void* find_own(const LoadedProgram& loaded, std::string_view name) const;
  // "prog+0x1234" if the address is in a copy, else empty.
  std::string place(const LoadedProgram& loaded, const void* address) const;
  // libstdc++'s record of exceptions that are being handled, if the program uses it: belongs to a fiber.
  void* (*exception_globals)() = nullptr;

 private:
  Program() = default;
  static constexpr uint32_t kNowhere = UINT32_MAX;
  enum class Kind { word, copy, call };  // a word; bytes from there to here; what the function there returns
  struct Bound {
    uint64_t where;
    uint32_t in, image;  // images; kNowhere: `value` is an address
    Kind kind;
    uint64_t value, size;
  };
  struct Found {
    uint32_t image = kNowhere;
    uint64_t value = 0, size = 0;
    bool resolver = false, found = false;
  };
  Status add_libraries();
  Status bind(uint32_t in);
  Found lookup(std::string_view name, bool own_program = true) const;
  void register_unwind(const LoadedProgram& loaded, bool on) const;

  std::vector<std::unique_ptr<Image>> images_;
  std::vector<void*> libraries_;
  std::vector<Bound> bound_;
  Ours ours_;
};

}  // namespace tasuki::simmpi
