/* Debian's python3 is not position independent, so its ranks cannot share an address space; its library is.
 * This is the same interpreter, linked to that library. */
#include <Python.h>

int main(int argc, char** argv) {
  return Py_BytesMain(argc, argv);
}
