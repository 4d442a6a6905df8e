/* Checks that misuse ends the program. */
#ifndef MISUSE_H
#define MISUSE_H

#define _POSIX_C_SOURCE 200809L

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

/* The message of `misuse`, which aborts. */
static void expect_abort(void (*misuse)(void), const char *text) {
  char message[500] = "";
  int ends[2], status;
  ssize_t n, len = 0;
  pid_t child;
  CHECK(pipe(ends) == 0 && (child = fork()) >= 0, "fork");
  if (child == 0) {
    dup2(ends[1], 2);
    misuse();
    _exit(0);
  }
  close(ends[1]);
  while ((n = read(ends[0], message + len, sizeof message - 1 - (size_t)len)) > 0)
    len += n;
  close(ends[0]);
  CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "%s: status %d", text, status);
  CHECK(strstr(message, text) != NULL, "`%s` does not say `%s`", message, text);
}

#endif
