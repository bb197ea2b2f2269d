/* Threads that are cancelled while they read into large memory, and one that is cancelled while it waits: the wrappers
 * of these calls must let the unwinding through, and hold nothing afterwards. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BYTES = 12 << 20 };
static int ends[2];
static int cleaned;

static void clean(void* p) {
  cleaned++;
  free(p);
}

static void* reader(void* unused) {
  char* p = malloc(BYTES);
  pthread_cleanup_push(clean, p);
  for (int i = 0; i < BYTES; i += 4096) p[i] = (char)i;
  if (read(ends[0], p, BYTES) != 0) puts("unexpected data");
  pthread_cleanup_pop(1);
  return unused;
}

int main(void) {
  if (pipe(ends) != 0) return 1;
  for (int i = 0; i < 4; i++) {
    pthread_t t;
    if (pthread_create(&t, NULL, reader, NULL) != 0) return 1;
    usleep(20000);
    pthread_cancel(t);
    void* result;
    pthread_join(t, &result);
    printf("%d\n", result == PTHREAD_CANCELED);
  }
  printf("cleaned %d\n", cleaned);
  return 0;
}
