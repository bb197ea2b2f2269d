dlm double a[10];
// error at 14: '#pragma weak' speaks of symbols
#pragma weak a
int main(void) { return a[0] > 0; }
