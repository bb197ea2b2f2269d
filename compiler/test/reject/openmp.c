// options: -fopenmp
dlm double a[10], b[10];
dlm int t[4];
// error at 27: a dlm array cannot stand in 'threadprivate'
#pragma omp threadprivate(t)
int main(void) {
  double s = 0;
// error at 30: a dlm array cannot stand in 'private'
#pragma omp parallel private(a)
  a[0] = 1;
// error at 45: a dlm array cannot stand in 'firstprivate'
#pragma omp parallel shared(b) firstprivate(a)
  a[0] = b[0];
// error at 40: a dlm array cannot stand in 'reduction'
#pragma omp parallel for reduction(+ : a[ : 10])
  for (int i = 0; i < 10; i++) a[i % 2] += i;
// error at 45: a dlm array cannot stand in 'map'
#pragma omp target map(to : s) map(tofrom : b[0 : 10])
  s += b[1];
  return (int)s;
}
