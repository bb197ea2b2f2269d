/* Counters, locks. */
#include "coarray.h"

static long long(*count);
static int (*small)[3];
static xmp_lock_t (*locks)[2];
static long long (*guarded)[2];
static struct tasuki_xmp_coarray records[] = {COARRAY(count, "count"), COARRAY(small, "small"),
                                              COARRAY(locks, "locks"), COARRAY(guarded, "guarded")};
static struct tasuki_xmp_coarray* const all[] = {&records[0], &records[1], &records[2], &records[3]};
static void __attribute__((constructor)) register_them(void) {
  tasuki_xmp_register(all, all + 4);
}

static long long atomic(int operation, void* object, size_t bytes, int image, long long operand,
                        long long compare) {
  return tasuki_xmp_atomic(operation, object, bytes, image, operand, compare, __FILE__, __LINE__);
}

static void counters(int me, int n) {
  long long last = -1;
  for (int i = 0; i < 200; i++) {
    const long long old = atomic(TASUKI_XMP_ATOMIC_ADD, count, 8, 1, 1LL << 33, 0);
    CHECK(old > last);
    last = old;
    atomic(TASUKI_XMP_ATOMIC_ADD, &(*small)[0], 4, n, -1, 0);
  }
  atomic(TASUKI_XMP_ATOMIC_OR, &(*small)[1], 4, 1, 1 << me, 0);
  atomic(TASUKI_XMP_ATOMIC_XOR, &(*small)[2], 4, 1, 1 << me, 0);
  xmp_sync_all(NULL);
  CHECK(atomic(TASUKI_XMP_ATOMIC_REF, count, 8, 1, 0, 0) == (200LL * n) << 33);
  CHECK(atomic(TASUKI_XMP_ATOMIC_REF, &(*small)[0], 4, n, 0, 0) == -200 * n);
  CHECK(atomic(TASUKI_XMP_ATOMIC_REF, &(*small)[1], 4, 1, 0, 0) == (2 << n) - 2);
  xmp_sync_all(NULL);
  atomic(TASUKI_XMP_ATOMIC_AND, &(*small)[1], 4, 1, ~(1 << me), 0);
  xmp_sync_all(NULL);
  CHECK(atomic(TASUKI_XMP_ATOMIC_REF, &(*small)[1], 4, 1, 0, 0) == 0);
  CHECK(atomic(TASUKI_XMP_ATOMIC_REF, &(*small)[2], 4, 1, 0, 0) == (2 << n) - 2);
  xmp_sync_all(NULL);
  /* One only gets it. */
  if (me == 1) atomic(TASUKI_XMP_ATOMIC_DEFINE, &(*small)[2], 4, n, 0, 0);
  xmp_sync_all(NULL);
  const int won = atomic(TASUKI_XMP_ATOMIC_CAS, &(*small)[2], 4, n, me, 0) == 0;
  xmp_sync_all(NULL);
  const long long winner = atomic(TASUKI_XMP_ATOMIC_REF, &(*small)[2], 4, n, 0, 0);
  CHECK(won == (winner == me) && winner >= 1 && winner <= n);
  /* After a put of the same image. */
  const long long value = 40 + me;
  PUT(*count, value, me % n + 1, 0);
  CHECK(atomic(TASUKI_XMP_ATOMIC_ADD, count, 8, me % n + 1, 2, 0) == 40 + me);
  long long now = 0;
  GET(now, *count, me % n + 1, 0);
  CHECK(now == 42 + me);
}

static void locked(int me, int n) {
  xmp_lock_t* lock = &(*locks)[1];
  for (int i = 0; i < 40; i++) {
    tasuki_xmp_lock(lock, n, NULL, NULL, __FILE__, __LINE__);
    long long value[2];
    GET(value, *guarded, n, 0);
    CHECK(value[0] == -value[1]);
    value[0]++;
    PUT((*guarded)[0], value[0], n, 0);
    value[1]--;
    PUT((*guarded)[1], value[1], n, 0);
    tasuki_xmp_unlock(lock, n, NULL, __FILE__, __LINE__);
  }
  xmp_sync_all(NULL);
  if (me == n) CHECK((*guarded)[0] == 40LL * n && (*guarded)[1] == -40LL * n);
  xmp_sync_all(NULL);

  int status = -1, acquired = -1;
  tasuki_xmp_unlock(lock, n, &status, __FILE__, __LINE__);
  CHECK(status == XMP_STAT_UNLOCKED);
  xmp_sync_all(NULL);
  if (me == 1) {
    tasuki_xmp_lock(lock, n, &acquired, &status, __FILE__, __LINE__);
    CHECK(acquired == 1 && status == XMP_STAT_SUCCESS);
    tasuki_xmp_lock(lock, n, NULL, &status, __FILE__, __LINE__);
    CHECK(status == XMP_STAT_LOCKED);
  }
  xmp_sync_all(NULL);
  if (me != 1) {
    tasuki_xmp_lock(lock, n, &acquired, &status, __FILE__, __LINE__);
    CHECK(acquired == 0 && status == XMP_STAT_SUCCESS);
    tasuki_xmp_unlock(lock, n, &status, __FILE__, __LINE__);
    CHECK(status == XMP_STAT_LOCKED_OTHER_IMAGE);
  }
  xmp_sync_all(NULL);
  if (me == 1) tasuki_xmp_unlock(lock, n, NULL, __FILE__, __LINE__);
  xmp_sync_all(NULL);
}

int main(int argc, char** argv) {
  if (tasuki_xmp_main_begin(&argc, &argv) != 0) return 1;
  counters(xmp_this_image(), xmp_num_images());
  xmp_sync_all(NULL);
  locked(xmp_this_image(), xmp_num_images());
  return 0;
}
