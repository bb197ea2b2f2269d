#include "compiler/command/translate.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <sstream>

#include "compiler/command/external_programs.h"
#include "compiler/command/link.h"
#include "compiler/emit/rewrite.h"
#include "compiler/meaning/coarray_operand.h"
#include "compiler/meaning/unit.h"
#include "compiler/text/edits.h"
#include "compiler/tokens/whole_arrays.h"
#include "compiler/tokens/xmp_directive.h"
#include "os/files/text_file.h"

namespace tasuki::cc {
namespace {

using Command = std::vector<std::string>;

void append(Command* command, const Command& more) {
  command->insert(command->end(), more.begin(), more.end());
}

void print_file(const std::string& path) {
  fputs(os::file_or_empty(path).c_str(), stderr);
}

// False: there is no such file.
bool take_file(const std::string& path, std::string* content) {
  Result<std::string> file = os::read_file(path);
  if (file.ok()) *content = std::move(file.value());
  return file.ok();
}

class Translator {
 public:
  Translator(const CommandLine& line, const Input& input, const std::string& standard_input,
             TemporaryFolder* temporary, Translation* result)
      : line_(line), input_(input), temporary_(*temporary), result_(*result) {
    if (input.path == "-") standard_input_ = standard_input;
    unit_.options = {line.openmp, line.openacc, line.threads, line.checked, line.meaning};
  }

  // The first stage that reports an error is the last.
  int run() {
    for (const auto stage : {
             &Translator::preprocess,           // by the user's compiler
             &Translator::name_whole_arrays,    // f(a[:][:]) of XcalableMP's procedures: f(xmp_desc_of(a))
             &Translator::expand_directives,    // macros in #pragma xmp
             &Translator::directives_to_words,  // #pragma xmp as tokens
             &Translator::find_tokens,  // dlm; codimensions, references to other images, sections, directives
             &Translator::make_neutral,     // coarrays as C that means them
             &Translator::check,            // as C, by the user's compiler
             &Translator::analyse_names,    // declarations, references and types, by libclang
             &Translator::find_arrays,      // dlm arrays or coarrays, and every place that uses one
             &Translator::find_in_pragmas,  // the same in pragmas of OpenMP and OpenACC
             &Translator::rewrite_text,     // arrays as pointers, the rest as calls of the library
             &Translator::write,            // for the user's compiler
         }) {
      if (const int failed = (this->*stage)()) return failed;
      if (unit_.diagnostics.errors() > 0) return 1;
      if (is_plain_) break;
    }
    return 0;
  }

 private:
  // ---- the stages: 0, or the exit code of what was run

  int preprocess() {
    std::string bytes;
    if (const int failed = run_preprocessor(&bytes)) return failed;
    const auto includes = [&](const char* header) {
      return bytes.find("\"" + include_folder() + "/" + header + "\"") != std::string::npos;
    };
    result_.is_xmp = includes("xmp.h");
    result_.uses_header = result_.is_xmp || includes("dlm.h");
    is_plain_ = input_.language == Language::other_source;
    if (is_plain_) return 0;
    if (bytes.size() > UINT32_MAX / 2) {
      fprintf(stderr, "tasukicc: error: %s: 2 GiB after the preprocessor are too much\n",
              input_.path.c_str());
      return 1;
    }
    unit_.text = Text(std::move(bytes));
    return 0;
  }

  int name_whole_arrays() {
    if (result_.is_xmp) unit_.text = Text(whole_arrays_as_descriptors(unit_.text, &unit_.diagnostics));
    return 0;
  }

  // The preprocessor replaces no macros in pragmas that it does not know. The definitions of the program and
  // the directives alone, as lines that are none, go through it once more.
  int expand_directives() {
    const auto arguments = directive_arguments(unit_.text);
    const auto has_words = [](const std::string& line) {
      return std::any_of(line.begin(), line.end(),
                         [](char c) { return is_word_character(c) && (c < '0' || c > '9'); });
    };
    if (std::none_of(arguments.begin(), arguments.end(), has_words)) return 0;
    std::string with_definitions;
    if (const int failed = run_preprocessor(&with_definitions, {"-dD"})) return failed;
    const std::vector<std::string> replaced = expanded(Text(std::move(with_definitions)), arguments.size());
    if (replaced.size() == arguments.size())
      unit_.text = Text(with_directive_arguments(unit_.text, replaced));
    return 0;
  }

  int directives_to_words() {
    if (has_directives(unit_.text)) unit_.text = Text(directives_as_words(unit_.text, &unit_.diagnostics));
    return 0;
  }

  int find_tokens() {
    unit_.tokens = find_coarray_tokens(unit_.text, &unit_.diagnostics);
    if (unit_.diagnostics.errors() > 0) return 1;
    unit_.dlm = find_dlm_tokens(unit_.text);
    const bool dlm = !unit_.dlm.specifiers.empty(), coarrays = !unit_.tokens.empty();
    result_.has_arrays = dlm || coarrays;
    is_plain_ = !result_.has_arrays;
    result_.is_xmp = result_.is_xmp || coarrays;
    unit_.arrays.kind = coarrays ? ArrayKind::coarray : ArrayKind::dlm;
    if (dlm && coarrays)
      unit_.diagnostics.error(
          unit_.text.begin_of(unit_.dlm.specifiers.front()), "a program has dlm arrays or coarrays, not both",
          "with dlm arrays one process runs the program and the others hold its memory; with "
          "coarrays all run it");
    return 0;
  }

  int make_neutral() {
    if (!is_coarray()) return 0;
    unit_.neutral = neutral_text(unit_.text, unit_.tokens);
    if (!unit_.options.openacc) return 0;
    check_device_sets(unit_);
    hide_coarrays(&unit_);
    return 0;
  }

