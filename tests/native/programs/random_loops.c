/* Random programs of loops in loops, for a seed. Argument: the seed. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { FILES = 3, MOST_STEPS = 40 };

static int fds[FILES];
static char buffer[4096];

struct step { /* one operation of a body: its place moves by `step` with the loops' counters */
    int kind, file, size;
    long offset, step[4];
};

static long below(long n) {
    return random() % n;
}

static void perform(const struct step *step, const long *counters, int depth) {
    long offset = step->offset;
    for (int i = 0; i < depth; i++) {
        offset += counters[i] * step->step[i];
    }
    int fd = fds[step->file];
    switch (step->kind) {
    case 0:
        pwrite(fd, buffer, (size_t)step->size, offset);
        break;
    case 1:
        pread(fd, buffer, (size_t)step->size, offset);
        break;
    case 2:
        lseek(fd, offset, SEEK_SET);
        break;
    case 3:
        write(fd, buffer, (size_t)step->size);
        break;
    case 4:
        read(fd, buffer, (size_t)step->size);
        break;
    case 5:
        ftruncate(fd, 1 << 20);
        break;
    default: { /* another open of the file */
        char name[16];
        snprintf(name, sizeof name, "f%d.bin", step->file);
        close(fd);
        fds[step->file] = open(name, O_RDWR);
    }
    }
}

static void loop(long *counters, int depth) {
    struct step steps[MOST_STEPS];
    int n_steps = 1 + (int)below(below(4) ? 6 : MOST_STEPS);
    long n = 1 + below(depth < 2 ? 12 : 40);
    int inner = depth < 3 ? (int)below(3) : 0;
    unsigned inner_seed = (unsigned)random(), irregular = (unsigned)below(4);
    for (int i = 0; i < n_steps; i++) {
        steps[i] = (struct step){(int)below(below(5) ? 5 : 7),
                                 (int)below(FILES),
                                 (int)(1 + below(3) * 100),
                                 below(1000),
                                 {below(5000), below(500), below(50), below(3)}};
    }
    for (counters[depth] = 0; counters[depth] < n; counters[depth]++) {
        for (int i = 0; i < n_steps; i++) {
            perform(&steps[i], counters, depth + 1);
        }
        for (int i = 0; i < inner; i++) { /* the same loop in every repetition, or another each time */
            unsigned after = (unsigned)random();
            srandom(irregular ? inner_seed + (unsigned)i : after);
            loop(counters, depth + 1);
            srandom(after);
        }
    }
}

int main(int argc, char **argv) {
    (void)argc;
    for (int i = 0; i < FILES; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%d.bin", i);
        fds[i] = open(name, O_CREAT | O_RDWR, 0644);
        ftruncate(fds[i], 1 << 20);
    }
    srandom((unsigned)atoi(argv[1]));
    long counters[8] = {0};
    for (int i = 0; i < 4; i++) {
        loop(counters, 1);
    }
    return 0;
}
