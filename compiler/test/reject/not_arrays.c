struct big {
  double data[1000];
};
// error at 12: 'scalar' is not an array
dlm double scalar;
// error at 44: 'y' is not an array
dlm unsigned long long x[3], /* comment */ y;
dlm double ok[2],
    // error at 6: 'p' is a pointer
    *p;
// error at 16: 's' is not an array
dlm struct big s;
// error at 14: 'pointer_to_array' is a pointer
dlm double (*pointer_to_array)[3];
// error at 12: the function 'f' cannot be dlm
dlm double f(void);
// error at 17: 'late' is a pointer
extern dlm int* late;
int main(void) { return 0; }
