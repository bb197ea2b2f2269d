// Cluster memory with whatever MPI library there is: how many servers, and that no other library has come into
// the process.
#include <dlm.h>
#include <stdio.h>
#include <string.h>

enum { N = 1 << 20 };

int main(int argc, char** argv) {
  dlm_startup(&argc, &argv);
  double* a = dlm_alloc(N * sizeof *a);
  for (int i = 0; i < N; i++) a[i] = i;
  double sum = 0;
  for (int i = 0; i < N; i++) sum += a[i];
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[4096];
  while (maps != 0 && fgets(line, sizeof line, maps) != 0)
    if (strstr(line, "/libmpich.so") != 0) return 2;
  struct dlm_counters counters;
  if (dlm_stats(&counters, sizeof counters) != 0 || sum != (double)N * (N - 1) / 2) return 1;
  printf("%d servers\n", (int)(counters.server_bytes >> 24));
  dlm_free(a);
  dlm_shutdown();
  return 0;
}
