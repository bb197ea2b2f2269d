#include "compiler/command/command_line.h"

#include <gtest/gtest.h>

namespace tasuki::cc {
namespace {

CommandLine parse(const std::string& words) {
  CommandLine line;
  EXPECT_TRUE(parse_command_line(split_words(words), &line));
  return line;
}

std::string inputs(const std::string& words) {
  std::string result;
  for (const Input& input : parse(words).inputs) {
    const char* names[] = {"c", "i", "other", "object"};
    result += input.path + ":" + names[static_cast<int>(input.language)] + " ";
  }
  return result;
}

TEST(CommandLine, TellsFilesFromOptionValues) {
  EXPECT_EQ(inputs("-o x.c -I a.c -include b.c -MF c.c -D d.c -Xlinker e.c -L f.c -l g.c real.c"),
            "real.c:c ");
  EXPECT_EQ(inputs("-Ia.c -DX=b.c -ox.c real.c -Wl,x.c"), "real.c:c ");
  EXPECT_EQ(inputs("a.c b.i c.o d.a e.so f.s g.cpp h.F90 i.c.d/x lib.so.3"),
            "a.c:c b.i:i c.o:object d.a:object e.so:object f.s:other g.cpp:other h.F90:other i.c.d/x:object "
            "lib.so.3:object ");
}

TEST(CommandLine, ObeysExplicitLanguages) {
  EXPECT_EQ(inputs("-x c a.txt - -xc++ b -x none c.c d.o -x cpp-output e"),
            "a.txt:c -:c b:other c.c:c d.o:object e:i ");
}

TEST(CommandLine, KnowsTheStage) {
  EXPECT_EQ(parse("a.c").stage, Stage::link);
  EXPECT_EQ(parse("-c a.c").stage, Stage::compile);
  EXPECT_EQ(parse("-S -c a.c").stage, Stage::assemble);
  EXPECT_EQ(parse("-c -E -S a.c").stage, Stage::preprocess);
  EXPECT_EQ(parse("-c -fsyntax-only a.c").stage, Stage::check_syntax);
  EXPECT_EQ(parse("-c a.c -o out").output, "out");
  EXPECT_EQ(parse("-c a.c -oout").output, "out");
  EXPECT_TRUE(parse("a.c -MMD").wants_dependencies);
  for (const char* question :
       {"-M", "-MM", "--version", "-print-file-name=x", "-###", "-show", "--showme:link"})
    EXPECT_TRUE(parse(std::string("a.c ") + question).only_asks) << question;
  EXPECT_FALSE(parse("-MD -MP -O2 a.c").only_asks);
}

TEST(CommandLine, SortsWordsByTheirPart) {
  const CommandLine line = parse("-O2 -DX -I inc -c a.c -o a.o -MD -MF d -lm -L lib -Wl,x -fopenmp -std=c99");
  using Words = std::vector<std::string>;
  EXPECT_EQ(line.of_roles({Role::general}), (Words{"-O2", "-fopenmp", "-std=c99"}));
  EXPECT_EQ(line.of_roles({Role::preprocessing}), (Words{"-DX", "-I", "inc"}));
  EXPECT_EQ(line.of_roles({Role::dependencies, Role::output}), (Words{"-o", "a.o", "-MD", "-MF", "d"}));
  EXPECT_EQ(line.of_roles({Role::linking}), (Words{"-lm", "-L", "lib", "-Wl,x"}));
  EXPECT_EQ(line.libraries, Words{"m"});
  EXPECT_EQ(line.library_folders, Words{"lib"});
  EXPECT_EQ(line.meaning, Words{"-std=c99"});
  EXPECT_TRUE(line.openmp);
}

TEST(CommandLine, KnowsWhetherOpenMpHasThreads) {
  for (const char* word : {"-fopenmp", "-fopenmp=libomp", "-fopenmp-simd -fopenmp"})
    EXPECT_TRUE(parse(std::string("a.c ") + word).threads) << word;
  EXPECT_TRUE(parse("a.c -fopenmp-simd").openmp);
  EXPECT_FALSE(parse("a.c -fopenmp-simd").threads);
  EXPECT_FALSE(parse("a.c").threads);
}

TEST(CommandLine, SplitsWordsAsAShellWould) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(split_words("  a 'b c' \"d \\\" e\" f\\ g\n''h \"\""),
            (Words{"a", "b c", "d \" e", "f g", "h", ""}));
  EXPECT_EQ(split_words(" \t\n"), Words{});
}

}  // namespace
}  // namespace tasuki::cc
