// error at 20: dlm is not part of a type
typedef dlm double row[3];
struct s {
  // error at 14: the member 'm' cannot be dlm
  dlm double m[3];
};
union u {
  // error at 11: the member 'n' cannot be dlm
  dlm int n[2];
};
// error at 19: the parameter 'p' cannot be dlm
int f(dlm double *p, int n);
// error at 15: the parameter 'q' cannot be dlm
int g(dlm int q[3]) {
  return q[0];
}
// error at 1: 'dlm' declares no array here
dlm struct tag {
  int x;
};
// error at 1: 'dlm' declares no array here
dlm enum color { red };
int main(void) {
  // error at 22: 'dlm' declares no array here
  return (int)sizeof(dlm double[3]);
}
