/* A library that the program is linked with: its objects are used in handlers of fork that it registers before anybody
 * else, and when it ends, behind the program's exit handlers. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
  struct node* next;
  unsigned number;
  char more[100];
};
static struct node* first;
static char* kept[8];
static unsigned turns;

void library_keep(unsigned number) {
  struct node* node = malloc(sizeof *node);
  *node = (struct node){.next = first, .number = number};
  memset(node->more, (int)number, sizeof node->more);
  first = node;
}

static void in_turn(void) {
  char** place = &kept[turns++ % 8];
  free(*place);
  *place = malloc(100);
  memset(*place, 1, 100);
}

__attribute__((constructor)) static void begin(void) {
  pthread_atfork(in_turn, in_turn, in_turn);
}

__attribute__((destructor)) static void end(void) {
  unsigned long sum = 0, nodes = 0;
  for (struct node *node = first, *next; node != NULL; node = next) {
    next = node->next;
    if (node->more[99] != (char)node->number) abort();
    sum += node->number;
    nodes++;
    free(node);
  }
  printf("the library ends: %lu nodes, %lu, %u turns\n", nodes, sum, turns);
  fflush(stdout);
}
