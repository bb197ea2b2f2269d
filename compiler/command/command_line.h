// The arguments of tasukicc are those of the user's compiler. This tells what each is for, so that one
// command can be made into several: preprocess, compile, link.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tasuki::cc {

enum class Language { c, preprocessed_c, other_source, object };

enum class Role {
  input,          // a file
  output,         // -o file
  stage,          // -c, -S, -E, -fsyntax-only
  language,       // -x c
  dependencies,   // -M, -MD, -MF file ...
  preprocessing,  // -D, -I, -include ...: done once the text is preprocessed
  linking,        // -l, -L, -Wl, ...
  general         // all stages
};

struct Word {
  std::string text;
  Role role;
  size_t input = 0;  // for Role::input: index into CommandLine::inputs
};

struct Input {
  std::string path;
  Language language;
  std::string explicit_language;  // of -x; empty without one
};

enum class Stage { link, compile, assemble, preprocess, check_syntax };

struct CommandLine {
  std::vector<std::string> original;
  std::vector<Word> words;
  std::vector<Input> inputs;
  Stage stage = Stage::link;
  std::string output;          // of -o; empty without one
  bool makes_library = false;  // -shared
  bool is_static = false;
  bool is_relocatable = false;      // -r
  bool wants_dependencies = false;  // -MD, -MMD
  bool only_asks = false;           // -M, -###, --version, -print-...: nothing to compile, or not now
  bool openmp = false, openacc = false;
  bool threads = false;                      // of OpenMP, not only its simd
  bool asks_openacc = false;                 // by -acc, which is no option of the compiler
  bool checked = false;                      // -fcheck=bounds
  std::vector<std::string> libraries;        // of -l
  std::vector<std::string> library_folders;  // of -L
  std::vector<std::string> meaning;          // options that change what C means, for libclang

  std::vector<std::string> of_roles(std::initializer_list<Role> roles) const;
};

// False, with a reason on stderr, when a file of arguments (@file) cannot be read.
bool parse_command_line(const std::vector<std::string>& arguments, CommandLine* result);

// The words of a response file or of a variable such as MPICC: separated by blanks, with quotes and
// backslashes.
std::vector<std::string> split_words(const std::string& text);

}  // namespace tasuki::cc
