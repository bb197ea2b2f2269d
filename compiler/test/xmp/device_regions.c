// Regions and data clauses of OpenACC around coarrays, with device memory and without.
// double: no
// needs: -acc
#include "check.h"
#define ROWS 6
#define COLUMNS 9
float p[ROWS][COLUMNS]:[*], q[ROWS][COLUMNS]:[*], plain[COLUMNS]:[*];
struct cell {
  int n;
  double x[3];
};
static struct cell cells[4]:[*];
int count:[*];
#pragma acc declare create(p, cells) create(q)
extern float later[5]:[*];
#pragma acc declare create(later)
float later[5]:[*];

static void fill(float v[ROWS][COLUMNS]:[*], int image) {
  float row[COLUMNS];
  for (int i = 0; i < COLUMNS; i++) row[i] = 10 * image + i;
#pragma acc host_data use_device(v)
  v[1][:]:[image] = row[:];
}

static float at(const float* x, int i) {
  float value = 0;
#pragma acc parallel deviceptr(x) copy(value)
  value = x[i];
  return value;
}

int main(void) {
  int offset = ME;
  count = 3;
#pragma acc data present(p, q) copy(plain) copyin(offset)
  {
#pragma acc parallel loop collapse(2) if(count > 2) async(count)
    for (int i = 0; i < ROWS; i++)
      for (int k = 0; k < COLUMNS; k++) p[i][k] = 100 * i + k + offset;
#pragma acc wait(count)
#pragma acc kernels
    for (int i = 0; i < ROWS; i++)
      for (int k = 0; k < COLUMNS; k++) q[i][k] = -p[i][k];
#pragma acc parallel loop
    for (int k = 0; k < COLUMNS; k++) plain[k] = p[2][k] + count;
  }
  for (int k = 0; k < COLUMNS; k++) CHECK(plain[k] == 200 + k + ME + 3);
  xmp_sync_all(NULL);

  /* A column between devices; a block from the device with arithmetic of the host; a region in a region. */
#pragma acc host_data use_device(p)
  {
#pragma acc host_data use_device(q)
    {
      q[:][0]:[RIGHT] = p[:][3];
#pragma xmp nonblock
      q[0:2][4:3]:[RIGHT] = p[4:2][4:3];
      q[3][1:4]:[RIGHT] = 2 * p[3][1:4] + 1;
#pragma acc parallel loop present(p)
      for (int k = 0; k < COLUMNS; k++) p[5][k] = 50;
      plain[0:3] = p[5][0:3];
    }
  }
  CHECK(plain[0] == 50 && plain[2] == 50 && plain[3] == 206 + ME);
  xmp_sync_all(NULL);
#pragma acc update self(q[0:4][0:COLUMNS])
  for (int i = 1; i < 3; i++) CHECK(q[i][0] == 100 * i + 3 + LEFT && q[2][4] == -(204.0f + ME));
  for (int k = 4; k < 7; k++) CHECK(q[1][k] == 50 || q[1][k] == 500 + k + LEFT);
  for (int k = 1; k < 5; k++) CHECK(q[3][k] == 2 * (300 + k + LEFT) + 1);
  xmp_sync_all(NULL);

  /* A parameter, and the device's address for code that takes one. */
  fill(p, RIGHT);
  xmp_sync_all(NULL);
#pragma acc host_data use_device(p)
  CHECK(at(p[1], 4) == 10 * ME + 4 && at(&p[2][0], 1) == 201 + ME && sizeof p == sizeof(float[ROWS][COLUMNS]));

  /* Structures. */
  for (int i = 0; i < 4; i++) cells[i].n = i + 10 * ME, cells[i].x[1] = i;
#pragma acc update device(cells[1:3])
  double xs[3];
  int ns[3];
  xmp_sync_all(NULL);
#pragma acc host_data use_device(cells)
  {
    xs[:] = cells[1:3].x[1]:[LEFT];
    ns[:] = cells[1:3].n:[LEFT];
    ns[0] += cells[2].n:[LEFT];
  }
  CHECK(xs[0] == 1 && xs[2] == 3 && ns[1] == 2 + 10 * LEFT && ns[0] == 3 + 20 * LEFT);
#pragma acc host_data use_device(later)
  later[:]:[RIGHT] = 4;
  xmp_sync_all(NULL);
#pragma acc update self(later)
  CHECK(later[0] == 4 && later[4] == 4);
  xmp_sync_all(NULL);
  return 0;
}
