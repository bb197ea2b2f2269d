// file: header.h
// an error in a file that it includes
#include "header.h"
int main(void) { return 0; }
