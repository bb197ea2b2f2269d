#include "compiler/command/driver.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "compiler/command/command_line.h"
#include "compiler/command/external_programs.h"
#include "compiler/command/link.h"
#include "compiler/command/translate.h"
#include "compiler/text/text.h"
#include "os/files/text_file.h"
#include "os/process/executable.h"

namespace tasuki::cc {
namespace {

using Command = std::vector<std::string>;

constexpr const char* kHelp =
    "tasukicc: the MPI compiler for C with arrays in cluster memory, or with XcalableMP's coarrays and "
    "directives\n"
    "Usage: tasukicc [OPTIONS] FILE...\n"
    "\n"
    "All options and files are those of the MPI compiler ($MPICC, by default mpicc), except these:\n"
    "\n"
    "Options:\n"
    "  --help,--dlm-help           Print this help message and exit (--help only if it stands alone)\n"
    "  -acc                        With OpenACC (gcc's -fopenacc); coarrays may be in device memory\n"
    "  -fcheck=bounds              When the program runs, check sections and indices of coarrays\n"
    "  --emit,--dlm-show           Print the program as the compiler gets it, instead of compiling it\n"
    "  --dlm-cflags                Print the options for compiling a program that calls the functions of "
    "dlm.h without tasukicc\n"
    "  --dlm-libs                  Print the options for linking such a program\n"
    "\n"
    "Cluster memory:\n"
    "  tasukicc prog.c -o prog\n"
    "  dlm double a[N][N];                    an array at file scope, or static in a function\n"
    "  mpirun -n 4 ./prog args -- -f memfile  rank 0 computes, the others lend their memory\n"
    "\n"
    "Coarrays:\n"
    "  tasukicc prog.c -o prog\n"
    "  int a[N]:[*];                          one array in each process; #include <xmp.h> for the functions\n"
    "  a[0:5]:[2] = a[5:5];                   five elements to the second process\n"
    "  mpirun -n 4 ./prog\n";

void append(Command* command, const Command& more) {
  command->insert(command->end(), more.begin(), more.end());
}

bool is_cxx(const Input& input) {
  if (!input.explicit_language.empty()) return input.explicit_language == "c++";
  const std::string ending = std::filesystem::path(input.path).extension().string();
  const auto endings = {".cc", ".cp", ".cxx", ".cpp", ".CPP", ".c++", ".C"};
  return std::find(endings.begin(), endings.end(), ending) != endings.end();
}

class Driver {
 public:
  explicit Driver(CommandLine line) : line_(std::move(line)) {}

  int run() {
    if (line_.only_asks || line_.inputs.empty() || line_.stage == Stage::preprocess) return plainly(false);
    if (!temporary_.ok() || !take_standard_input()) return 1;
    if (line_.asks_openacc && !takes_openacc()) return 1;
    if (const int failed = translate_all()) return failed;
    if (line_.stage == Stage::link) return link();
    if (!any_arrays() || (line_.inputs.size() > 1 && !line_.output.empty())) return plainly(uses_header());
    return line_.stage == Stage::check_syntax ? compile_others() : compile();
  }

  int show() {
    if (!temporary_.ok() || !take_standard_input()) return 1;
    if (const int failed = translate_all()) return failed;
    for (const Translation& t : translations_)
      if (t.has_arrays) std::cout << os::file_or_empty(t.file);
    return 0;
  }

 private:
  // The user's compiler with the user's arguments.
  int plainly(bool header) {
    Command command = mpi_compiler();
    append(&command, line_.original);
    if (header) append(&command, {"-idirafter", include_folder()});
    return standard_input_.empty() ? become_program(command)
                                   : run_program(command, {.input = standard_input_});
  }

  // The compiler's own message is of an option that the user has not written.
  bool takes_openacc() {
    const std::string source = temporary_.file("openacc.c"), errors = temporary_.file("errors");
    if (!write_file(source, "#ifndef _OPENACC\n#error\n#endif\nint main(void) { return 0; }\n")) return false;
    Command command = mpi_compiler();
    const std::string name = command[0];
    append(&command, {"-fopenacc", "-w"});
    append(&command,
           line_.stage == Stage::link ? Command{"-o", temporary_.file("openacc")} : Command{"-fsyntax-only"});
    command.push_back(source);
    if (run_program(command, {.errors = errors}) == 0) return true;
    fprintf(stderr,
            "%stasukicc: error: -acc: '%s' has no OpenACC; MPICC names an MPI compiler around a gcc with "
            "libgomp\n",
            os::file_or_empty(errors).c_str(), name.c_str());
    return false;
  }

  // A source that comes through a pipe is read more than once.
  bool take_standard_input() {
    for (const Input& input : line_.inputs) {
      if (input.path != "-" || !standard_input_.empty()) continue;
      standard_input_ = temporary_.file("stdin");
      std::ostringstream all;
      all << std::cin.rdbuf();
      if (!write_file(standard_input_, all.str())) return false;
    }
    return true;
  }

