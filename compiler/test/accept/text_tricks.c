// options: -O0 -std=gnu11
// arrays: 3
// Texts that a pass over tokens must not trip over.
%:include <stdio.h>

dlm int a<:3:> = <%1, 2, 3%>;
dlm int
    spread
    [2]
    [3]
    = {
        {1, 2, 3},
#define FOUR 4
        {FOUR, 5, 6}};
const char *s = "dlm int a[3]; a[0]", *raw = R"(a[1] " dlm )" "b", c = 'a', quote = '"', slash = '\\';
dlm int last[] = {
    1,
    2,
}; /* dlm */ // a[0]

int main(void)
{
  int line = __LINE__; a[
  0] = line;
  printf("%d %d %d %zu\n",
         a[1],
         spread[1]
               [2], last[1],
         sizeof
         spread);
  printf("%s %s %c %c %c %d %d %s\n", s, raw, c, quote, slash, line, __LINE__, __FILE__ + 0 != 0 ? "f" : "");
  return a[2] + 0x1p3 > 10.e-1 ? a[0] - line : 1;
}
