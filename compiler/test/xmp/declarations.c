// Coarrays of all kinds keep the type, size and initial values of ordinary objects.
#include "check.h"
#define N 7
typedef struct { int x; double y[3]; } pair;
typedef double row[5];
int a[N]:[*], b[N]:[*] = {1, 2, 3}, plain[N] = {9}, s:[*], t:[*] = 5;
static double m[4][6]:[*] = {{1}, {[3] = 2}};
static const char text[]:[*] = "coarray";
pair p:[*] = {7, {1, 2, 3}}, q[2]:[*] = {{1}, {2, {[2] = 4}}};
row rows[3]:[*];
unsigned char byte:[*] = 'x';
_Complex double z:[*] = 3.0;
_Bool yes:[*] = 1;
enum color { red, green } color:[*] = green;
int *pointers[2]:[*];
int a2[2]:[2][*], aligned[3]:[*] __attribute__((aligned(256)));
__attribute__((unused)) static int unused:[*];
int tentative[4]:[*];
int tentative[4]:[*];
extern int later:[*];
int *first = a, *third = &b[2], **indirect[] = {&first};
double (*view)[6] = m;
pair *whole = &p;
struct { int *at; } computed:[*] = {&b[1]};
int function(void) {
  extern int later:[*];
  return later + later:[ME];
}
int later:[*] = 21;
int main(void) {
  CHECK(sizeof a == sizeof(int[N]) && sizeof s == sizeof(int) && sizeof m == sizeof(double[4][6]) && sizeof text == 8);
  CHECK(sizeof a[0]:[1] == sizeof(int) && sizeof(q[1]:[2]) == sizeof(pair) && sizeof(__typeof__(p:[1])) == sizeof(pair));
  CHECK(a[0] == 0 && b[2] == 3 && b[3] == 0 && plain[0] == 9 && s == 0 && t == 5);
  CHECK(m[0][0] == 1 && m[1][3] == 2 && m[3][5] == 0 && strcmp(text, "coarray") == 0);
  CHECK(p.x == 7 && p.y[2] == 3 && q[1].x == 2 && q[1].y[2] == 4 && q[0].y[0] == 0);
  CHECK(byte == 'x' && __real__ z == 3 && yes && color == green && later == 21 && function() == 42);
  CHECK(first == &a[0] && *third == 3 && *indirect == &first && view[1][3] == 2 && whole->x == 7 && *computed.at == 2);
  CHECK(((unsigned long)aligned & 255) == 0 && tentative[3] == 0 && sizeof rows == 15 * sizeof(double));
  int *e = a;
  const char(*is)[8] = &text;
  e[3] = 4, a[4] = a[3] + 1, *(a + 5) = 6, s = a[4], pointers[0] = &a[5];
  CHECK(a[3] == 4 && s == 5 && *pointers[0] == 6 && (*is)[0] == 'c' && _Generic(a[0], int : 1, default : 0));
  xmp_sync_all(NULL);
  CHECK(b[1]:[RIGHT] == 2 && t:[RIGHT] == 5 && m[1][3]:[RIGHT] == 2 && text[3]:[RIGHT] == 'r' && p.y[1]:[RIGHT] == 2);
  CHECK(p:[RIGHT].y[1] == 2 && q[1]:[LEFT].x == 2 && color:[LEFT] == green && __real__(z:[LEFT]) == 3 && yes:[LEFT]);
  xmp_sync_all(NULL);
  return 0;
}
