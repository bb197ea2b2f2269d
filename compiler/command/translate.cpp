#include "compiler/command/translate.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "compiler/checks/whole_arrays.h"
#include "compiler/command/link.h"
#include "compiler/lower/rewrite.h"
#include "compiler/meaning/acc_regions.h"
#include "compiler/meaning/analysis.h"
#include "compiler/meaning/coarray_operand.h"
#include "compiler/meaning/runtime_arrays.h"
#include "compiler/text/diagnostics.h"
#include "compiler/text/edits.h"
#include "compiler/text/text.h"
#include "compiler/tokens/coarray.h"
#include "compiler/tokens/dlm.h"
#include "compiler/tokens/xmp_directive.h"

namespace tasuki::cc {
namespace {

using Command = std::vector<std::string>;

void append(Command* command, const Command& more) {
  command->insert(command->end(), more.begin(), more.end());
}

bool write_file(const std::string& path, const std::string& content) {
  std::ofstream file(path, std::ios::binary);
  file << content;
  if (file.flush()) return true;
  fprintf(stderr, "tasukicc: error: cannot write '%s': is the disk full?\n", path.c_str());
  return false;
}

void print_file(const std::string& path) {
  std::string content;
  if (read_file(path, &content)) fputs(content.c_str(), stderr);
}

class Translator {
 public:
  Translator(const CommandLine& line, const Input& input, const std::string& standard_input,
             TemporaryFolder* temporary)
      : line_(line), input_(input), temporary_(*temporary) {
    if (input.path == "-") standard_input_ = standard_input;
  }

  int run(Translation* result) {
    std::string bytes;
    if (const int failed = preprocess(&bytes)) return failed;
    const auto includes = [&](const char* header) {
      return bytes.find("\"" + include_folder() + "/" + header + "\"") != std::string::npos;
    };
    result->is_xmp = includes("xmp.h");
    result->uses_header = result->is_xmp || includes("dlm.h");
    if (input_.language == Language::other_source) return 0;
    if (bytes.size() > UINT32_MAX / 2) {
      fprintf(stderr, "tasukicc: error: %s: 2 GiB after the preprocessor are too much\n",
              input_.path.c_str());
      return 1;
    }
    if (result->is_xmp) {
      const Text sections(std::move(bytes));
      Diagnostics diagnostics(sections);
      bytes = whole_arrays_as_descriptors(sections, &diagnostics);
      if (diagnostics.errors() > 0) return 1;
    }
    const Text text(std::move(bytes));
    if (has_directives(text)) {
      std::string expanded;
      if (const int failed = expand_directives(text, &expanded)) return failed;
      const Text lines(std::move(expanded));
      Diagnostics diagnostics(lines);
      const Text words(directives_as_words(lines, &diagnostics));
      return diagnostics.errors() > 0 ? 1 : translate(words, result);
    }
    return translate(text, result);
  }

 private:
  int translate(const Text& text, Translation* result) {
    Diagnostics diagnostics(text);
    const CoarrayTokens coarrays = find_coarray_tokens(text, &diagnostics);
    if (diagnostics.errors() > 0) return 1;
    const DlmTokens dlm = find_dlm_tokens(text);
    result->has_arrays = !dlm.specifiers.empty() || !coarrays.empty();
    if (!result->has_arrays) return 0;
    if (coarrays.empty()) return translate_dlm(text, dlm, result);
    result->is_xmp = true;
    if (!dlm.specifiers.empty()) {
      diagnostics.error(text.begin_of(dlm.specifiers.front()),
                        "a program has dlm arrays or coarrays, not both",
                        "with dlm arrays one process runs the program and the others hold its memory; with "
                        "coarrays all run it");
      return 1;
    }
    return translate_coarrays(text, coarrays, result);
  }

  int translate_coarrays(const Text& text, const CoarrayTokens& tokens, Translation* result) {
    Neutral neutral = neutral_text(text, tokens);
    Diagnostics diagnostics(text);
    if (line_.openacc) {
      if (!check_device_sets(text, &diagnostics)) return 1;
      hide_coarrays(text, tokens, &neutral);
    }
    Analysis analysis;
    if (const int failed = check_neutral(text, neutral)) {
      if (analyse(text, {}, neutral, line_.meaning, &analysis)) explain(text, tokens, analysis, &diagnostics);
      return failed;
    }
    if (!analyse(text, {}, neutral, line_.meaning, &analysis)) return 1;
    CoarrayNames names;
    const RuntimeArrays coarrays = find_coarrays(text, tokens, analysis, &names, &diagnostics);
    find_on_nodes(text, tokens, analysis, &names, &diagnostics);
    if (diagnostics.errors() > 0) return 1;
    const std::string rewritten =
        rewrite_coarrays(text, tokens, analysis, coarrays, names,
                         {line_.openmp, line_.openacc, line_.threads}, line_.checked, &diagnostics);
    if (diagnostics.errors() > 0) return 1;
    return write_result(rewritten, result);
  }

