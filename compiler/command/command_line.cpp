#include "compiler/command/command_line.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "compiler/text/text.h"
#include "os/files/text_file.h"

namespace tasuki::cc {
namespace {

bool one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Options of gcc and clang whose value is the next argument.
bool takes_value(std::string_view option) {
  return one_of(option, {"-o",
                         "-x",
                         "-D",
                         "-U",
                         "-I",
                         "-L",
                         "-l",
                         "-include",
                         "-imacros",
                         "-isystem",
                         "-iquote",
                         "-idirafter",
                         "-iprefix",
                         "-iwithprefix",
                         "-iwithprefixbefore",
                         "-isysroot",
                         "-imultilib",
                         "-MF",
                         "-MT",
                         "-MQ",
                         "-MJ",
                         "-Xlinker",
                         "-Xpreprocessor",
                         "-Xassembler",
                         "-Xclang",
                         "-T",
                         "-u",
                         "-z",
                         "-e",
                         "-aux-info",
                         "--param",
                         "-B",
                         "-dumpbase",
                         "-dumpbase-ext",
                         "-dumpdir",
                         "-wrapper",
                         "-target",
                         "-arch",
                         "-mllvm",
                         "--sysroot",
                         "--entry"});
}

bool is_preprocessing(std::string_view option) {
  for (std::string_view start :
       {"-D", "-U", "-I", "-include", "-imacros", "-isystem", "-iquote", "-idirafter", "-iprefix",
        "-iwithprefix", "-Wp,", "-Xpreprocessor", "-traditional"})
    if (option.starts_with(start)) return true;
  return one_of(option, {"-P", "-C", "-CC", "-H", "-nostdinc", "-undef", "-trigraphs", "-remap"});
}

bool is_linking(std::string_view option) {
  for (std::string_view start : {"-l", "-L", "-Wl,", "-Xlinker", "-fuse-ld", "-static-lib"})
    if (option.starts_with(start)) return true;
  return one_of(option, {"-shared", "-static", "-r", "-s", "-T", "-u", "-z", "-e", "--entry", "-rdynamic",
                         "-nostartfiles", "-nodefaultlibs", "-nostdlib", "-pie", "-no-pie", "-static-pie",
                         "-symbolic"});
}

// Questions that the compiler or the MPI wrapper answers; nothing is made.
bool is_question(std::string_view option) {
  if (one_of(option, {"-M", "-MM", "-###", "--version", "-dumpversion", "-dumpmachine", "-dumpspecs",
                      "-dumpfullversion", "--help", "-compile_info", "-link_info", "-show", "-compile-info",
                      "-link-info", "-dM"}))
    return true;
  return option.starts_with("-print-") || option.starts_with("--print-") || option.starts_with("-showme") ||
         option.starts_with("--showme") || option.starts_with("--help=") || option.starts_with("-show-");
}

// The file's language by its name, as gcc has it.
Language language_by_name(const std::string& path) {
  const size_t dot = path.rfind('.'), slash = path.rfind('/');
  if (dot == std::string::npos || (slash != std::string::npos && slash > dot)) return Language::object;
  const std::string ending = path.substr(dot);
  if (ending == ".c") return Language::c;
  if (ending == ".i") return Language::preprocessed_c;
  for (const char* source : {".cc",  ".cp",  ".cxx", ".cpp", ".CPP", ".c++", ".C",   ".ii",  ".m",   ".mm",
                             ".h",   ".hpp", ".hh",  ".f",   ".for", ".F",   ".FOR", ".f90", ".F90", ".f95",
                             ".F95", ".f03", ".F03", ".f08", ".F08", ".s",   ".S",   ".sx",  ".d",   ".go"})
    if (ending == source) return Language::other_source;
  return Language::object;
}

Language language_of(const std::string& given) {
  if (given == "c") return Language::c;
  if (given == "cpp-output") return Language::preprocessed_c;
  return Language::other_source;
}

class Parser {
 public:
  explicit Parser(CommandLine* line) : line_(*line) {}

  void parse(const std::vector<std::string>& words) {
    for (size_t i = 0; i < words.size(); i++) {
      const std::string& word = words[i];
      if (word.size() < 2 || word[0] != '-') {
        input(word);
      } else if (takes_value(word) && i + 1 < words.size()) {
        option(word, words[i + 1], true);
        i++;
      } else {
        option(word, "", false);
      }
    }
  }

 private:
  void input(const std::string& path) {
    line_.words.push_back({path, Role::input, line_.inputs.size()});
    line_.inputs.push_back(
        {path, language_.empty() ? language_by_name(path) : language_of(language_), language_});
  }

  void option(const std::string& word, const std::string& value, bool has_value) {
    if (word == "-fcheck=bounds") {  // the C compiler has no such option
      line_.checked = true;
      std::erase(line_.original, word);
      return;
    }
    if (word == "-acc") return acc();
    const Role role = role_of(word);
    line_.words.push_back({word, role});
    if (has_value) line_.words.push_back({value, role});
    note(word, value, has_value);
  }

  // As the compilers of OpenACC's first years have it.
  void acc() {
    std::replace(line_.original.begin(), line_.original.end(), std::string("-acc"), std::string("-fopenacc"));
    line_.words.push_back({"-fopenacc", Role::general});
    line_.openacc = line_.asks_openacc = true;
  }

