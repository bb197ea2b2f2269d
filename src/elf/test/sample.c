// A library with something of everything that a dynamic linker handles, for linking_test.cpp.
int elf_sample_word = 7;
int* elf_sample_pointer = &elf_sample_word;  // R_X86_64_64
static int hidden = 1;
int* elf_sample_relative[4] = {&hidden, &hidden, &hidden, &hidden};  // R_X86_64_RELATIVE, or words of DT_RELR
char elf_sample_zeros[10000];
_Thread_local long elf_sample_thread_local = 3;

extern int elf_sample_elsewhere(int) __attribute__((weak));

static int chosen(void) {
  return 42;
}
static int (*choose(void))(void) {
  return chosen;
}
int elf_sample_chosen(void) __attribute__((ifunc("choose")));

int elf_sample_function(int x) {
  return elf_sample_elsewhere ? elf_sample_elsewhere(x) + elf_sample_chosen() : hidden;
}

__attribute__((constructor)) static void begin(void) {
  hidden++;
}
__attribute__((destructor)) static void end(void) {
  hidden--;
}