  int check() {
    const int failed = is_coarray() ? check_neutral() : check_without_dlm();
    if (failed != 0 && is_coarray() && analyse(&unit_)) explain();
    return failed;
  }

  int analyse_names() { return analyse(&unit_) ? 0 : 1; }

  int find_arrays() {
    if (is_coarray()) {
      find_coarrays(&unit_);
      find_on_nodes(&unit_);
    } else {
      find_dlm_arrays(&unit_);
    }
    return 0;
  }

  int find_in_pragmas() {
    if (is_coarray() && unit_.options.openacc) unit_.acc = find_acc_regions(unit_);
    unit_.pragma_uses = find_pragma_uses(unit_);
    return 0;
  }

  int rewrite_text() {
    rewritten_ = rewrite(&unit_);
    return 0;
  }

  int write() {
    result_.file = temporary_.file(std::filesystem::path(input_.path).stem().string() + ".i");
    return write_file(result_.file, rewritten_) ? 0 : 1;
  }

  // ---- what they need

  bool is_coarray() const { return unit_.arrays.kind == ArrayKind::coarray; }

  // C says of a:[2] = b only that it assigns to an array, and of s.b:[2] that a bit-field has no address.
  void explain() const {
    const Text& text = unit_.text;
    for (const Coindex& c : unit_.tokens.coindices) {
      const size_t member = text.previous(c.colon);
      if (!c.declares && unit_.analysis.bit_fields.contains(text.begin_of(member))) {
        const std::string name(text.spelling(member));
        unit_.diagnostics.note(text.begin_of(member),
                               "the bit-field '" + name +
                                   "' of another image stands behind the image: write structure:[image]." +
                                   name);
      }
      if (c.declares || !text.is_assignment(text.skip_directives(c.end))) continue;
      const ExpressionType* type = unit_.type(c.begin, c.end);
      if (type != nullptr && type->shape == Shape::array)
        unit_.diagnostics.note(text.begin_of(c.begin),
                               "to assign to an array in another image, write a section: " +
                                   as_section(unit_, c.begin, c.end, *type) + " = ..");
    }
  }

  Command with_language(const Command& command) const {
    Command result = command;
    if (!input_.explicit_language.empty()) append(&result, {"-x", input_.explicit_language});
    result.push_back(input_.path);
    return result;
  }

  // The arguments of the directives with macros replaced; fewer than `count` if that failed.
  std::vector<std::string> expanded(const Text& definitions, size_t count) {
    std::string lines, output_lines;
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
    if (n != count || !write_file(source, lines)) return {};
    Command command = mpi_compiler();
    append(&command, line_.of_roles({Role::general}));
    append(&command, {"-D_XCALABLEMP=201812", "-w", "-E", "-P", "-x", "c", "-o", output, source});
    if (run_program(command, {.errors = temporary_.file("errors")}) != 0 || !take_file(output, &output_lines))
      return {};
    std::vector<std::string> replaced;
    for (size_t begin = 0; begin < output_lines.size();) {
      const size_t end = std::min(output_lines.find('\n', begin), output_lines.size());
      const std::string line = output_lines.substr(begin, end - begin),
                        start = "__tasuki_arguments" + std::to_string(replaced.size());
      if (line.starts_with(start)) replaced.push_back(line.substr(start.size()));
      begin = end + 1;
    }
    return replaced;
  }

  int run_preprocessor(std::string* bytes, const Command& more = {}) {
    if (input_.language == Language::preprocessed_c && input_.path != "-") {
      if (take_file(input_.path, bytes)) return 0;
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
    return take_file(output, bytes) ? 0 : 1;
  }

  // The C that coarrays become for the check has the user's lines; its columns are those of the
  // preprocessor's output.
  int check_neutral() {
    const Text& text = unit_.text;
    const Neutral& neutral = unit_.neutral;
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
    // The compiler writes them before it stumbles over the first coarray. Whether it could, its own words
    // tell.
    const std::string errors = temporary_.file("errors");
    if (write_dependencies({.errors = errors}) == 0) return 0;
    std::istringstream lines(os::file_or_empty(errors));
    for (std::string one; std::getline(lines, one);)
      if (one.find("dependency file") != std::string::npos ||
          one.find("unable to open") != std::string::npos) {
        fprintf(stderr, "%s\n", one.c_str());
        return 1;
      }
    return 0;
  }

  // The user's own program with the word dlm gone is compiled first, so that the compiler's errors and
  // warnings are those that he would get without Tasuki, at the columns of his own files; the rewritten text
  // is then compiled in silence.
  int check_without_dlm() {
    const Text& text = unit_.text;
    const DlmTokens& dlm = unit_.dlm;
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
  Translation& result_;
  std::string standard_input_;
  Unit unit_;
  bool is_plain_ = false;  // nothing in it is to be rewritten
  std::string rewritten_;
};

}  // namespace

int translate(const CommandLine& line, const Input& input, const std::string& standard_input,
              TemporaryFolder* temporary, Translation* result) {
  return Translator(line, input, standard_input, temporary, result).run();
}

std::vector<std::string> compile_command(const CommandLine& line, const Translation& translation, Stage stage,
                                         const std::string& output) {
  Command command = mpi_compiler();
  append(&command, line.of_roles({Role::general}));
  // Distributed arrays are pointers: a stencil of a dozen of them needs more checks of overlap than gcc's own
  // limit of 10 before it is vectorised (measured: 3 times on 19 points). clang does not look at it.
  if (translation.is_xmp) append(&command, {"--param", "vect-max-version-for-alias-checks=100"});
  append(&command,
         {"-w", stage == Stage::assemble ? "-S" : "-c", "-o", output, "-x", "cpp-output", translation.file});
  return command;
}

}  // namespace tasuki::cc