  int translate_all() {
    for (const Input& input : line_.inputs) {
      translations_.emplace_back();
      const bool source =
          input.language == Language::c || input.language == Language::preprocessed_c || is_cxx(input);
      if (!source) continue;
      if (const int failed = translate(line_, input, standard_input_, &temporary_, &translations_.back()))
        return failed;
    }
    return 0;
  }

  bool any_arrays() const {
    return std::any_of(translations_.begin(), translations_.end(),
                       [](const Translation& t) { return t.has_arrays; });
  }
  bool any_dlm() const {
    return std::any_of(translations_.begin(), translations_.end(),
                       [](const Translation& t) { return t.has_arrays && !t.is_xmp; });
  }
  bool any_xmp() const {
    return std::any_of(translations_.begin(), translations_.end(),
                       [](const Translation& t) { return t.is_xmp; });
  }
  bool uses_dlm_header() const {
    return std::any_of(translations_.begin(), translations_.end(),
                       [](const Translation& t) { return t.uses_header && !t.is_xmp; });
  }
  bool uses_header() const {
    return std::any_of(translations_.begin(), translations_.end(),
                       [](const Translation& t) { return t.uses_header; });
  }

  // Where the compiler would put what it makes of this source.
  std::string output_of(const Input& input) const {
    if (!line_.output.empty()) return line_.output;
    const std::string stem = input.path == "-" ? "-" : std::filesystem::path(input.path).stem().string();
    return stem + (line_.stage == Stage::assemble ? ".s" : ".o");
  }

  int compile_one(size_t i, Stage stage, const std::string& output) {
    const int failed = run_program(compile_command(line_, translations_[i], stage, output));
    if (failed != 0)
      fprintf(stderr,
              "%s: internal error: the compiler accepts this program without %s, but the C that tasukicc has "
              "made of it does not compile (the compiler's message stands above). Please report it, with the "
              "output of 'tasukicc --emit'\n",
              line_.inputs[i].path.c_str(), translations_[i].is_xmp ? "coarrays" : "'dlm'");
    return failed;
  }

  int compile() {
    for (size_t i = 0; i < line_.inputs.size(); i++) {
      if (!translations_[i].has_arrays) continue;
      if (const int failed = compile_one(i, line_.stage, output_of(line_.inputs[i]))) return failed;
    }
    return compile_others();
  }

  // The sources without dlm arrays, as always.
  int compile_others() {
    bool any = false;
    Command command = mpi_compiler();
    for (const Word& word : line_.words) {
      if (word.role == Role::input) {
        if (translations_[word.input].has_arrays) continue;
        any = true;
      }
      command.push_back(word.text);
    }
    if (uses_header()) append(&command, {"-idirafter", include_folder()});
    return any ? run_program(command, {.input = standard_input_}) : 0;
  }

  int link() {
    Needs needs = needs_of_objects(line_);
    needs.arrays = needs.arrays || any_dlm();
    needs.library = needs.library || uses_dlm_header();
    needs.xmp = needs.xmp || any_xmp();
    if (!needs.arrays && !needs.library && !needs.xmp) return plainly(false);
    if (needs.xmp && (needs.arrays || needs.library)) {
      fprintf(stderr,
              "tasukicc: error: a program has dlm arrays or coarrays, not both: with dlm arrays one process "
              "runs the program and the "
              "others hold its memory; with coarrays all run it\n");
      return 1;
    }
    if (line_.is_static) {
      fprintf(stderr, "tasukicc: error: -static: %s with a shared library, %s; link without -static\n",
              needs.xmp ? "coarrays come" : "cluster memory comes", needs.xmp ? "libtasukixmp" : "libdlmmpi");
      return 1;
    }
    warn_of_side_files();
    Command libraries;
    if (!line_.is_relocatable &&
        !(needs.xmp ? xmp_libraries(&temporary_, &libraries) : dlm_libraries(&temporary_, &libraries)))
      return 1;
    std::vector<std::string> objects;
    Command command = mpi_compiler();
    // First, so that main may come out of an archive behind it.
    if (needs.arrays && !line_.makes_library && !line_.is_relocatable)
      append(&command, {"-Wl,--wrap=main", "-x", "none", os::own_prefix() + "/lib/tasuki/libdlmmain.a"});
    if (needs.xmp && !line_.makes_library && !line_.is_relocatable)
      append(&command, {"-Wl,--wrap=main,--wrap=MPI_Init,--wrap=MPI_Init_thread,--wrap=MPI_Finalize", "-x",
                        "none", os::own_prefix() + "/lib/tasuki/libxmpmain.a"});
    if (const int failed = link_words(&command, &objects)) return failed;
    if (uses_header()) append(&command, {"-idirafter", include_folder()});
    append(&command, {"-x", "none"});
    append(&command, libraries);
    const std::string errors = temporary_.file("errors");
    const int failed = run_program(command, {.input = standard_input_, .errors = errors});
    explain(errors, objects);
    return failed;
  }

