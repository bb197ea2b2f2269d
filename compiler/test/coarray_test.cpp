// The token pass of XcalableMP C and the stages behind it: what they find, and that no text makes them fail.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <random>

#include "compiler/emit/rewrite.h"
#include "compiler/lower/local/lowering.h"
#include "compiler/meaning/analysis_text.h"
#include "compiler/text/edits.h"
#include "os/files/text_file.h"

namespace tasuki::cc {
namespace {

std::string found(const std::string& bytes) {
  const Text text(bytes);
  Diagnostics diagnostics(text);
  const CoarrayTokens tokens = find_coarray_tokens(text, &diagnostics);
  std::string result;
  for (const Coindex& c : tokens.coindices)
    result += std::string(text.spelling(c.begin)) + (c.declares ? ":[*] " : ":[] ");
  for (size_t i = 0; i < tokens.sections.size(); i++) result += "section ";
  return result + (diagnostics.errors() > 0 ? "error" : "");
}

TEST(CoarrayTokens, AreDeclarationsReferencesAndSections) {
  EXPECT_EQ(found("int a[3]:[*], *p:[2][*]; f(int x[]:[]);"), "a:[*] p:[*] x:[*] ");
  EXPECT_EQ(found("{ a[i]:[2] = p->x[f(1)].y:[n][k+1]; (*q)[1]:[3]; }"), "a:[] p:[] (:[] ");
  EXPECT_EQ(found("{ a[:] = b[i:n][j:m:2] + c[x ? y : z]; a[b:[1]:3]; }"),
            "b:[] section section section section ");
  EXPECT_EQ(found("int a[3]:[4];"), "error");
  EXPECT_EQ(found("int a[3]:[*][4];"), "error");
  EXPECT_EQ(found("{ a[1:2:3:4] = 0; }"), "section error");
}

TEST(CoarrayTokens, LeaveCAlone) {
  for (const char* text :
       {"{ a[x ? 1 : 0] = x ? b[1] : c[2]; }", "{ asm(\"\" : [out] \"=r\"(x) : [in] \"r\"(y)); }",
        "struct s { int x : 3, : 2; };", "{ switch (x) { case 1: [[fallthrough]]; default: ; } }",
        "[[gnu::unused]] int x;", "{ l: x[1] = 2; }", "int a[3] = {[0] = 1, [1 ... 2] = x ? 1 : 2};",
        "{ a<:1:> = 2; }", "{ x = y ?: z[1]; }", "char *s = \"a:[1] b[0:3]\";"})
    EXPECT_EQ(found(text), "") << text;
}

std::string neutral(const std::string& bytes) {
  const Text text(bytes);
  Diagnostics diagnostics(text);
  const CoarrayTokens tokens = find_coarray_tokens(text, &diagnostics);
  Neutral n = neutral_text(text, tokens);
  n.before.erase(0);
  return AnalysisText(text, {}, n, {}).bytes();
}

TEST(Neutral, IsC) {
  EXPECT_EQ(neutral("int a[3]:[2][*] = {1};"), "int a[3] = {1};");
  EXPECT_EQ(neutral("{ a[i]:[2] = x; }"), "{ (&a[i])[__tasuki_image(&__tasuki_c[2])] = x; }");
  EXPECT_EQ(neutral("{ s:[i][j].f; }"), "{ (&s)[__tasuki_image(&__tasuki_c[i], &__tasuki_c[j])].f; }");
  EXPECT_EQ(neutral("{ a[:n]; }"), "{ a[__tasuki_section(&__tasuki_c[0], &__tasuki_c[n])]; }");
}

TEST(Directives, BecomeWordsInTheirLines) {
  const Text text("{\n#pragma xmp post(p(1), 2)\n# pragma xmp wait\nx;\n#pragma omp parallel\n}\n");
  Diagnostics diagnostics(text);
  EXPECT_EQ(
      directives_as_words(text, &diagnostics),
      "{\n__tasuki_directive post(p(1), 2) ; \n__tasuki_directive wait ; \nx;\n#pragma omp parallel\n}\n");
  EXPECT_EQ(directive_arguments(text), (std::vector<std::string>{"(p(1), 2)", ""}));
  EXPECT_EQ(with_directive_arguments(text, {"(q)", " (r)"}),
            "{\n#pragma xmp post(q)\n# pragma xmp wait (r)\nx;\n#pragma omp parallel\n}\n");
}

// All stages on one text, whatever it is.
void run_stages(const std::string& bytes, bool with_meaning) {
  const Text lines(bytes);
  Diagnostics ignored(lines);
  Unit unit;
  unit.options = {.openmp = true, .openacc = true, .checked = true};
  unit.text = Text(has_directives(lines) ? directives_as_words(lines, &ignored) : bytes);
  unit.tokens = find_coarray_tokens(unit.text, &unit.diagnostics);
  if (unit.diagnostics.errors() > 0 || unit.tokens.empty()) return;
  unit.neutral = neutral_text(unit.text, unit.tokens);
  if (with_meaning) {
    ASSERT_TRUE(analyse(&unit));
  } else {
    EXPECT_FALSE(AnalysisText(unit.text, {}, unit.neutral, {}).bytes().empty());
  }
  find_coarrays(&unit);
  if (with_meaning && unit.diagnostics.errors() > 0) return;
  unit.diagnostics = Diagnostics(unit.text);
  unit.acc = find_acc_regions(unit);
  unit.pragma_uses = find_pragma_uses(unit);
  if (unit.diagnostics.errors() == 0) rewrite(&unit);
}

// Programs of the tests, without what they include.
std::vector<std::string> seeds() {
  std::vector<std::string> result;
  for (const char* folder : {"xmp", "xmp_reject"}) {
    for (const auto& file :
         std::filesystem::directory_iterator(std::filesystem::path(TASUKICC_TESTS) / folder)) {
      const std::string content = os::file_or_empty(file.path().string());
      if (file.path().extension() != ".c" || content.empty()) continue;
      std::string kept;
      for (size_t begin = 0; begin < content.size();) {
        const size_t end = std::min(content.find('\n', begin), content.size());
        const std::string line = content.substr(begin, end - begin);
        kept += (line.starts_with("#include") || line.starts_with("#define") ? "" : line) + "\n";
        begin = end + 1;
      }
      result.push_back(kept);
    }
  }
  return result;
}

class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  std::string mutate(const std::string& seed) {
    const Text text(seed);
    std::vector<std::string> tokens;
    // A part of it is enough, and faster.
    const size_t all = text.tokens().size(), first = pick(all), last = std::min(all, first + 20 + pick(200));
    for (size_t i = first; i < last; i++) {
      const bool line = text.tokens()[i].kind == TokenKind::directive;
      tokens.push_back((line ? "\n" : " ") + std::string(text.spelling(i)) + (line ? "\n" : ""));
    }
    for (size_t n = 1 + pick(4); n > 0 && !tokens.empty(); n--) change(&tokens);
    std::string result = "int a[9]:[*], m[2][3]:[2][*]; int f(void) {";
    for (const std::string& token : tokens) result += token;
    return result + (pick(3) > 0 ? " }" : "");
  }

