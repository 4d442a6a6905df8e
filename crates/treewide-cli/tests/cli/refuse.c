/* A library for LD_PRELOAD: system calls that the program makes from main on fail.
 *
 * REFUSE=NUMBER:ERRNO[:ARGUMENT:BITS[:OTHERS]]: call NUMBER fails with ERRNO, only if ARGUMENT (from 0) has one of BITS and none of OTHERS
 * (hex). */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

__attribute__((constructor)) static void refuse(void) {
    const char *what = getenv("REFUSE");
    unsigned number, error, argument = 0, bits = 0, others = 0;
    int parts = what ? sscanf(what, "%u:%u:%u:%x:%x", &number, &error, &argument, &bits, &others) : 0;
    if (parts != 2 && parts != 4 && parts != 5) _exit(97);
    /* Without bits, the third and fourth step compare the number of the call once more. */
    size_t place = parts > 2 ? offsetof(struct seccomp_data, args[0]) + 8 * argument : offsetof(struct seccomp_data, nr);
    struct sock_filter test = parts > 2 ? (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 2)
                                         : (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 2);
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, place),
        test,
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, others, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof steps / sizeof *steps, steps};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) _exit(98);
}
