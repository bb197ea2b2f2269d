int a[3]:[*];
// error at 1: a program has dlm arrays or coarrays, not both
dlm double d[3];
int main(void) { return a[0] > d[0]; }