  size_t pick(size_t below) { return below == 0 ? 0 : random_() % below; }

 private:
  void change(std::vector<std::string>* tokens) {
    static const char* const kPieces[] = {":[1]",
                                          ":",
                                          "[",
                                          "]",
                                          ":[*]",
                                          "[0:3]",
                                          "[:]",
                                          "[::-1]",
                                          "(",
                                          ")",
                                          "{",
                                          "}",
                                          ";",
                                          "=",
                                          ",",
                                          "?",
                                          "a",
                                          "m",
                                          "&",
                                          "++",
                                          "sizeof",
                                          ".",
                                          "->",
                                          "\"",
                                          ":[",
                                          "+=",
                                          "->x",
                                          "if (",
                                          "else",
                                          "for (;;)",
                                          "\n#pragma xmp nonblock\n",
                                          "\n#pragma xmp post(p(1), 2)\n",
                                          "\n#pragma xmp lock(a[0]:[1])\n",
                                          "'",
                                          "/*",
                                          "\\",
                                          "case 1:"};
    const auto at = tokens->begin() + static_cast<std::ptrdiff_t>(pick(tokens->size()));
    switch (pick(4)) {
      case 0:
        tokens->erase(at);
        break;
      case 1:
        tokens->insert(at, *at);
        break;
      case 2:
        std::swap(*at, (*tokens)[pick(tokens->size())]);
        break;
      default:
        tokens->insert(at, " " + std::string(kPieces[pick(std::size(kPieces))]));
    }
  }

  std::mt19937 random_;
};

TEST(Stages, TakeAnyText) {
  const auto programs = seeds();
  ASSERT_GT(programs.size(), 15U);
  // Their errors are many, and of no interest.
  testing::internal::CaptureStderr();
  Mutator mutator(1);
  for (int n = 0; n < 6000; n++)
    run_stages(mutator.mutate(programs[mutator.pick(programs.size())]), n % 12 == 0);
  for (const char* text : {"",
                           ":",
                           ":[",
                           ":[*]",
                           "a:[",
                           "a[:",
                           "a[:]",
                           "a:[1",
                           "{a:[1]",
                           "{a[:]=",
                           "{a[:];",
                           "{:[1];",
                           "[:]:[*]",
                           "{a:[1]:[2];",
                           "#pragma xmp",
                           "#pragma xmp nonblock",
                           "{\n#pragma xmp nonblock\n",
                           "{\n#pragma xmp task on p(1)\n",
                           "{\n#pragma xmp nonblock\n#pragma xmp nonblock\n",
                           "{\n#pragma xmp lock(\n",
                           "{if(a[:]",
                           "{else a[:]=1;",
                           "{do",
                           "{a[:]=(;",
                           "{a[:]=b[:]+;",
                           "{a[:]=f(b[:];}",
                           "{a[:]?b:c=1;}",
                           "{a[:]=b[:]?;}",
                           "{x=a:[1]?:",
                           "{a[0:1]:[1]:[2]=3;}"}) {
    run_stages(text, false);
    run_stages(text, true);
  }
  EXPECT_FALSE(testing::internal::GetCapturedStderr().empty());
}

}  // namespace
}  // namespace tasuki::cc
