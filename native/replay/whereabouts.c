#include "whereabouts.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct whereabouts in_memory;

struct whereabouts *whereabouts_open(const char *folder, int rank) {
    char path[4096];
    if (!folder || snprintf(path, sizeof path, "%s/rank-%d", folder, rank) >= (int)sizeof path)
        return &in_memory;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return &in_memory;
    void *place = MAP_FAILED;
    if (ftruncate(fd, sizeof in_memory) == 0)
        place = mmap(NULL, sizeof in_memory, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (place == MAP_FAILED)
        return &in_memory;
    struct whereabouts *w = place;
    w->pid = getpid();
    w->offset = -1;
    return w;
}

static void put(char *to, size_t capacity, const char *text) {
    size_t n = strnlen(text, capacity - 1);
    memcpy(to, text, n);
    to[n] = '\0';
}

void whereabouts_enter(struct whereabouts *w, const char *call, const char *file, int64_t offset,
                       int64_t size) {
    put(w->call, sizeof w->call, call);
    put(w->file, sizeof w->file, file);
    w->offset = offset;
    w->size = size;
}
