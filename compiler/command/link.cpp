#include "compiler/command/link.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "compiler/command/external_programs.h"
#include "compiler/text/text.h"
#include "os/files/paths.h"
#include "os/files/text_file.h"
#include "os/process/executable.h"

namespace tasuki::cc {
namespace {

constexpr const char* kFamilyQuestion =
    "#include <mpi.h>\n"
    "#if defined(OPEN_MPI) || defined(OMPI_MAJOR_VERSION)\n"
    "tasuki_family_openmpi\n"
    "#elif defined(MPICH_VERSION) || defined(MPICH_NUMVERSION) || defined(I_MPI_VERSION) || "
    "defined(MVAPICH2_VERSION)\n"
    "tasuki_family_mpich\n"
    "#endif\n";

// A symbol's name in the string table of an object, archive or library: between two zero bytes.
bool holds_symbol(const std::string& content, const std::string& symbol) {
  return content.find('\0' + symbol + '\0') != std::string::npos;
}

Needs needs_of_file(const std::string& path) {
  const std::string content = os::file_or_empty(path);
  Needs needs;
  // No other name contains this one; objects for link-time optimization keep names in formats of their own.
  needs.arrays = content.find("tasuki_dlm_register") != std::string::npos;
  for (const char* function :
       {"dlm_startup", "dlm_alloc", "dlm_calloc", "dlm_aligned_alloc", "dlm_alloc_paged"})
    needs.library = needs.library || holds_symbol(content, function);
  // Functions of xmp.h have many names; what a library of a user's own exports by such a name is not looked
  // for.
  needs.xmp = content.find(std::string("\0tasuki_xmp_", 12)) != std::string::npos;
  for (const char* function :
       {"xmp_node_num", "xmp_num_nodes", "xmp_all_node_num", "xmp_all_num_nodes", "xmp_this_image",
        "xmp_num_images", "xmp_sync_all", "xmp_sync_memory", "xmp_sync_image", "xmp_sync_images",
        "xmp_sync_images_all", "xmp_comalloc", "xmp_malloc", "xmp_wtime", "xmp_exit", "xmpc_node_num",
        "xmpc_all_node_num", "xmpc_this_image"})
    needs.xmp = needs.xmp || holds_symbol(content, function);
  return needs;
}

// What -lname stands for in the folders of the command line; the system's own hold no dlm arrays.
std::string find_library(const CommandLine& line, const std::string& name) {
  for (const std::string& folder : line.library_folders) {
    for (const char* ending : {".so", ".a"}) {
      const std::string path = folder + "/lib" + name + ending;
      if (os::can_read(path)) return path;
    }
  }
  return "";
}

std::vector<std::string> linked_files(const CommandLine& line) {
  std::vector<std::string> files;
  for (const Input& input : line.inputs)
    if (input.language == Language::object) files.push_back(input.path);
  for (const std::string& library : line.libraries)
    if (library != "dlmmpi" && library != "tasukixmp") files.push_back(find_library(line, library));
  return files;
}

bool libraries_of(const std::string& name, TemporaryFolder* temporary, std::vector<std::string>* options) {
  const std::string family = mpi_family(temporary);
  if (family.empty()) return false;
  const std::string folder = os::own_prefix() + "/lib/tasuki/" + family;
  const std::string library = folder + "/lib" + name + ".so";
  if (!os::can_read(library)) {
    fprintf(stderr, "tasukicc: error: no '%s': this Tasuki was built without %s\n", library.c_str(),
            family == "mpich" ? "MPICH" : "Open MPI");
    return false;
  }
  // The last one is for the MPI library, which MPI compilers put behind: where the program itself does not
  // call it, linkers that leave out such libraries would leave the choice to the launcher.
  *options = {"-L" + folder, "-Wl,-rpath," + folder, "-l" + name, "-Wl,--no-as-needed"};
  return true;
}

}  // namespace

std::string include_folder() {
  return os::own_prefix() + "/include/tasuki";
}

std::vector<std::string> mpi_compiler() {
  const char* value = getenv("MPICC");
  const std::vector<std::string> words = split_words(value != nullptr ? value : "");
  return words.empty() ? std::vector<std::string>{"mpicc"} : words;
}

std::string mpi_family(TemporaryFolder* folder) {
  TemporaryFolder& temporary = *folder;
  const std::string question = temporary.file("family.c"), answer = temporary.file("answer"),
                    errors = temporary.file("errors");
  if (!write_file(question, kFamilyQuestion)) return "";
  std::vector<std::string> command = mpi_compiler();
  const std::string name = command[0];
  for (const char* word : {"-E", "-x", "c", "-"}) command.emplace_back(word);
  const int failed = run_program(command, {.input = question, .output = answer, .errors = errors});
  if (failed == 127) return "";
  const std::string text = os::file_or_empty(failed != 0 ? errors : answer);
  if (failed != 0) {
    fprintf(stderr, "%stasukicc: error: '%s' does not compile MPI programs (MPICC names the MPI compiler)\n",
            text.c_str(), name.c_str());
    return "";
  }
  for (const char* family : {"openmpi", "mpich"})
    if (text.find("\ntasuki_family_" + std::string(family)) != std::string::npos) return family;
  fprintf(stderr,
          "tasukicc: error: the MPI of '%s' is neither Open MPI nor of the MPICH family (MPICC names the MPI "
          "compiler)\n",
          name.c_str());
  return "";
}

bool dlm_libraries(TemporaryFolder* temporary, std::vector<std::string>* options) {
  return libraries_of("dlmmpi", temporary, options);
}

bool xmp_libraries(TemporaryFolder* temporary, std::vector<std::string>* options) {
  return libraries_of("tasukixmp", temporary, options);
}

Needs needs_of_objects(const CommandLine& line) {
  Needs all;
  for (const std::string& file : linked_files(line)) {
    const Needs needs = needs_of_file(file);
    all.arrays = all.arrays || needs.arrays;
    all.library = all.library || needs.library;
    all.xmp = all.xmp || needs.xmp;
  }
  return all;
}

bool names_symbol(const std::vector<std::string>& files, const std::string& symbol) {
  return std::any_of(files.begin(), files.end(),
                     [&](const std::string& file) { return holds_symbol(os::file_or_empty(file), symbol); });
}

}  // namespace tasuki::cc
