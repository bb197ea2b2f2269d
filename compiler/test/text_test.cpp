#include "compiler/text/text.h"

#include <gtest/gtest.h>

#include "compiler/meaning/analysis_text.h"
#include "compiler/text/declarator.h"
#include "compiler/text/edits.h"
#include "compiler/tokens/dlm.h"

namespace tasuki::cc {
namespace {

std::string all_tokens(const std::string& bytes) {
  const Text text(bytes);
  std::string result;
  for (size_t i = 0; i < text.tokens().size(); i++) result += std::string(text.spelling(i)) + "|";
  return result;
}

size_t find(const Text& text, std::string_view word, int nth = 1) {
  for (size_t i = 0; i < text.tokens().size(); i++)
    if (text.spelling(i) == word && --nth == 0) return i;
  ADD_FAILURE() << "no " << word;
  return 0;
}

TEST(Text, SplitsIntoTokens) {
  EXPECT_EQ(all_tokens("int a[3]={1,.5e-3,0x1p+2};"), "int|a|[|3|]|=|{|1|,|.5e-3|,|0x1p+2|}|;|");
  EXPECT_EQ(all_tokens("a->b...c<<=d"), "a|->|b|...|c|<<=|d|");
  EXPECT_EQ(all_tokens("'\\'' \"\\\"dlm\\\\\" L\"x\""), "'\\''|\"\\\"dlm\\\\\"|L|\"x\"|");
  EXPECT_EQ(all_tokens("R\"x(a\")\n)x\" b"), "R\"x(a\")\n)x\"|b|");
  EXPECT_EQ(all_tokens("a/*dlm*/b//dlm\nc"), "a|b|c|");
  EXPECT_EQ(all_tokens("a\n  # pragma x \\\n y\nb"), "a|# pragma x \\\n y|b|");
  EXPECT_EQ(all_tokens("x$1 \xc3\xa4 \\u00e4z"), "x$1|\xc3\xa4|\\u00e4z|");
  EXPECT_EQ(all_tokens("\"open\nnext"), "\"open|next|");
  EXPECT_EQ(all_tokens("\"open\\"), "\"open\\|");
  EXPECT_EQ(all_tokens(""), "");
}

TEST(Text, MatchesBracketsOfOneKindAndDigraphs) {
  const Text text("f(a<:1:>, {2});)");
  EXPECT_EQ(text.tokens()[1].match, find(text, ")"));
  EXPECT_TRUE(text.is(find(text, "<:"), "["));
  EXPECT_EQ(text.tokens()[find(text, "<:")].match, find(text, ":>"));
  const size_t alone = find(text, ")", 2);
  EXPECT_EQ(text.tokens()[alone].match, alone);
}

TEST(Text, KnowsThePlaceFromTheMarkers) {
  const Text text("# 7 \"a \\\"b.c\"\nx\n\ny\n# 1 \"/usr/s.h\" 1 3 4\nz\n#line 20\nw\n");
  EXPECT_EQ(text.place(text.begin_of(find(text, "x"))).file, "a \"b.c");
  EXPECT_EQ(text.place(text.begin_of(find(text, "x"))).line, 7U);
  EXPECT_EQ(text.place(text.begin_of(find(text, "y"))).line, 9U);
  EXPECT_FALSE(text.place(text.begin_of(find(text, "y"))).system);
  EXPECT_TRUE(text.place(text.begin_of(find(text, "z"))).system);
  EXPECT_EQ(text.place(text.begin_of(find(text, "w"))).line, 20U);
  EXPECT_EQ(text.place(text.begin_of(find(text, "w"))).file, "/usr/s.h");
}

std::string specifiers(const std::string& bytes) {
  const Text text(bytes);
  std::string result;
  for (size_t token : find_dlm_tokens(text).specifiers) {
    const size_t next = text.next(token);
    result += std::string(next == kNone ? "" : text.spelling(next)) + " ";
  }
  return result;
}

TEST(DlmTokens, AreSpecifiersBeforeAndAmongOthers) {
  EXPECT_EQ(specifiers("dlm double a[3];"), "double ");
  EXPECT_EQ(specifiers("static dlm const int a[3]; dlm static T b[1];"), "const static ");
  EXPECT_EQ(specifiers("double dlm a[3]; int dlm *p[2]; int dlm (q)[2]; struct s {int x;} dlm r[1];"),
            "a * ( r ");
  EXPECT_EQ(specifiers("dlm __attribute__((aligned(8))) int a[3]; typeof(x) dlm *b[2];"), "__attribute__ * ");
  EXPECT_EQ(specifiers("dlm\n# 3 \"x\"\nint a[3];"), "int ");
  EXPECT_EQ(specifiers("dlm dlm int a[3];"), "dlm int ");
}

TEST(DlmTokens, LeaveOtherNamesAlone) {
  for (const char* text : {"int dlm;",
                           "int dlm, b;",
                           "int dlm[3];",
                           "struct dlm x;",
                           "enum dlm x;",
                           "s.dlm = 3;",
                           "p->dlm(x);",
                           "goto dlm;",
                           "dlm: x = 1;",
                           "f(dlm);",
                           "x = dlm * y;",
                           "dlm * y;",
                           "return dlm * p;",
                           "return dlm (a)[1];",
                           "dlm(x);",
                           "double dlm(int x);",
                           "int dlm __attribute__((unused));",
                           "int dlm asm(\"x\");",
                           "enum {dlm};",
                           "int x = sizeof dlm;",
                           "\"dlm int\";",
                           "dlm++;",
                           "a[dlm]",
                           "case dlm: x",
                           "f(x, dlm)",
                           "{.dlm = 1}"})
    EXPECT_EQ(specifiers(text), "") << text;
}

TEST(DlmTokens, AreATypeWhereAProgramMakesItOne) {
  EXPECT_EQ(specifiers("typedef int dlm; dlm x; dlm y[3];"), "");
  EXPECT_EQ(specifiers("typedef struct dlm {int x;} *dlm; dlm x;"), "");
  EXPECT_EQ(specifiers("typedef void (*dlm)(int); dlm x;"), "");
  EXPECT_EQ(specifiers("void f(void) { typedef int dlm; dlm x; } dlm int a[3];"), "int ");
  EXPECT_EQ(specifiers("typedef void callback(int dlm); dlm int a[3];"), "int ");
  EXPECT_EQ(specifiers("typedef void callback(char *dlm); dlm int a[3];"), "int ");
  EXPECT_EQ(specifiers("typedef struct {int dlm;} s; dlm int a[3];"), "int ");
  EXPECT_EQ(specifiers("typedef struct dlm s; dlm int a[3];"), "int ");
}

TEST(Declarator, EndsAtWhatEndsIt) {
  const auto parts = [](const std::string& bytes, const char* name) {
    const Text text(bytes);
    const Declarator d = declarator_of(text, find(text, name));
    std::string result = joined(text, d.first, d.stop());
    result += d.open == kNone ? " !" : " " + joined(text, d.open, d.close + 1);
    result += d.equals == kNone ? "" : " =" + joined(text, d.equals + 1, d.end);
    return result + " " + std::string(text.spelling(d.end));
  };
  EXPECT_EQ(parts("static int a[3];", "a"), "a [ 3 ] [ 3 ] ;");
  EXPECT_EQ(parts("const int *const a[3][4] = {1, 2}, b;", "a"), "* const a [ 3 ] [ 4 ] [ 3 ] ={ 1 , 2 } ,");
  EXPECT_EQ(parts("const int a[3], *b[2];", "b"), "* b [ 2 ] [ 2 ] ;");
  EXPECT_EQ(parts("int const a[3];", "a"), "a [ 3 ] [ 3 ] ;");
  EXPECT_EQ(parts("int (*(a)[2])(int, int) = f;", "a"), "( * ( a ) [ 2 ] ) ( int , int ) [ 2 ] =f ;");
  EXPECT_EQ(parts("T a;", "a"), "a ! ;");
  EXPECT_EQ(parts("int a[sizeof(int[3])] __attribute__((x(1, 2))) = {[2] = 1};", "a"),
            "a [ sizeof ( int [ 3 ] ) ] __attribute__ ( ( x ( 1 , 2 ) ) ) [ sizeof ( int [ 3 ] ) ] ={ [ 2 ] "
            "= 1 } ;");
  EXPECT_EQ(parts("typeof(x) (a)[1];", "a"), "( a ) [ 1 ] [ 1 ] ;");
}

TEST(Declarator, SpecifiersReachBackToTheStatementBefore) {
  const auto begin = [](const std::string& bytes, const char* word) {
    const Text text(bytes);
    return std::string(text.spelling(declaration_begin(text, find(text, word))));
  };
  EXPECT_EQ(begin("int x; extern const dlm int a[3];", "dlm"), "extern");
  EXPECT_EQ(begin("void f(void) { } struct s { int x; } static dlm a[3];", "dlm"), "struct");
  EXPECT_EQ(begin("x: __attribute__((y)) _Alignas(8) dlm int a[3];", "dlm"), "__attribute__");
  EXPECT_EQ(begin("if (x) dlm int a[3];", "dlm"), "dlm");
}

TEST(Edits, KeepTheLines) {
  const Text text("# 1 \"f.c\"\nint a = {\n 1,\n 2 };\nint b;\n");
  Edits edits(text);
  edits.insert(text.begin_of(find(text, "int")), "x ");
  edits.insert(text.begin_of(find(text, "int")), "y ");
  edits.replace(text.begin_of(find(text, "1")), text.end_of(find(text, "1")), "one");
  EXPECT_EQ(edits.all(), "# 1 \"f.c\"\nx y int a = {\n one,\n 2 };\nint b;\n");
  edits.cut(text.begin_of(find(text, "=")), text.begin_of(find(text, ";")), "= 0");
  EXPECT_EQ(edits.all(), "# 1 \"f.c\"\nx y int a = 0\n\n;\nint b;\n");
  EXPECT_EQ(edits.part(text.begin_of(find(text, "{")), text.end_of(find(text, "}"))), "{\n one,\n 2 }");
}

TEST(Edits, SayWhereTheyAreWhenAMarkerIsCut) {
  const Text text("# 1 \"f.c\"\nint a = {\n# 9 \"f.c\"\n 1\n};\n");
  Edits edits(text);
  edits.cut(text.begin_of(find(text, "=")), text.begin_of(find(text, ";")), "");
  EXPECT_EQ(edits.all(), "# 1 \"f.c\"\nint a \n# 10 \"f.c\"\n;\n");
}

TEST(AnalysisText, LeadsBackToTheText) {
  const Text text("dlm _Float64 a[3]; struct s {int x;} dlm b[2]; char *r = R\"(q\"\\)\"; __builtin_new(a);");
  const DlmTokens dlm = find_dlm_tokens(text);
  const AnalysisText readable(text, dlm, {}, {"__builtin_new"});
  EXPECT_EQ(readable.bytes(),
            " __attribute__((annotate(\"dlm:0\")))  double a[3];  __attribute__((annotate(\"dlm:1\"))) "
            "struct s {int x;}   b[2]; "
            "char *r = \"q\\\"\\\\\"; tasuki__builtin_new(a);");
  for (const char* word : {"a[3]", "b[2]", "r = ", "(a)"})
    EXPECT_EQ(readable.original(readable.bytes().find(word)), text.bytes().find(word)) << word;
  EXPECT_EQ(readable.original(readable.bytes().find("tasuki__builtin")), text.bytes().find("__builtin_new"));
  EXPECT_EQ(readable.original(readable.bytes().find("annotate(\"dlm:0")), text.bytes().find("dlm"));
}

}  // namespace
}  // namespace tasuki::cc
