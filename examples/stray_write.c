/* A planted mistake for `tasuki check-layout`: one value is written far behind the end of an array.

   In a process of its own the value falls on unused memory or kills the program, always the same. In a shared
   address space it may fall on another rank's data, so the outcome depends on where the ranks are loaded:

       tasuki check-layout -n 4 build/bin/stray_write      finds it
       tasuki check-layout -n 4 build/bin/stray_write 0    the same program without the mistake */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { count = 1 << 20 };

int main(int argc, char** argv) {
  const int stray = argc > 1 ? atoi(argv[1]) : 1;
  double* field = malloc(count * sizeof *field);
  if (field == NULL) return 2;
  for (int i = 0; i < count; i++) field[i] = i;
  usleep(100000); /* until every rank has filled its field */
  if (stray) {
    double* volatile end = field + count;
    end[count / 2] = -1; /* 4 MiB behind the end */
  }
  usleep(100000);
  double sum = 0;
  for (int i = 0; i < count; i++) sum += field[i];
  printf("sum %.0f\n", sum);
  free(field);
  return 0;
}