  // C says of a:[2] = b only that it assigns to an array, and of s.b:[2] that a bit-field has no address.
  static void explain(const Text& text, const CoarrayTokens& tokens, const Analysis& analysis,
                      Diagnostics* diagnostics) {
    for (const Coindex& c : tokens.coindices) {
      const size_t member = text.previous(c.colon);
      if (!c.declares && analysis.bit_fields.contains(text.begin_of(member))) {
        const std::string name(text.spelling(member));
        diagnostics->note(text.begin_of(member), "the bit-field '" + name +
                                                     "' of another image is a member of its structure there: "
                                                     "write structure:[image]." +
                                                     name);
      }
      if (c.declares || !text.is_assignment(text.skip_directives(c.end))) continue;
      const auto type = analysis.types.find({text.begin_of(c.begin), text.end_of(c.end - 1)});
      if (type != analysis.types.end() && type->second.shape == Shape::array)
        diagnostics->note(text.begin_of(c.begin), "an array in another image is assigned to as a section: " +
                                                      as_section(text, tokens, c.begin, c.end, type->second) +
                                                      " = ..");
    }
  }

  int write_result(const std::string& rewritten, Translation* result) {
    result->file = temporary_.file(std::filesystem::path(input_.path).stem().string() + ".i");
    return write_file(result->file, rewritten) ? 0 : 1;
  }

  int translate_dlm(const Text& text, const DlmTokens& dlm, Translation* result) {
    if (const int failed = check(text, dlm)) return failed;
    Diagnostics diagnostics(text);
    Analysis analysis;
    if (!analyse(text, dlm, {}, line_.meaning, &analysis)) return 1;
    const RuntimeArrays arrays = find_dlm_arrays(text, dlm, analysis, &diagnostics);
    if (diagnostics.errors() > 0) return 1;
    const std::string rewritten =
        rewrite(text, dlm, analysis, arrays, {line_.openmp, line_.openacc}, &diagnostics);
    if (diagnostics.errors() > 0) return 1;
    return write_result(rewritten, result);
  }

  Command with_language(const Command& command) const {
    Command result = command;
    if (!input_.explicit_language.empty()) append(&result, {"-x", input_.explicit_language});
    result.push_back(input_.path);
    return result;
  }

  // The preprocessor replaces no macros in pragmas that it does not know. The definitions of the program and the directives alone, as
  // lines that are none, go through it once more.
  int expand_directives(const Text& text, std::string* bytes) {
    *bytes = text.bytes();
    const auto arguments = directive_arguments(text);
    const auto has_words = [](const std::string& line) {
      return std::any_of(line.begin(), line.end(),
                         [](char c) { return is_word_character(c) && (c < '0' || c > '9'); });
    };
    if (std::none_of(arguments.begin(), arguments.end(), has_words)) return 0;
    std::string with_definitions, expanded;
    if (const int failed = preprocess(&with_definitions, {"-dD"})) return failed;
    const Text definitions(std::move(with_definitions));
    std::string lines;
    size_t n = 0;
    for (size_t i = 0; i < definitions.tokens().size(); i++) {
      if (definitions.tokens()[i].kind != TokenKind::directive) continue;
      const std::string line(definitions.spelling(i));
      if (line.starts_with("#define ") || line.starts_with("#undef "))
        lines += line + "\n";
      else if (const Text one(line + "\n"); has_directives(one))
        lines += "__tasuki_arguments" + std::to_string(n++) + " " + directive_arguments(one).front() + "\n";
    }
    const std::string source = temporary_.file("directives.c"), output = temporary_.file("directives.i");
    if (n != arguments.size() || !write_file(source, lines)) return 0;
    Command command = mpi_compiler();
    append(&command, line_.of_roles({Role::general}));
    append(&command, {"-D_XCALABLEMP=201812", "-w", "-E", "-P", "-x", "c", "-o", output, source});
    if (run_program(command, {.errors = temporary_.file("errors")}) != 0 || !read_file(output, &expanded))
      return 0;
    std::vector<std::string> replaced;
    for (size_t begin = 0; begin < expanded.size();) {
      const size_t end = std::min(expanded.find('\n', begin), expanded.size());
      const std::string line = expanded.substr(begin, end - begin),
                        start = "__tasuki_arguments" + std::to_string(replaced.size());
      if (line.starts_with(start)) replaced.push_back(line.substr(start.size()));
      begin = end + 1;
    }
    if (replaced.size() == n) *bytes = with_directive_arguments(text, replaced);
    return 0;
  }

