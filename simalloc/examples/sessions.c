/* A service that keeps all its sessions, or the newest ARGUMENT sessions: gcc -g -O1 sessions.c -o sessions */

#include <stdio.h>
#include <stdlib.h>

enum { REQUESTS = 2000, LINES = 20 };

static char *sessions[REQUESTS];

static char *remember_session(int number) {
  char *session = malloc(400 + 16 * (size_t)(number % 7));
  snprintf(session, 400, "session %d", number);
  return session;
}

static size_t answer(int number) {
  size_t length = 0;
  char *lines[LINES];
  for (int i = 0; i < LINES; i++) {
    lines[i] = malloc(24 + (size_t)(number * 13 + i * 29) % 700);
    length += (size_t)snprintf(lines[i], 24, "line %d of %d", i, number);
  }
  for (int i = 0; i < LINES; i++)
    free(lines[i]);
  return length;
}

int main(int argc, char **argv) {
  int kept = argc > 1 ? atoi(argv[1]) : REQUESTS;
  size_t bytes = 0;
  for (int number = 0; number < REQUESTS; number++) {
    bytes += answer(number);
    sessions[number] = remember_session(number);
    if (number >= kept)
      free(sessions[number - kept]);
  }
  printf("%zu bytes answered\n", bytes);
  return 0;
}
