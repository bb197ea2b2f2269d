/* What examine/python.cpp looks at in the files of CPython, its command and its library: names, and texts.
 * PART_HEX: Py_Version, which there is since 3.11. PART_TEXT: PY_VERSION. */
#ifdef PART_WITHOUT
int nothing_of_python = 1;
#else
int Py_BytesMain(int argc, char** argv) {
  (void)argv;
  return argc;
}

static const char* const texts[] = {"3.1.2",  "/merged/" PART_TEXT,     "13." PART_SERIES ".1",
                                    "3.40.1", "lib/python" PART_SERIES, "4.5.6"};
const char* Py_GetVersion(void) {
  return texts[1] + sizeof "/merged/" - 1;
}
const char* _Py_Texts(int i) {
  return texts[i];
}

#ifdef PART_HEX
const unsigned long Py_Version = PART_HEX;
#endif
#ifndef PART_POOR
int PyInit__extra = 1;
#endif
#ifdef PART_DEBUG
int _Py_NegativeRefcount = 1;
#endif
#endif
#ifdef PART_PROGRAM
int main(void) {
  return 0;
}
#endif