  int preprocess(std::string* bytes, const Command& more = {}) {
    if (input_.language == Language::preprocessed_c && input_.path != "-") {
      if (read_file(input_.path, bytes)) return 0;
      fprintf(stderr, "tasukicc: error: cannot read '%s'\n", input_.path.c_str());
      return 1;
    }
    const std::string output = temporary_.file("preprocessed.i"), errors = temporary_.file("errors");
    Command command = mpi_compiler();
    for (const std::string& word : line_.of_roles({Role::general, Role::preprocessing}))
      if (word != "-P") command.push_back(word);  // lines must be known
    append(&command, {"-D_XCALABLEMP=201812", "-w", "-idirafter", include_folder(), "-E", "-o", output});
    append(&command, more);
    const int failed = run_program(with_language(command), {.input = standard_input_, .errors = errors});
    if (failed != 0) {
      print_file(errors);
      return failed;
    }
    return read_file(output, bytes) ? 0 : 1;
  }

  // The C that coarrays become for the check has the user's lines; its columns are those of the preprocessor's output.
  int check_neutral(const Text& text, const Neutral& neutral) {
    Edits edits(text);
    for (const auto& [token, what] : neutral.before) edits.insert(text.begin_of(token), what);
    for (const auto& [token, what] : neutral.instead)
      edits.replace(text.begin_of(token), text.end_of(token), what);
    for (const auto& [token, what] : neutral.after) edits.insert(text.end_of(token), what);
    Command command = mpi_compiler();
    append(&command, line_.of_roles({Role::general}));
    const std::string plain = temporary_.file(std::filesystem::path(input_.path).stem().string() + ".i");
    if (!write_file(plain, edits.all())) return 1;
    append(&command, {"-S", "-o", temporary_.file("check.s"), "-x", "cpp-output", plain});
    if (const int failed = run_program(command)) return failed;
    if (!line_.wants_dependencies || input_.language != Language::c) return 0;
    // The compiler writes them before it stumbles over the first coarray. Whether it could, its own words tell.
    const std::string errors = temporary_.file("errors");
    std::string said;
    if (write_dependencies({.errors = errors}) == 0 || !read_file(errors, &said)) return 0;
    std::istringstream lines(said);
    for (std::string one; std::getline(lines, one);)
      if (one.find("dependency file") != std::string::npos ||
          one.find("unable to open") != std::string::npos) {
        fprintf(stderr, "%s\n", one.c_str());
        return 1;
      }
    return 0;
  }

  // The user's own program with the word dlm gone is compiled first, so that the compiler's errors and warnings are those that
  // he would get without Tasuki, at the columns of his own files; the rewritten text is then compiled in silence.
  int check(const Text& text, const DlmTokens& dlm) {
    Command command = mpi_compiler();
    append(&command, line_.of_roles({Role::general}));
    if (dlm.ordinary || input_.language == Language::preprocessed_c) {
      Edits edits(text);
      for (size_t token : dlm.specifiers) edits.replace(text.begin_of(token), text.end_of(token), "   ");
      const std::string plain = temporary_.file(std::filesystem::path(input_.path).stem().string() + ".i");
      if (!write_file(plain, edits.all())) return 1;
      append(&command, {"-S", "-o", temporary_.file("check.s"), "-x", "cpp-output", plain});
      if (const int failed = run_program(command)) return failed;
    } else {
      append(&command, line_.of_roles({Role::preprocessing}));
      append(&command, {"-idirafter", include_folder(), "-Ddlm=", "-S", "-o", temporary_.file("check.s")});
      if (const int failed = run_program(with_language(command), {.input = standard_input_})) return failed;
    }
    return line_.wants_dependencies && input_.language == Language::c ? write_dependencies() : 0;
  }

  // -MD and its kin: the compiler chooses the names from the same options as always.
  int write_dependencies(const Streams& streams = {}) {
    Command command = mpi_compiler();
    append(&command, line_.of_roles({Role::general, Role::preprocessing, Role::dependencies, Role::stage,
                                     Role::output}));
    append(&command, {"-w", "-idirafter", include_folder(), "-Ddlm=", "-fsyntax-only"});
    Streams all = streams;
    all.input = standard_input_;
    return run_program(with_language(command), all);
  }

  const CommandLine& line_;
  const Input& input_;
  TemporaryFolder& temporary_;
  std::string standard_input_;
};

}  // namespace

int translate(const CommandLine& line, const Input& input, const std::string& standard_input,
              TemporaryFolder* temporary, Translation* result) {
  return Translator(line, input, standard_input, temporary).run(result);
}

std::vector<std::string> compile_command(const CommandLine& line, const Translation& translation, Stage stage,
                                         const std::string& output) {
  Command command = mpi_compiler();
  append(&command, line.of_roles({Role::general}));
  // Distributed arrays are pointers: a stencil of a dozen of them needs more checks of overlap than gcc's own limit of 10 before it
  // is vectorised (measured: 3 times on 19 points). clang does not look at it.
  if (translation.is_xmp) append(&command, {"--param", "vect-max-version-for-alias-checks=100"});
  append(&command,
         {"-w", stage == Stage::assemble ? "-S" : "-c", "-o", output, "-x", "cpp-output", translation.file});
  return command;
}

}  // namespace tasuki::cc
