// from: the compiler
// error at 12: size of array 'a' exceeds maximum object size
dlm double a[1L << 40][1L << 40];
int main(void) { return 0; }
