__attribute__((visibility("default"))) int plugin_answer(void);

__attribute__((visibility("default"))) int plugin_counter = 7;

static __thread int answer = 42;

int plugin_answer(void) {
  return answer;
}
