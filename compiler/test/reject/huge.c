dlm char fine[1L << 60];
// error at 10: this declaration cannot be read (libclang: array is too large
dlm char a[1L << 62];
int main(void) { return 0; }