  static Role role_of(const std::string& word) {
    if (word.starts_with("-o")) return Role::output;
    if (one_of(word, {"-c", "-S", "-E", "-fsyntax-only"})) return Role::stage;
    if (word.starts_with("-x")) return Role::language;
    if (word.starts_with("-M") && !word.starts_with("-Wp")) return Role::dependencies;
    if (is_linking(word)) return Role::linking;
    if (is_preprocessing(word)) return Role::preprocessing;
    return Role::general;
  }

  void note(const std::string& word, const std::string& value, bool has_value) {
    const auto joined = [&](size_t length) { return has_value ? value : word.substr(length); };
    if (word == "-c") set_stage(Stage::compile);
    if (word == "-S") set_stage(Stage::assemble);
    if (word == "-E") set_stage(Stage::preprocess);
    if (word == "-fsyntax-only") set_stage(Stage::check_syntax);
    if (word.starts_with("-o") && !word.starts_with("-objc")) line_.output = joined(2);
    if (word.starts_with("-x")) {
      language_ = joined(2);
      if (language_ == "none") language_.clear();
    }
    if (word == "-shared") line_.makes_library = true;
    if (word == "-static" || word == "-static-pie") line_.is_static = true;
    if (word == "-r") line_.is_relocatable = true;
    if (word == "-MD" || word == "-MMD") line_.wants_dependencies = true;
    if (is_question(word)) line_.only_asks = true;
    if (word.starts_with("-l")) line_.libraries.push_back(joined(2));
    if (word.starts_with("-L")) line_.library_folders.push_back(joined(2));
    if (one_of(word, {"-fopenmp", "-fiopenmp", "-qopenmp"}) || word.starts_with("-fopenmp="))
      line_.openmp = line_.threads = true;
    if (one_of(word, {"-fopenmp-simd", "-qopenmp-simd"})) line_.openmp = true;
    if (word == "-fopenacc") line_.openacc = true;
    if (word.starts_with("-std=") ||
        one_of(word, {"-ansi", "-m32", "-m64", "-mx32", "-fshort-enums", "-fshort-wchar", "-funsigned-char",
                      "-fsigned-char", "-fms-extensions", "-fgnu89-inline"}))
      line_.meaning.push_back(with_old_name(word));
  }

  // Standards by the names that libclang has had longest.
  static std::string with_old_name(const std::string& word) {
    for (const char* now : {"23", "2y"})
      for (const char* kind : {"-std=c", "-std=gnu"})
        if (word == std::string(kind) + now) return std::string(kind) + "2x";
    return word == "-std=iso9899:2024" ? "-std=c2x" : word;
  }

  // The earliest of several wins, as in gcc: -E before -S before -c.
  void set_stage(Stage stage) {
    const auto rank = [](Stage s) {
      return s == Stage::link           ? 0
             : s == Stage::compile      ? 1
             : s == Stage::assemble     ? 2
             : s == Stage::check_syntax ? 3
                                        : 4;
    };
    if (rank(stage) > rank(line_.stage)) line_.stage = stage;
  }

  CommandLine& line_;
  std::string language_;
};

bool expand(const std::vector<std::string>& arguments, int depth, std::vector<std::string>* words) {
  for (const std::string& argument : arguments) {
    if (argument.size() < 2 || argument[0] != '@') {
      words->push_back(argument);
      continue;
    }
    const Result<std::string> content = os::read_file(argument.substr(1));
    if (depth > 20 || !content.ok()) {
      fprintf(stderr, "tasukicc: error: cannot read the arguments in '%s': %s\n", argument.c_str() + 1,
              depth > 20 ? "files that name each other" : strerror(content.status().err()));
      return false;
    }
    if (!expand(split_words(content.value()), depth + 1, words)) return false;
  }
  return true;
}

}  // namespace

std::vector<std::string> CommandLine::of_roles(std::initializer_list<Role> roles) const {
  std::vector<std::string> result;
  for (const Word& word : words)
    if (std::find(roles.begin(), roles.end(), word.role) != roles.end()) result.push_back(word.text);
  return result;
}

bool parse_command_line(const std::vector<std::string>& arguments, CommandLine* result) {
  result->original = arguments;
  std::vector<std::string> words;
  if (!expand(arguments, 0, &words)) return false;
  Parser(result).parse(words);
  return true;
}

std::vector<std::string> split_words(const std::string& text) {
  std::vector<std::string> result;
  std::string word;
  bool inside = false;
  char quote = '\0';
  for (size_t i = 0; i < text.size(); i++) {
    const char c = text[i];
    if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      word += text[++i];
      inside = true;
    } else if (quote != '\0') {
      if (c == quote)
        quote = '\0';
      else
        word += c;
    } else if (c == '"' || c == '\'') {
      quote = c;
      inside = true;
    } else if (strchr(" \t\n\r\f\v", c) != nullptr) {
      if (inside) result.push_back(word);
      word.clear();
      inside = false;
    } else {
      word += c;
      inside = true;
    }
  }
  if (inside) result.push_back(word);
  return result;
}

}  // namespace tasuki::cc
