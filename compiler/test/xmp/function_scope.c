// Coarrays that are static in functions: one for each declaration, with their names only where they are declared.
#include "check.h"
int a:[*] = 1;
typedef struct { int x; double y[2]; } pair;
static int next(void) {
  static int a[4]:[*] = {10, 20}, calls:[*];
  static pair p:[*] = {7, {1, 2}};
  calls++;
  a[3] += a[1]:[RIGHT];
  CHECK(sizeof a == 4 * sizeof(int) && sizeof p == sizeof(pair) && p.x == 7 && p.y[1]:[RIGHT] == 2);
  return calls * 1000 + a[3];
}
static int *where(int which) {
  static int first[3][2]:[2][*];
  if (which == 0) return first[1];
  {
    static int first[2]:[*] = {5, 6};
    if (which == 1) return first;
  }
  for (int i = 0; i < 2; i++) {
    static int first:[*] = 8;
    if (i == 1) return &first;
  }
  return 0;
}
static int jumps(int to) {
  switch (to) {
    static int behind:[*] = 3;
    case 0:
      return behind:[RIGHT];
    case 1:
      goto end;
  }
  static const char text[]:[*] = "static";
end:
  return text[2]:[LEFT];
}
static int locked(int image) {
  static xmp_lock_t l:[*];
  static int sum:[*];
#pragma xmp lock(l:[image])
  sum:[image] += 1;
#pragma xmp unlock(l:[image])
  xmp_sync_all(NULL);
  return sum:[image];
}
static inline int inlined(void) {
  static unsigned char bytes[100]:[*] __attribute__((aligned(128)));
  extern int a:[*];
  bytes[ME % 100] = (unsigned char)a:[RIGHT];
  CHECK(((unsigned long)bytes & 127) == 0);
  return bytes[ME % 100]:[ME];
}
int main(void) {
  static int all[3]:[*], copy[3];
  CHECK(next() == 1020 && next() == 2040);
  int *array = where(0), *pair_of = where(1), *one = where(2);
  CHECK(array[0] == 0 && pair_of[1] == 6 && *one == 8 && array != pair_of && pair_of != one);
  int *remote:[*] = pair_of;
  xmp_sync_all(NULL);
  remote[0]:[RIGHT] = 100 + ME;
  xmp_sync_all(NULL);
  CHECK(remote[0]:[RIGHT] == 100 + ME);
  CHECK(jumps(0) == 3 && jumps(1) == 'a');
  CHECK(locked(RIGHT) == 1);
  CHECK(inlined() == 1 && a == 1);
  all[0:2]:[RIGHT] = ME;
  xmp_sync_all(NULL);
  copy[1:2] = all[0:2]:[RIGHT] * 2;
  CHECK(copy[0] == 0 && copy[2] == 2 * ME && all[2]:[RIGHT] == 0);
  xmp_sync_all(NULL);
  return 0;
}
