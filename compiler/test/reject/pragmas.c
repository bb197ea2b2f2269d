dlm double a[10];
// error at 14: '#pragma weak' applies to symbols
#pragma weak a
int main(void) { return a[0] > 0; }