  // What the compiler writes beside an object goes with the temporary one.
  void warn_of_side_files() const {
    if (!any_arrays()) return;
    for (const Word& word : line_.words)
      for (const char* start : {"--coverage", "-ftest-coverage", "-fprofile-arcs", "-gsplit-dwarf",
                                "-save-temps", "-fstack-usage", "-fdump-", "-fcallgraph-info"})
        if (word.role == Role::general && word.text.starts_with(start))
          fprintf(stderr,
                  "tasukicc: warning: '%s' writes files beside the object, which is a temporary one here; "
                  "compile with -c, and link the "
                  "objects\n",
                  word.text.c_str());
  }

  // The user's words, with objects in the place of the sources that were rewritten.
  int link_words(Command* command, std::vector<std::string>* objects) {
    for (const Word& word : line_.words) {
      if (word.role == Role::input && translations_[word.input].has_arrays) {
        const Input& input = line_.inputs[word.input];
        objects->push_back(temporary_.file(std::filesystem::path(input.path).stem().string() + ".o"));
        if (const int failed = compile_one(word.input, Stage::compile, objects->back())) return failed;
        append(command, {"-x", "none", objects->back()});
        if (!input.explicit_language.empty()) append(command, {"-x", input.explicit_language});
        continue;
      }
      if (word.role == Role::input && line_.inputs[word.input].language == Language::object)
        objects->push_back(word.text);
      command->push_back(word.text);
    }
    return 0;
  }

  // The linker knows names, not what they stand for.
  static void explain(const std::string& errors, const std::vector<std::string>& objects) {
    const std::string text = os::file_or_empty(errors);
    fputs(text.c_str(), stderr);
    const std::string start = "undefined reference to `";
    std::vector<std::string> known;
    for (size_t at = 0; (at = text.find(start, at)) != std::string::npos;) {
      at += start.size();
      const std::string name = text.substr(at, text.find('\'', at) - at);
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      known.push_back(name);
      if (name.starts_with("__xmp_record_"))
        fprintf(stderr,
                "tasukicc: note: '%s' is declared as an extern distributed array, but no file with its align "
                "directive defines it\n",
                name.c_str() + 13);
      else if (names_symbol(objects, "__xmp_record_" + name))
        fprintf(stderr,
                "tasukicc: note: '%s' is a distributed array: repeat its align directive in every file that "
                "uses it\n",
                name.c_str());
      else if (name.starts_with("__xmp_"))
        fprintf(
            stderr,
            "tasukicc: note: '%s' is declared as an extern coarray, but no file defines it as a coarray\n",
            name.c_str() + 6);
      else if (names_symbol(objects, "__xmp_" + name))
        fprintf(stderr,
                "tasukicc: note: '%s' is a coarray: declare it with its codimensions in every file that uses "
                "it\n",
                name.c_str());
      else if (name.starts_with("__dlm_"))
        fprintf(stderr, "tasukicc: note: '%s' is declared 'extern dlm', but no file defines it with dlm\n",
                name.c_str() + 6);
      else if (names_symbol(objects, "__dlm_" + name))
        fprintf(stderr,
                "tasukicc: note: '%s' is a dlm array: declare it 'extern dlm' in every file that uses it\n",
                name.c_str());
    }
  }

  CommandLine line_;
  TemporaryFolder temporary_;
  std::string standard_input_;
  std::vector<Translation> translations_;
};

int print_flags(bool compile, bool libraries) {
  std::string flags;
  if (compile) flags += "-I" + include_folder() + " ";
  if (libraries) {
    TemporaryFolder temporary;
    Command options;
    if (!temporary.ok() || !dlm_libraries(&temporary, &options)) return 1;
    for (const std::string& option : options) flags += option + " ";
  }
  flags.pop_back();
  printf("%s\n", flags.c_str());
  return 0;
}

}  // namespace

int run_driver(const std::vector<std::string>& arguments) {
  const auto has = [&](const char* word) {
    return std::find(arguments.begin(), arguments.end(), word) != arguments.end();
  };
  if (arguments.empty() || has("--dlm-help") || (arguments.size() == 1 && arguments[0] == "--help")) {
    fputs(kHelp, arguments.empty() ? stderr : stdout);
    return arguments.empty() ? 2 : 0;
  }
  if (has("--dlm-cflags") || has("--dlm-libs")) {
    if (static_cast<size_t>(has("--dlm-cflags")) + static_cast<size_t>(has("--dlm-libs")) !=
        arguments.size()) {
      fprintf(stderr,
              "tasukicc: error: --dlm-cflags and --dlm-libs stand alone: they print options and compile "
              "nothing\n");
      return 2;
    }
    return print_flags(has("--dlm-cflags"), has("--dlm-libs"));
  }
  std::vector<std::string> rest = arguments;
  const bool show = std::erase(rest, "--dlm-show") + std::erase(rest, "--emit") > 0;
  CommandLine line;
  if (!parse_command_line(rest, &line)) return 1;
  Driver driver(std::move(line));
  return show ? driver.show() : driver.run();
}

}  // namespace tasuki::cc
