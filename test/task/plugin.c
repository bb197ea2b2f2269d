__attribute__((visibility("default"))) int plugin_answer(void);

static __thread int answer = 42;

int plugin_answer(void) {
  return answer;
}
